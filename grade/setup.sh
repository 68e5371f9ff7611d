#!/bin/sh
# Puts in place what the build and the tests need: system packages, and the
# Python environment .venv with the versions that requirements.txt pins.
#
# - Does nothing, quickly, when all is there.
# - Installs packages on Debian and its kin as root or with a sudo that asks
#   no password. Elsewhere it names what is missing and the command to install
#   it, changes nothing, and fails.
# - Names packages as Debian does, and for dnf, pacman and brew as those do.
# - With the word `packages` it leaves the Python environment out.
set -eu
cd "$(dirname "$0")/.."
PATH=$PATH:/usr/sbin:/sbin
prefix=$(sh grade/find_tool.sh prefix)

# chosen VARIABLE VALUE PROGRAM STANDARD: stop if a value that is not the standard
# one names no program. Words behind the first are the program's options.
chosen() {
    [ "$2" = "$4" ] || command -v "${3%% *}" >/dev/null || {
        echo "setup: $1=$2: there is no program ${3%% *}; leave $1 out, or name one that is there"
        exit 1
    }
}

chosen TOOLPREFIX "$prefix" "${prefix}gcc" "$(TOOLPREFIX='' sh grade/find_tool.sh prefix)"
gdb=$(sh grade/find_tool.sh gdb)
chosen GDB "$gdb" "$gdb" "$(GDB='' sh grade/find_tool.sh gdb)"
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

need gcc-riscv64-unknown-elf "${prefix}gcc"
need binutils-riscv64-unknown-elf "${prefix}ld" "${prefix}nm" "${prefix}objdump"
need qemu-system-misc "$qemu"
need gdb-multiarch "$gdb"
need e2fsprogs mke2fs e2fsck debugfs dumpe2fs
if [ "$(uname -s)" != Darwin ]; then # there is neither on macOS
    need blktrace blkparse btt iowatcher
    need bubblewrap bwrap
    have /usr/include/stdio.h || missing="$missing libc6-dev"
fi
if [ -n "${LIVE:-}" ]; then # only the page with the kernel in it (make live)
    need clang clang
    need lld wasm-ld
    need binaryen wasm-opt
    have /usr/lib/wasm32-wasi/libc.a || missing="$missing wasi-libc"
    for bits in 32 64; do
        have /usr/lib/llvm-*/lib/clang/*/lib/wasi/libclang_rt.builtins-wasm$bits.a ||
            missing="$missing libclang-rt-dev-wasm$bits"
    done
fi
need gcc "${hostcc%% *}"
need git git
need util-linux flock
need coreutils nproc
have .venv/bin/python || need python3 python3
have .venv/bin/python || python3 -c 'import ensurepip, venv' 2>/dev/null ||
    missing="$missing python3-venv"

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

[ "${1:-}" = packages ] && exit

# Stop if a tool is too old. Called once, before the environment is made.
expect_versions() {
    echo | "${prefix}gcc" -march=rv64imac_zicsr_zifencei -mabi=lp64 -x c -c -o /dev/null - ||
        {
            echo "setup: ${prefix}gcc is too old, or made for other machines: GCC 12 is known to do"
            exit 1
        }
    version=$("$qemu" --version | sed -n 's/^QEMU emulator version \([0-9.]*\).*/\1/p')
    oldest=$(printf '%s\n' 7.2 "$version" | sort -V | head -n 1)
    [ "$oldest" = 7.2 ] || {
        echo "setup: $qemu is version $version: Sluice needs QEMU 7.2 or newer"
        exit 1
    }
}

# The environment is complete once it holds a copy of what it was made from.
if ! cmp -s grade/requirements.txt .venv/requirements.txt; then
    expect_versions
    echo "setup: making the Python environment .venv"
    rm -rf .venv
    python3 -m venv .venv
    .venv/bin/python -m pip install -q --disable-pip-version-check \
        --require-hashes -r grade/requirements.txt
    cp grade/requirements.txt .venv/requirements.txt
fi

# The environment's programs, as dask, find grade/ from wherever they are started, and programs of
# people the package sluice.
for packages in .venv/lib/python3*/site-packages; do
    printf '%s\n' ../../../.. ../../../../grade/python | cmp -s - "$packages/sluice.pth" ||
        printf '%s\n' ../../../.. ../../../../grade/python > "$packages/sluice.pth"
done
