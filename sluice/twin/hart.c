/*
 * The hart: its registers, interrupts, and the ways into the kernel and out.
 *
 * - The kernel's own trap.c takes every trap. This file sets the registers as
 *   the hardware would, and calls it.
 * - There is one interrupt, the timer's, which the clock rings. It is taken at
 *   once, or where interrupts go on. Kernel code that has irq_depth > 0 is not
 *   interrupted: trap.c sees to that, with sstatus.
 */
#include "sluice/twin/hart.h"

#include "sluice/twin/call.h"
#include "kernel/base/abi.h"
#include "kernel/machine/clock.h"
#include "kernel/machine/counter.h"
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

/* Take the timer's interrupt, with the registers as a hart would set them. */
static void interrupt_kernel(void)
{
    struct trapframe none = {0};
    hart_registers.scause = CAUSE_INTERRUPT | INT_TIMER;
    hart_registers.sstatus &= ~(u64)SSTATUS_SIE;
    hart_registers.sstatus |= SSTATUS_SPIE;
    kernel_trap(&none);
    if (hart_registers.sstatus & SSTATUS_SPIE)
        hart_registers.sstatus |= SSTATUS_SIE;
}

static bool rings(void)
{
    return irq_is_on() && hart_registers.sie & 1UL << INT_TIMER;
}

void irq_on(void)
{
    hart_registers.sstatus |= SSTATUS_SIE;
    while (rings())
        interrupt_kernel();
}

/* ---- the counter: time is charged, so only its interrupt is here ---- */

void counter_ring(void)
{
    hart_registers.sie |= 1UL << INT_TIMER;
    if (rings())
        interrupt_kernel();
}

void counter_quiet(void)
{
    hart_registers.sie &= ~(1UL << INT_TIMER);
}

void counter_init(bool may_be_lab)
{
    if (may_be_lab)
        panic("twin: time is charged (charged_ns=)");
}

void counter_hart_init(void)
{
}

void counter_wait(u64 due_ns)
{
    (void)due_ns;
    panic("twin: every process waits, and no timer is set");
}

static void no_counter(void)
{
    panic("twin: there is no counter");
}

u64 counter_ns(void)
{
    no_counter();
    return 0;
}

u64 counter_boot_wall_ns(void)
{
    no_counter();
    return 0;
}

bool counter_is_virtual(void)
{
    no_counter();
    return false;
}

void counter_alarm(u64 when_ns)
{
    (void)when_ns;
    no_counter();
}

void counter_stop(void)
{
    no_counter();
}

void counter_rest(void)
{
    no_counter();
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

/* Take a system call from a program, with its number and arguments in the trap
 * frame. */
void user_called(struct trapframe *frame, const u64 *call)
{
    frame->x[REG_A7] = call[0];
    for (u32 i = 0; i < CALL_ARGUMENTS; i++)
        frame->x[REG_A0 + i] = call[1 + i];
    hart_registers.scause = CAUSE_USER_ECALL;
    user_trap(frame);
    user_return(frame);
}
