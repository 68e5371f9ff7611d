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
 *   say, from writing these pages, the kernel's code and constants, the trace
 *   and the clock. It can have a record appended, but change none; records whose
 *   time is not the clock's are counted. So the trace of a kernel that is not
 *   trusted shows the order and the times at which it traced.
 * - RAM disks (ramdisk.h) are out of its reach too. Machine mode moves their
 *   data, logs each move, and sets the clock back by what the move took.
 * - So is QEMU's device fw_cfg, which writes to any address that it is given.
 * - A call checks all its arguments before it changes anything. What the calls
 *   guarantee, sentence by sentence, is in grade/labs/MACHINE_MODE.md.
 * - QEMU 7.2 marks page-table entries as accessed even in memory that may only be
 *   read. So no double word of a call's instructions has the form of such an
 *   entry: a test.
 * - The calls of a measured run (append, move, jump) take a number of
 *   instructions that stored results depend on: test_machine_mode.py.
 * - This file is linked at its physical address, so that a breakpoint on a
 *   symbol here works before paging. All else is linked in the direct map, out
 *   of reach of relative addressing: those addresses come from .dwords.
 * - bss needs no clearing: QEMU's loader does it.
 */
#include "kernel/machine/machine.h"
#include "kernel/machine/riscv.h"

#define CLINT      0x2000000 /* QEMU virt: a word for each hart's ipi */
#define MTIMECMP   0x2004000 /* a double word for each hart */
#define MTIME      0x200bff8
#define MIP_MSIP   0x8
#define MIP_SSIP   0x2
#define STACK_LOG2 14        /* of STACK_STRIDE, cpu.h */
#define NOT_PHYS   26        /* bits that the direct map adds to an address */
#define PHYS_BITS  38
#define FW_CFG     0x10100000
#define POWER      0x100000 /* SiFive's test device: ends the machine */
#define GAVE_UP    (STATUS_MACHINE << 16 | 0x3333)

/* What each region of protected memory allows, a byte of pmpcfg0 and then of
 * pmpcfg2 for each row of `regions`: 1d and 0d read and execute, 09 read, 08
 * and 18 nothing, 1f all; 00 is where the next region begins. The first region
 * that fits counts. QEMU 7.2 takes an empty region for all there is. */
#define REGIONS      0x00000008000d001d
#define TRACE_REGION 0x0009000000000000 /* with a trace */
#define REGIONS_2    0x1f1800
#define DISKS_REGION 0x0008 /* with RAM disks */
#define TICK_NS      100
#define EVEN_TICKS   40      /* longer than the search for one takes at shift=5 */
#define ASTRAY_NS    4000000 /* no honest record is older than this */
#define JUMP_BITS    56 /* of a time: 228 years, with 2^63 ns more still in 64 bits of ns */
#define SECTOR_BYTES 512
#define TRACE_BEGUN  1 /* bits of `begun` */
#define DISKS_BEGUN  2

#define SUPERVISOR_ECALL 9

/* Go to `where` unless a register has an address of the direct map. */
    .macro IN_DIRECT_MAP reg, where
    srai t0, \reg, PHYS_BITS
    addi t0, t0, 1
    bnez t0, \where
    .endm

    .macro PHYSICAL reg
    slli \reg, \reg, NOT_PHYS
    srli \reg, \reg, NOT_PHYS
    .endm

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
    /* Regions that begin from here on would not be protected from this hart. */
    jal t2, begin_lock
    li t0, TRACE_BEGUN | DISKS_BEGUN
    sd t0, begun, t1
    jal t2, begin_unlock

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
    li t0, POWER
    li t1, GAVE_UP
    sw t1, 0(t0)
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
    .irp row, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
    ld t0, \row*8(t1)
    slli t0, t0, NOT_PHYS
    srli t0, t0, NOT_PHYS + 2
    csrw pmpaddr\row, t0
    .endr
    li t0, (1 << 54) - 1    /* all addresses */
    csrw pmpaddr10, t0
    li t0, REGIONS
    ld t1, trace_at
    beqz t1, 1f
    li t1, TRACE_REGION
    or t0, t0, t1
1:  csrw pmpcfg0, t0
    li t0, REGIONS_2
    ld t1, disks_at
    beqz t1, 1f
    ori t0, t0, DISKS_REGION
1:  csrw pmpcfg2, t0
    sfence.vma
    jr t2

