/*
 * The hart: its registers, interrupts, and the ways into the kernel and out.
 *
 * - The kernel's own trap.c takes every trap. This file sets the registers as
 *   the hardware would, and calls it.
 * - There is one interrupt, the timer's. It is waiting while interrupt_ns() is
 *   not after the time, and is taken where interrupts go on, and at its time in
 *   what spend() lets pass. Kernel code that has irq_depth > 0 is not
 *   interrupted: trap.c sees to that, with sstatus.
 */
#include "sluice/twin/hart.h"

#include "sluice/twin/call.h"
#include "sluice/twin/cost.h"
#include "kernel/base/abi.h"
#include "kernel/machine/clock.h"
#include "kernel/machine/cpu.h"
#include "kernel/machine/irq.h"
#include "kernel/machine/panic.h"
#include "kernel/proc/proc.h"
#include "kernel/proc/trapframe.h"
#include "kernel/proc/vm.h"

/* trap.c */
void user_trap(struct trapframe *);
void kernel_trap(struct trapframe *);

struct cpu cpus[MAX_HARTS];
struct hart_registers hart_registers;
struct trapframe *user_frame;
char trap_vector[1]; /* trap.c gives its address to the hardware */

struct cpu *mycpu(void)
{
    return &cpus[0];
}

struct proc *myproc(void)
{
    return cpus[0].proc;
}

void cpu_init(u32 hart)
{
    cpus[hart].hart = hart;
}

void ipi_send(u32 hart)
{
    panic("twin: an interrupt for hart %u", hart);
}

/* ---- interrupts ---- */

void interrupt_kernel(void)
{
    struct trapframe none = {0};
    hart_registers.scause = CAUSE_INTERRUPT | INT_TIMER;
    hart_registers.sstatus &= ~(u64)SSTATUS_SIE;
    hart_registers.sstatus |= SSTATUS_SPIE;
    kernel_trap(&none);
    if (!cpus[0].irq_waiting)
        pay(COST_interrupt, 1);
    if (hart_registers.sstatus & SSTATUS_SPIE)
        hart_registers.sstatus |= SSTATUS_SIE;
}

void irq_on(void)
{
    hart_registers.sstatus |= SSTATUS_SIE;
    while (hart_registers.sstatus & SSTATUS_SIE && interrupt_ns() <= clock_ns())
        interrupt_kernel();
}

/* No device has an interrupt. */
void irq_init(void)
{
}

void irq_hart_init(void)
{
}

void irq_register(u32 irq, void (*fn)(u32 irq))
{
    (void)irq, (void)fn;
}

void irq_dispatch(void)
{
}

/* ---- user mode ---- */

/* The program computes; interrupts come at their times, and may give the hart
 * to another process. */
static void compute(struct trapframe *frame, u64 instructions)
{
    u64 end_ns = clock_ns() + (instructions << cpu_shift);
    while (interrupt_ns() <= end_ns) {
        u64 left_ns = end_ns - MAX(clock_ns(), interrupt_ns());
        spend(end_ns - left_ns - clock_ns());
        hart_registers.scause = CAUSE_INTERRUPT | INT_TIMER;
        user_trap(frame);
        pay(COST_interrupt, 1);
        end_ns = clock_ns() + left_ns;
    }
    spend(end_ns - clock_ns());
}

/* What a program has computed since its last call. After a transfer it first
 * looks at the time, if it measures; what it does with the transfer comes after
 * that. x[0], which is no register, counts its calls since the last one. */
static void pay_program(struct trapframe *frame, u64 number)
{
    bool read = number == SYS_read || number == SYS_pread;
    bool write = number == SYS_write || number == SYS_pwrite;
    pay(COST_program, 1);
    if (frame->x[0] == 2)
        pay(COST_work, 1);
    frame->x[0] = read || write ? 1 : frame->x[0] ? frame->x[0] + 1 : 0;
    pay(COST_call, 1);
    pay(COST_read, read);
    pay(COST_write, write);
}

void user_called(struct trapframe *frame, const u64 *call)
{
    if (call[0] == CALL_COMPUTE) {
        compute(frame, call[1]);
        user_return(frame);
    }
    frame->x[REG_A7] = call[0];
    for (u32 i = 0; i < CALL_ARGUMENTS; i++)
        frame->x[REG_A0 + i] = call[1 + i];
    pay_program(frame, call[0]);
    hart_registers.scause = CAUSE_USER_ECALL;
    user_trap(frame);
    user_return(frame);
}
