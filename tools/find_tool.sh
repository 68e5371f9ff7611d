#!/bin/sh
# Finds the cross tools, whose names differ from system to system:
#
#   sh tools/find_tool.sh prefix    how the compiler's and its tools' names begin
#   sh tools/find_tool.sh gdb       the name of a gdb that knows RISC-V
#
# TOOLPREFIX and GDB, if set, are the answer; else the first name below of which
# there is a program, and if there is none, the first name.

# first TAIL NAME...: the first NAME for which a program NAMETAIL is there.
first() {
    tail=$1
    shift
    none=$1
    for name; do
        if command -v "$name$tail" >/dev/null; then
            echo "$name"
            return
        fi
    done
    echo "$none"
}

case $1 in
prefix) # Debian, Ubuntu; Arch, Homebrew; Fedora
    [ -n "${TOOLPREFIX:-}" ] && echo "$TOOLPREFIX" && exit
    first gcc riscv64-unknown-elf- riscv64-elf- riscv64-linux-gnu-
    ;;
gdb)
    [ -n "${GDB:-}" ] && echo "$GDB" && exit
    named=$(first '' gdb-multiarch riscv64-unknown-elf-gdb riscv64-elf-gdb)
    command -v "$named" >/dev/null && echo "$named" && exit
    # Fedora's gdb knows all architectures, Debian's and Ubuntu's only the host's.
    case $(gdb -nx -batch -ex 'set architecture riscv:rv64' 2>/dev/null) in
    *'set to "riscv'*) echo gdb ;;
    *) echo "$named" ;;
    esac
    ;;
esac