/* The supervisor's calls (machine.h): w0 to w3 are in a0 to a3, which call it is
 * in a4, the answer goes into a0. */
call:
    csrr t0, mcause
    addi t0, t0, -SUPERVISOR_ECALL
    bnez t0, unexpected
    ld t0, trace_at
    li t1, TRACE_APPEND
    beq a4, t1, append
    li t1, DISKS_MOVE
    beq a4, t1, move
    li t1, CLOCK_JUMP
    beq a4, t1, jump
    li t1, NO_TIMER
    beq a4, t1, no_timer
    li t1, DISKS_BEGIN
    beq a4, t1, disks_begin
    li t1, TRACE_BEGIN
    bne a4, t1, refuse

trace_begin:
    jal t2, begin_lock
    ld t3, begun
    andi t0, t3, TRACE_BEGUN
    bnez t0, refuse_begin
    ori t3, t3, TRACE_BEGUN
    or t0, a0, a1
    beqz t0, begin          /* there is none */
    IN_DIRECT_MAP a0, refuse_begin
    IN_DIRECT_MAP a1, refuse_begin
    PHYSICAL a0
    PHYSICAL a1
    jal t2, check_pages
    ld t0, disks_at
    beqz t0, 1f
    bltu t0, a1, refuse_begin
1:  ld t0, 8(a0)            /* records: as many as there is room for, or fewer */
    beqz t0, refuse_begin
    sub t1, a1, a0
    srli t1, t1, 5
    bgeu t0, t1, refuse_begin /* the head takes the room of one */
    sd zero, 16(a0)         /* written, astray */
    sd zero, 24(a0)
    lla t0, trace_at
    sd a0, 0(t0)
    sd a1, 8(t0)
    lla t0, trace_on_phys
    li t1, 1
    nop                     /* these only move `sb` to another place */
    sb t1, 0(t0)
    nop; nop; nop
begin:
    sd t3, begun, t0
    jal t2, protect
    jal t2, begin_unlock
    j done

disks_begin:
    jal t2, begin_lock
    ld t3, begun
    andi t0, t3, DISKS_BEGUN
    bnez t0, refuse_begin
    ori t3, t3, DISKS_BEGUN
    or t1, a2, a3
    or t0, a0, a1
    or t0, t0, t1
    beqz t0, begin          /* there are none */
    srli t0, t0, PHYS_BITS
    bnez t0, refuse_begin
    andi t1, t1, 15
    bnez t1, refuse_begin
    bltu a2, a0, refuse_begin
    bltu a3, a2, refuse_begin
    bltu a1, a3, refuse_begin
    jal t2, check_pages
    ld t0, trace_end
    bltu a0, t0, refuse_begin
    lla t0, disks_at
    sd a0, 0(t0)
    sd a1, 8(t0)
    lla t0, move_log
    sd a2, 0(t0)
    sd a3, 8(t0)
    j begin

refuse_begin:
    jal t2, begin_unlock
    j refuse

/* Go on only if the physical addresses in a0 and a1 are where whole pages past
 * the constants begin and end; returns to t2. */
check_pages:
    or t0, a0, a1
    slli t0, t0, 64 - 12
    bnez t0, refuse_begin
    bgeu a0, a1, refuse_begin
    ld t0, constants_end
    PHYSICAL t0
    bltu a0, t0, refuse_begin
    jr t2

/* One hart at a time decides which regions there are; both return to t2. */
begin_lock:
    lla t0, locked
    li t1, 1
1:  amoswap.w.aq t1, t1, (t0)
    bnez t1, 1b
    jr t2
begin_unlock:
    lla t0, locked
    amoswap.w.rl zero, zero, (t0)
    jr t2

no_timer:
    li t0, MTIMECMP
    csrr t1, mhartid
    slli t1, t1, 3
    add t0, t0, t1
    li t1, -1
    sd t1, 0(t0)
    j done

    .skip 6                 /* so that no instructions look like an entry */
/* In virtual time mcycle counts ns, and where in a tick the clock is depends on
 * how many instructions there were. So leave from the beginning of a tick, which
 * the loop meets at any -icount shift: what follows does not depend on all that
 * was before. A jump of a few us leaves at once. */
jump:
    csrr t0, time
    bleu a0, t0, done
    addi t2, t0, EVEN_TICKS
    bleu a0, t2, 2f
    srli t1, a0, JUMP_BITS
    bnez t1, refuse
    li t2, TICK_NS
