#!/bin/sh
# Puts in place what commands need, and nothing else:
#
#   sh tools/setup.sh [packages] [GROUP...]      no GROUP: those of `make test`
#
# - A group stands for programs of the system and for Python packages, which
#   tools/requirements/GROUP.txt pins. `groups_of` below has the groups, and which
#   others each builds on. The Makefile says which command needs which group.
# - Does nothing, quickly, when all is there.
# - Installs packages on Debian and its kin as root or with a sudo that asks
#   no password. Elsewhere it names what is missing and the command to install
#   it, changes nothing, and fails.
# - Names packages as Debian does, and for dnf, pacman and brew as those do.
# - With the word `packages` it leaves everything of Python's packages out.
# - The Python packages of a group are one folder in the user's cache, or in the folder
#   SLUICE_CACHE, which all trees with the same pins share. Its name has the sum of the
#   pins. It is made under another name and then renamed, so there is never half of one.
# - The tree's own .venv has no packages, but a list of those folders (sluice.pth).
set -eu
cd "$(dirname "$0")/.."
PATH=$PATH:/usr/sbin:/sbin

# groups_of GROUP: the group, after those that it builds on.
groups_of() {
    case $1 in
    build) echo build ;;                             # a kernel, and the programs of the host
    machine) echo build machine ;;                   # QEMU
    gdb) echo build gdb ;;                           # a gdb that knows RISC-V
    python) echo python ;;                           # Python alone
    run) echo build machine python run ;;            # experiments' runs
    report) echo build machine python run report ;;  # pages with pictures
    grade) echo build machine python run report grade ;;
    sweep) echo build machine python run report sweep ;;
    book) echo build machine python run report book ;;
    live) echo build machine python run report live ;;
    measure) echo build machine python run measure ;; # a compilation under strace
    format) echo python format ;;
    fresh) echo python fresh ;;                      # bare systems to try commands in
    test) echo build machine gdb python run report grade sweep book format test ;;
    whole) echo "$(groups_of test)" live whole ;;    # the long tests
    *)
        echo "setup: $1: there is no such group; tools/setup.sh lists them" >&2
        return 1
        ;;
    esac
}

packages_only=
if [ "${1:-}" = packages ]; then
    packages_only=yes
    shift
fi
groups=
for group in "${@:-test}"; do
    added=$(groups_of "$group")
    groups="$groups $added"
done

# wants GROUP: is it one of those to be set up?
wants() { case " $groups " in *" $1 "*) ;; *) return 1 ;; esac }

prefix=$(sh tools/find_tool.sh prefix)

# chosen VARIABLE VALUE PROGRAM STANDARD: stop if a value that is not the standard
# one names no program. Words behind the first are the program's options.
chosen() {
    [ "$2" = "$4" ] || command -v "${3%% *}" >/dev/null || {
        echo "setup: $1=$2: there is no program ${3%% *}; leave $1 out, or name one that is there"
        exit 1
    }
}

chosen TOOLPREFIX "$prefix" "${prefix}gcc" "$(TOOLPREFIX='' sh tools/find_tool.sh prefix)"
gdb=$(sh tools/find_tool.sh gdb)
chosen GDB "$gdb" "$gdb" "$(GDB='' sh tools/find_tool.sh gdb)"
qemu=${QEMU:-qemu-system-riscv64}
chosen QEMU "$qemu" "$qemu" qemu-system-riscv64
hostcc=${HOSTCC:-cc}
chosen HOSTCC "$hostcc" "$hostcc" cc

# have PATH-GLOB: does such a file exist?
have() { [ -e "$1" ]; }

# need PACKAGE COMMAND...: PACKAGE is missing unless every command is there.
missing=
need() {
    package=$1
    shift
    for command; do
        command -v "$command" >/dev/null && continue
        missing="$missing $package"
        return
    done
}

if wants build; then
    need gcc-riscv64-unknown-elf "${prefix}gcc"
    need binutils-riscv64-unknown-elf "${prefix}ld" "${prefix}nm" "${prefix}objdump"
    need gcc "${hostcc%% *}"
    need git git
    need util-linux flock
    need coreutils nproc
    [ "$(uname -s)" = Darwin ] || have /usr/include/stdio.h || missing="$missing libc6-dev"
fi
if wants machine; then need qemu-system-misc "$qemu"; fi
if wants gdb; then need gdb-multiarch "$gdb"; fi
if wants run; then need e2fsprogs mke2fs e2fsck debugfs dumpe2fs; fi
if wants measure; then need strace strace; fi
if [ "$(uname -s)" != Darwin ]; then # macOS has none of these
    if wants grade; then need bubblewrap bwrap; fi
    if wants test; then need blktrace blkparse btt iowatcher; fi
fi
if wants whole && [ "$(uname -m)" = x86_64 ]; then # Spike, and the twin on arm64
    need device-tree-compiler dtc
    need gcc-aarch64-linux-gnu aarch64-linux-gnu-gcc
    need qemu-user qemu-aarch64
    have /usr/aarch64-linux-gnu/include/stdio.h || missing="$missing libc6-dev-arm64-cross"
