# From `nm -n` of a first link of the kernel: the assembly of section .ksyms,
# the table of functions and their addresses by which panic.c names calls.
# The section is the last in memory, so the second link moves no address.

BEGIN {
    print ".section .ksyms, \"a\""
    print ".balign 8"
}

# Functions in the kernel's half of the address space.
$2 ~ /^[tT]$/ && $1 ~ /^ffffffc/ {
    printf ".dword 0x%s, name%d\n", $1, count
    names[count++] = $3
}

# An address above all ends the table; the names follow it.
END {
    print ".dword -1, 0"
    for (i = 0; i < count; i++)
        printf "name%d: .asciz \"%s\"\n", i, names[i]
}
