/*
 * The first instructions: machine mode, before paging. RISC-V Privileged
 * Architecture 1.12, chapter 3; Sstc 1.0.
 *
 * - Every hart starts at _start with its number in a0 and the device tree's
 *   physical address in a1. It prepares machine mode, which then only
 *   forwards interrupts between harts, and enters start(hart, dtb) in
 *   supervisor mode, paging on, on its own boot stack. Harts other than 0
 *   wait until hart 0 sends them their first ipi.
 * - Linked at its physical address, so that a breakpoint on a symbol here
 *   works before paging. All else is linked in the direct map, out of reach
 *   of relative addressing: such addresses come from .dwords.
 * - bss needs no clearing: QEMU's loader does it.
 */
#include "kernel/riscv.h"

#define CLINT      0x2000000 /* QEMU virt: a word for each hart's ipi */
#define MIP_MSIP   0x8
#define MIP_SSIP   0x2
#define STACK_LOG2 14        /* of STACK_STRIDE, proc.h */

    .section .boot, "ax"
    .globl _start
_start:
    li t0, (1 << 54) - 1    /* one PMP region over everything */
    csrw pmpaddr0, t0
    li t0, 0x1f             /* NAPOT, read, write, execute */
    csrw pmpcfg0, t0
    li t0, 0xb1ff           /* all exceptions but ecalls from S and M */
    csrw medeleg, t0
    li t0, (1 << INT_SOFTWARE) | (1 << INT_TIMER) | (1 << INT_EXTERNAL)
    csrw mideleg, t0
    li t0, 1 << 63          /* STCE: stimecmp in supervisor mode */
    csrw 0x30a, t0          /* menvcfg, as old assemblers know it */
    li t0, 7                /* rdcycle, rdtime, rdinstret */
    csrw mcounteren, t0
    csrw scounteren, t0

    li t0, CLINT
    slli t1, a0, 2
    add t0, t0, t1
    csrw mscratch, t0       /* where this hart's ipi is cleared */
    la t0, machine_vector
    ori t0, t0, 1           /* vectored */
    csrw mtvec, t0
    li t0, MIP_MSIP
    csrw mie, t0
    beqz a0, enter

1:  wfi
    csrr t0, mip
    andi t0, t0, MIP_MSIP
    beqz t0, 1b
    csrr t0, mscratch
    sw zero, 0(t0)

enter:
    la t0, boot_table
    srli t0, t0, 12
    li t1, SATP_SV39
    or t0, t0, t1
    csrw satp, t0
    sfence.vma
    li t0, 3 << 11          /* previous mode: supervisor */
    csrc mstatus, t0
    li t0, 1 << 11
    csrs mstatus, t0
    ld t0, start_address
    csrw mepc, t0
    ld sp, stacks_address
    addi t0, a0, 1
    slli t0, t0, STACK_LOG2
    add sp, sp, t0
    addi sp, sp, -16        /* an address inside the stack, for trap.S */
    li s0, 0                /* backtraces end here */
    li ra, 0
    mret

    .balign 64
    .option push
    .option norvc
machine_vector:
    j unexpected            /* exceptions */
    j unexpected
    j unexpected
    j forward_ipi           /* interrupt 3: machine software */
    .option pop

unexpected:                 /* gdb shows mcause and mepc */
    j unexpected

forward_ipi:
    csrrw t0, mscratch, t0
    sw zero, 0(t0)
    csrrw t0, mscratch, t0
    csrsi mip, MIP_SSIP
    mret

    .balign 8
start_address:
    .dword start
stacks_address:
    .dword boot_stacks

/* The first page table: ten gigapages of direct map, RWX, kernel only. */
    .balign 4096
boot_table:
    .fill 256, 8, 0
    .set gib, 0
    .rept 10
    .dword (gib << 28) | 0xef
    .set gib, gib + 1
    .endr
    .fill 246, 8, 0

/* A boot stack for each hart, which its idle thread keeps. The lowest page
 * of each serves trap.S when another stack has overflowed. */
    .section .bss
    .balign 1 << STACK_LOG2
    .globl boot_stacks
boot_stacks:
    .space 8 << STACK_LOG2  /* MAX_HARTS */