fi
if wants live; then
    need clang clang
    need lld wasm-ld
    need binaryen wasm-opt
    have /usr/lib/wasm32-wasi/libc.a || missing="$missing wasi-libc"
    for bits in 32 64; do
        have /usr/lib/llvm-*/lib/clang/*/lib/wasi/libclang_rt.builtins-wasm$bits.a ||
            missing="$missing libclang-rt-dev-wasm$bits"
    done
fi

# The groups with Python packages, of all and of those to be set up.
pinned="run report sweep book format test"
pins=
for group in $pinned; do
    if wants "$group"; then pins="$pins $group"; fi
done
# The system's Python, if it will do, and not one that a person put in front of it.
python=/usr/bin/python3
will_do='import sys; sys.exit(sys.version_info < (3, 11))'
"$python" -I -S -c "$will_do" 2>/dev/null || python=python3
# Finding these modules takes a fifth of the time of importing them.
makes_venv='
import sys
from importlib.machinery import PathFinder
sys.exit(not all(map(PathFinder.find_spec, ("ensurepip", "venv"))))
'
if wants python; then need python3 "$python"; fi
if wants python; then need util-linux flock; fi
if wants fresh; then need debootstrap debootstrap; fi
if [ -n "$pins" ] && ! "$python" -I -S -c "$makes_venv" 2>/dev/null; then
    missing="$missing python3-venv"
fi

# there MANAGER: the names that the missing packages have for another manager of
# packages. One that is not listed has the same name there.
there() {
    for package in $missing; do
        fedora=$package arch=$package brew=$package
        while read -r debian f a b; do
            [ "$debian" = "$package" ] && fedora=$f arch=$a brew=$b
        done <<EOF
gcc-riscv64-unknown-elf      gcc-riscv64-linux-gnu      riscv64-elf-gcc      riscv64-elf-gcc
binutils-riscv64-unknown-elf binutils-riscv64-linux-gnu riscv64-elf-binutils riscv64-elf-binutils
qemu-system-misc             qemu-system-riscv-core     qemu-system-riscv    qemu
gdb-multiarch                gdb                        riscv64-elf-gdb      riscv64-elf-gdb
libc6-dev                    glibc-devel                glibc                glibc
util-linux                   util-linux                 util-linux           flock
python3                      python3                    python               python
python3-venv                 python3                    python               python
EOF
        case $1 in
        dnf) echo "$fedora" ;;
        pacman) echo "$arch" ;;
        brew) echo "$brew" ;;
        esac
    done
}

# Say how to install what is missing where there is no apt-get.
elsewhere() {
    for manager in dnf pacman brew; do
        command -v $manager >/dev/null || continue
        case $manager in
        dnf) install="sudo dnf install" ;;
        pacman) install="sudo pacman -S --needed" ;;
        brew) install="brew install" ;;
        esac
        echo "setup: missing:$missing (Debian's names)"
        # shellcheck disable=SC2046 # a word each
        echo "setup: install them with:" $install $(there $manager)
        [ "$(uname -s)" != Darwin ] ||
            echo "setup: on macOS the labs' grader and the experiments need a" \
                "container: see .devcontainer/Dockerfile"
        return
    done
    echo "setup: these are missing (the names are Debian's):$missing"
    echo "setup: install them with your system's package manager;" \
        "on Debian: apt-get update && $install"
}

if [ -n "$missing" ]; then
    install="apt-get install --no-install-recommends -y$missing"
    if ! command -v apt-get >/dev/null; then
        elsewhere
        exit 1
    elif [ "$(id -u)" = 0 ]; then
        sudo=
    elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        sudo=sudo
    else
        echo "setup: missing packages:$missing"
        echo "setup: install them with: sudo apt-get update && sudo $install"
        exit 1
    fi
    echo "setup: installing$missing"
    $sudo apt-get update -q
    DEBIAN_FRONTEND=noninteractive $sudo $install
fi

[ -z "$packages_only" ] || exit 0

# checked LINE: was this tool's version found to do in this tree? build/tools has such lines.
checked() { grep -qxF "$1" build/tools 2>/dev/null; }

if wants build && ! checked "gcc $prefix"; then
    echo | "${prefix}gcc" -march=rv64imac_zicsr_zifencei -mabi=lp64 -x c -c -o /dev/null - || {
        echo "setup: ${prefix}gcc is too old, or made for other machines: GCC 12 is known to do"
        exit 1
    }
    mkdir -p build
    printf 'gcc %s\n' "$prefix" >> build/tools
fi
if wants machine && ! checked "qemu $qemu"; then
    version=$("$qemu" --version | sed -n 's/^QEMU emulator version \([0-9.]*\).*/\1/p')
    oldest=$(printf '%s\n' 7.2 "$version" | sort -V | head -n 1)
    [ "$oldest" = 7.2 ] || {
        echo "setup: $qemu is version $version: Sluice needs QEMU 7.2 or newer"
        exit 1
    }
    mkdir -p build
    printf 'qemu %s\n' "$qemu" >> build/tools
