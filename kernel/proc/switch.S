/*
 * switch_to(from, to): save the registers a C function keeps in *from and
 * return as the process whose registers are in *to (struct context, proc.h).
 */
    .macro move_registers op, context
    .set at, 0
    .irp r, ra, sp, s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11
    \op \r, at(\context)
    .set at, at + 8
    .endr
    .endm

    .text
    .globl switch_to
switch_to:
    move_registers sd, a0
    move_registers ld, a1
    ret
