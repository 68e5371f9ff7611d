/*
 * The one trap vector, and the way back to user mode.
 *
 * - In user mode sscratch holds the address of the process's trapframe, which
 *   is also the top of its kernel stack; in the kernel it is 0. tp points to
 *   this hart's struct cpu in the kernel, and belongs to the user outside.
 * - No page table is switched: the kernel is in all of them. CSR accesses are
 *   few on purpose: each ends QEMU's translated block.
 * - sstatus needs no saving. Traps inside the kernel neither nest nor sleep,
 *   and their sret leaves SPP and SPIE as a return to user mode wants them.
 */
#include "kernel/machine/riscv.h"

#define FRAME_EPC   256 /* struct trapframe, trapframe.h */
#define FRAME_CPU   264
#define FRAME_BYTES 272
#define CPU_HART    8   /* struct cpu, cpu.h */
#define STACK_LOG2  14

/* Store (sd) or load (ld) all registers but sp (x2), at the frame at sp. */
    .macro registers op
    .irp r, 1,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17
    \op x\r, \r*8(sp)
    .endr
    .irp r, 18,19,20,21,22,23,24,25,26,27,28,29,30,31
    \op x\r, \r*8(sp)
    .endr
    .endm

    .text
    .balign 4
    .globl trap_vector
trap_vector:
    csrrw sp, sscratch, sp
    beqz sp, from_kernel

    registers sd
    csrrw t0, sscratch, zero
    sd t0, 2*8(sp)
    csrr t0, sepc
    sd t0, FRAME_EPC(sp)
    ld tp, FRAME_CPU(sp)
    li s0, 0                /* backtraces end here */
    mv a0, sp
    call user_trap
    mv a0, sp

/* user_return(frame): interrupts off. */
    .globl user_return
user_return:
    mv sp, a0
    sd tp, FRAME_CPU(sp)
    ld t0, FRAME_EPC(sp)
    csrw sepc, t0
    csrw sscratch, sp
    registers ld
    ld sp, 2*8(sp)
    sret

/* The frame goes on the stack in use. Above it are the two words a C function
 * would have there, so that a backtrace goes through. */
from_kernel:
    csrr sp, sscratch
    addi sp, sp, -(FRAME_BYTES + 16)
    csrw sscratch, t0
    srli t0, sp, 12         /* page of the stack: 0 is the guard */
    andi t0, t0, 3
    beqz t0, overflow
    csrr t0, sscratch
    csrw sscratch, zero
    registers sd
    addi t0, sp, FRAME_BYTES + 16
    sd t0, 2*8(sp)
    sd s0, FRAME_BYTES(sp)
    mv s0, t0
    csrr t0, sepc
    sd t0, FRAME_EPC(sp)
    sd t0, FRAME_BYTES + 8(sp)
    mv a0, sp
    call kernel_trap
    registers ld
    addi sp, sp, FRAME_BYTES + 16
    sret

overflow:
    csrw sscratch, zero
    la sp, boot_stacks
    lw t0, CPU_HART(tp)
    slli t0, t0, STACK_LOG2
    add sp, sp, t0
    li t0, 4096
    add sp, sp, t0
    call stack_overflow