fi

wants python || exit 0
"$python" -I -S -c "$will_do" || {
    echo "setup: $("$python" -V) is too old: Sluice needs Python 3.11 or newer"
    exit 1
}

# kind PYTHON: what its packages are made for, as cpython-311-x86_64.
kind() {
    "$1" -I -S -c 'import os, sys; print(sys.implementation.cache_tag, os.uname().machine, sep="-")'
}

ours=$(kind "$python")
case ${SLUICE_CACHE:-}:${XDG_CACHE_HOME:-} in
/*) cache=$SLUICE_CACHE ;;
:/*) cache=$XDG_CACHE_HOME/sluice ;;
*) cache=${HOME:-}/.cache/sluice ;;
esac

# folder GROUP: where the packages of these pins are, or will be.
folder() {
    sum=$(cksum < "tools/requirements/$1.txt")
    printf '%s\n' "$cache/$1-${sum%% *}-$ours"
}

# have_all: are there the packages of all groups that are to be set up?
have_all() {
    for group in $pins; do
        [ -d "$(folder "$group")" ] || return 1
    done
}

# A cache that cannot be written to is used if it has all, as one that a course's staff filled.
mkdir -p "$cache" 2>/dev/null || true
lock=$cache/lock
if [ ! -w "$cache" ]; then
    have_all || cache=$PWD/.venv/cache
    lock=$PWD/.venv/lock
fi

# The folders in which .venv/bin/python finds modules beside Python's own: this tree (from
# wherever it is started), and the groups that are there.
search_path() {
    printf '%s\n' ../../../..
    for group in $pinned pip; do
        place=$([ $group = pip ] && printf '%s\n' "$cache/pip-$ours/site-packages" || folder $group)
        if [ -d "$place" ]; then printf '%s\n' "$place"; fi
    done
}

# Is all there that is to be set up?
ready() {
    have_all || return 1
    [ "$(kind .venv/bin/python 2>/dev/null)" = "$ours" ] || return 1
    search_path | cmp -s - .venv/lib/python3*/site-packages/sluice.pth
}

# Make .venv, without packages. One that was made otherwise is replaced.
make_environment() {
    [ "$(kind .venv/bin/python 2>/dev/null)" != "$ours" ] || [ -e .venv/requirements.txt ] ||
        return 0
    rm -rf .venv/bin .venv/lib .venv/lib64 .venv/include .venv/requirements.txt
    "$python" -m venv --without-pip .venv
}

# Make a pip to install with from what comes with Python. .venv/bin/python has it too.
make_pip() {
    [ ! -d "$cache/pip-$ours" ] || return 0
    rm -rf "$cache/pip.part"
    "$python" -m venv "$cache/pip.part"
    mv "$cache"/pip.part/lib/python3*/site-packages "$cache/pip.part/site-packages"
    rm -rf "$cache/pip.part/bin" "$cache/pip.part/lib"
    mv "$cache/pip.part" "$cache/pip-$ours"
}

# Install the packages of a group. From wheels alone: to build a package needs what nobody said.
install_group() {
    place=$(folder "$1")
    [ ! -d "$place" ] || return 0
    make_pip
    printf 'setup: installing the Python packages of the group %s into %s\n' "$1" "$place"
    rm -rf "$place.part"
    PYTHONPATH=$cache/pip-$ours/site-packages "$python" -m pip install -q --no-cache-dir \
        --disable-pip-version-check --root-user-action=ignore --no-deps --only-binary :all: \
        --no-compile --require-hashes --target "$place.part" -r "tools/requirements/$1.txt"
    mv "$place.part" "$place"
}

# The head of a program in Python that the python beside it runs. The shell runs the second line, and to
# Python the last two are a string. A line "#!PATH" would not do: no PATH with a blank works there.
BESIDE="#!/bin/sh
'''exec' \"\$(dirname -- \"\$0\")/python\" \"\$0\" \"\$@\"
' '''"

# Put the programs of packages into .venv/bin, started by its Python.
link_programs() {
    bin=$(cd .venv/bin && pwd -P)
    for group in $pinned; do
        for program in "$(folder "$group")"/bin/*; do
            [ -f "$program" ] || continue
            target=$bin/${program##*/}
            rm -f "$target"
            case $(head -c 2 "$program") in
            '#!') { printf '%s\n' "$BESIDE"; sed 1d "$program"; } > "$target" ;;
            *) cp "$program" "$target" ;;
            esac
            chmod +x "$target"
        done
    done
}

if ! ready; then
    [ -w . ] || {
        echo "setup: $PWD: nothing can be written there: use a tree of your own (git clone it)" >&2
        exit 1
    }
    mkdir -p "$cache" "${lock%/*}"
    (
        flock 9
        make_environment
        for group in $pins; do
            install_group "$group"
        done
        for packages in .venv/lib/python3*/site-packages; do
            search_path > "$packages/sluice.pth"
        done
        link_programs
    ) 9> "$lock"
fi
