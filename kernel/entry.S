/*
 * The first instructions: machine mode, before paging. RISC-V Privileged
 * Architecture 1.12, chapter 3; Sstc 1.0.
 *
 * - Every hart starts at _start with its number in a0 and the device tree's
 *   physical address in a1. It prepares machine mode, which then only
 *   forwards interrupts between harts and keeps the trace, and enters
 *   start(hart, dtb) in supervisor mode, paging on, on its own boot stack.
 *   Harts other than 0 wait until hart 0 sends them their first ipi.
 * - Physical memory protection keeps supervisor mode, whatever its page tables
 *   say, from writing this page, the kernel's code and constants, the trace and
 *   the clock. It can have a record appended, but change none; records whose
 *   time is not the clock's are counted. So the trace of a kernel that is not
 *   trusted shows the order and the times at which it traced.
 * - This file is linked at its physical address, so that a breakpoint on a
 *   symbol here works before paging. All else is linked in the direct map, out
 *   of reach of relative addressing: those addresses come from .dwords.
 * - bss needs no clearing: QEMU's loader does it.
 */
#include "kernel/machine/riscv.h"

#define CLINT      0x2000000 /* QEMU virt: a word for each hart's ipi */
#define MTIMECMP   0x2004000 /* a double word for each hart */
#define MIP_MSIP   0x8
#define MIP_SSIP   0x2
#define STACK_LOG2 14        /* of STACK_STRIDE, cpu.h */
#define NOT_PHYS   26        /* bits that the direct map adds to an address */

/* What each region of protected memory allows, a byte of pmpcfg0 for each row of
 * `regions`: 1d and 0d read and execute, 09 read, 08 nothing, 1f all; 00 is where
 * the next region begins. The first region that fits counts. */
#define REGIONS      0x1f000008000d001d
#define TRACE_REGION 0x0009000000000000 /* with a trace: QEMU 7.2 takes an empty
                                           region for all there is */
#define TICK_NS      100
#define ASTRAY_NS    4000000 /* no honest record is older than this */

#define SUPERVISOR_ECALL 9

    .section .boot, "ax"
    .globl _start
_start:
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
    jal t2, protect
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
    j call                  /* exceptions */
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

/* Set up the protected regions; returns to t2. */
protect:
    lla t1, regions
    .irp row, 0, 1, 2, 3, 4, 5, 6
    ld t0, \row*8(t1)
    slli t0, t0, NOT_PHYS
    srli t0, t0, NOT_PHYS + 2
    csrw pmpaddr\row, t0
    .endr
    li t0, (1 << 54) - 1    /* all addresses */
    csrw pmpaddr7, t0
    li t0, REGIONS
    ld t1, trace_at
    beqz t1, 1f
    li t1, TRACE_REGION
    or t0, t0, t1
1:  csrw pmpcfg0, t0
    sfence.vma
    jr t2

/* The supervisor's calls (machine.h): a4 is -1 to have this hart's machine timer
 * never fire; 0 to have the trace begin, at most once, from a0 to a1,
 * page-aligned kernel addresses; 1 to have the record of the double words a0 to
 * a3 appended. */
call:
    csrr t0, mcause
    addi t0, t0, -SUPERVISOR_ECALL
    bnez t0, unexpected
    ld t0, trace_at
    bgtz a4, append
    bltz a4, no_timer
    bnez t0, return
    slli a0, a0, NOT_PHYS
    srli a0, a0, NOT_PHYS
    slli a1, a1, NOT_PHYS
    srli a1, a1, NOT_PHYS
    lla t0, trace_at
    sd a0, 0(t0)
    sd a1, 8(t0)
    li t1, 1
    sb t1, 16(t0)
    jal t2, protect
    j return
no_timer:
    li t0, MTIMECMP
    csrr t1, mhartid
    slli t1, t1, 3
    add t0, t0, t1
    li t1, -1
    sd t1, 0(t0)
    j return
append:                     /* struct trace_ring, trace.h */
    beqz t0, return
    ld t1, 8(t0)            /* records */
    addi t2, t0, 16         /* written */
    li t3, 1
    amoadd.d t3, t3, (t2)
    remu t3, t3, t1
    slli t3, t3, 5
    add t0, t0, t3
    sd a0, 32(t0)
    sd a1, 40(t0)
    sd a2, 48(t0)
    sd a3, 56(t0)
    csrr t0, time
    li t1, TICK_NS
    mul t0, t0, t1
    sub t0, t0, a0
    li t1, ASTRAY_NS
    bleu t0, t1, return
    li t3, 1
    addi t2, t2, 8
    amoadd.d t3, t3, (t2) /* astray */
return:
    csrr t0, mepc
    addi t0, t0, 4
    csrw mepc, t0
    mret

    .balign 8
    .globl trace_at, trace_on_phys
regions:
    .dword _start + 0x7fc   /* this page: its low ones tell the size */
    .dword text_start       /* code and constants */
    .dword rodata_end
    .dword CLINT + 0x4000   /* the clock's registers */
    .dword CLINT + 0x10000
trace_at:                   /* physical; 0: there is no trace */
    .dword 0
    .dword 0
trace_on_phys:              /* trace_on in kernel.ld, where C finds it */
    .dword 0

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
