#!/bin/sh
# Fetches another compiler, of a suite of Debian, unpacks it into a folder and
# prints the prefix of its programs, for
#   bin/sluice validate repeat --compiler $(tools/other_compiler.sh build/gcc trixie)
#   make TOOLPREFIX=$(tools/other_compiler.sh build/clang trixie clang)
#
# - With `clang`, the program called gcc compiles C by clang; GCC assembles and links.
# - debian_suite.sh fetches the packages; nothing is installed.
set -eu
case $#${3:-} in
2 | 3clang) ;;
*) echo "usage: other_compiler.sh FOLDER SUITE [clang]" >&2 && exit 2 ;;
esac
. "$(dirname "$0")/debian_suite.sh"
rm -rf "$1/bin" "$1/linker"
mkdir -p "$1/bin" "$1/linker"
open_suite "$1" "$2"
fetch_packages gcc-riscv64-unknown-elf ${3:-}
unpack_packages
for program in "$folder"/root/usr/bin/riscv64-unknown-elf-*; do
    name=${program##*/}
    wrap=
    case $name in # the compiler's own programs are run in the same way; the linker by a script
    *-gcc | *-gcc-[0-9]* | *-g++ | *-cpp)
        wrap="-B'$folder/linker/' -wrapper '$loader,--library-path,$path'" ;;
    esac
    cat >"$folder/bin/$name" <<END
#!/bin/sh
exec '$loader' --library-path '$path' --argv0 '$program' '$program' $wrap "\$@"
END
    chmod +x "$folder/bin/$name"
done
ln -s ../bin/riscv64-unknown-elf-ld "$folder/linker/ld"

if [ "${3:-}" ]; then
    gcc=$folder/bin/riscv64-unknown-elf-gcc
    mv "$gcc" "$folder/bin/gcc"
    program=$(echo "$folder"/root/usr/lib/llvm-*/bin/clang)
    clang="'$loader' --library-path '$path:${program%/bin/clang}/lib' --argv0 '$program' '$program'"
    headers=$(echo "${program%/bin/clang}"/lib/clang/*)
    # Clang before 17 takes these instructions to be of the base, and knows no name for them.
    instructions=rv64imac_zicsr_zifencei
    eval "$clang" --target=riscv64-unknown-elf -march=$instructions -E -x c /dev/null >/dev/null 2>&1 ||
        instructions=rv64imac
    # GNU ld's script has no place for the sections that version 5 of DWARF has here. Programs are
    # made small, because each must fit into its room (user/pages.mk).
    cat >"$gcc" <<END
#!/bin/sh
case " \$* " in
*" --version "*) exec $clang "\$@" ;;
*.S\ *) exec '$folder/bin/gcc' "\$@" ;;
*" -c "*) ;;
*) exec '$folder/bin/gcc' "\$@" ;;
esac
small=
case " \$*" in *" user/"* | *" sluice/programs/"*) small=-Os ;; esac
exec $clang --target=riscv64-unknown-elf -resource-dir='$headers' "\$@" -march=$instructions -gdwarf-4 \$small \\
    -Wno-unknown-warning-option -Wno-unknown-attributes -Wno-unknown-pragmas -Wno-c2x-extensions
END
    chmod +x "$gcc"
fi
"$folder/bin/riscv64-unknown-elf-gcc" --version | head -n 1 >&2
echo "$folder/bin/riscv64-unknown-elf-"