1:  csrr t1, mcycle
    remu t1, t1, t2
    bnez t1, 1b
    csrr t0, time
    bleu a0, t0, done       /* the time has come by itself */
2:  li t0, MTIME
    sd a0, 0(t0)
    j done

/* The disk's place must be among the disks, past the log; the other one between
 * the constants and the disks, and not in the trace. From the reading of the
 * clock to its setting there must be as many instructions as ever, or a multiple
 * of 25 more, which end in the same part of a tick (at -icount shift=5): so for
 * the `nop`s. There are as many whether the log has room or not. */
move:
    csrr t6, time
    IN_DIRECT_MAP a0, refuse
    PHYSICAL a0
    srli t0, a1, PHYS_BITS
    bnez t0, refuse
    srli t0, a2, 32
    bnez t0, refuse
    beqz a2, refuse
    or t0, a1, a2
    andi t0, t0, SECTOR_BYTES - 1
    bnez t0, refuse
    andi t0, a0, 7
    bnez t0, refuse
    srli t0, a3, 1
    bnez t0, refuse
    add t0, a0, a2          /* the ends */
    add t1, a1, a2
    lla t3, move_log
    ld t2, 8(t3)            /* the log's end */
    bltu a1, t2, refuse
    ld t2, disks_end
    bltu t2, t1, refuse
    ld t2, constants_end
    PHYSICAL t2
    bltu a0, t2, refuse
    ld t2, disks_at
    bltu t2, t0, refuse
    ld t2, trace_at
    bleu t0, t2, 1f
    ld t2, trace_end
    bltu a0, t2, refuse
1:  .rept 12
    nop
    .endr
    li t4, 16               /* of a struct move, guest.py */
    amoadd.d t2, t4, (t3)   /* past the log's end it counts moves not logged */
    ld t4, 8(t3)
    bgeu t2, t4, not_logged
    or t5, a1, a3
    sd t5, 0(t2)
    sd a2, 8(t2)
1:  beqz a3, 2f             /* from a1 to a0, until t0 */
    mv t0, t1
    mv t1, a0
    mv a0, a1
    mv a1, t1
2:  bgeu a0, t0, 3f
    .irp at, 0, 8, 16, 24, 32, 40, 48, 56
    ld t1, \at(a1)
    sd t1, \at(a0)
    .endr
    addi a0, a0, 64
    addi a1, a1, 64
    j 2b
3:  addi t6, t6, 1
    li t0, MTIME
    sd t6, 0(t0)
    j done
refuse:
    li a0, -1
    j return
not_logged:                 /* as many instructions as the record takes */
    nop; nop
    j 1b

    .skip 4                 /* so that no instructions look like an entry */
append:                     /* struct trace_ring, trace.h */
    beqz t0, done
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
    bleu t0, t1, done
    li t3, 1
    addi t2, t2, 8
    amoadd.d t3, t3, (t2) /* astray */
done:
    li a0, 0
return:
    csrr t0, mepc
    addi t0, t0, 4
    csrw mepc, t0
    mret

    .balign 8
    .globl trace_at, trace_on_phys, move_log, move_log_end
regions:
    .dword _start + 0xffc   /* these two pages: its low ones tell the size */
    .dword text_start       /* code and constants */
constants_end:
    .dword rodata_end
    .dword CLINT + 0x4000   /* the clock's registers */
    .dword CLINT + 0x10000
trace_at:                   /* physical; 0: there is no trace */
    .dword 0
trace_end:
    .dword 0
disks_at:                   /* the same of RAM disks */
    .dword 0
disks_end:
    .dword 0
    .dword FW_CFG + 0x7fc   /* the device's page */
move_log:                   /* the next record; the log's end */
    .dword 0
move_log_end:
    .dword 0
begun:                      /* which regions are settled */
    .dword 0
locked:
    .dword 0
trace_on_phys:              /* trace_on in kernel.ld, where C finds it */
    .dword 0

start_address:
    .dword start
stacks_address:
    .dword boot_stacks

/* The first page table: gigapages of direct map, RWX, kernel only. */
    .balign 4096
boot_table:
    .fill 256, 8, 0
    .set gib, 0
    .rept BOOT_MAP_GIB
    .dword (gib << 28) | 0xef
    .set gib, gib + 1
    .endr
    .fill 256 - BOOT_MAP_GIB, 8, 0
