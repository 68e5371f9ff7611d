/*
 * Time, and the one-shot timers of each hart: the `time` register and Sstc's
 * stimecmp (RISC-V Privileged Architecture 1.12, section 4.1.10; Sstc 1.0),
 * and at boot the goldfish real-time clock.
 *
 * - A hart's timers are a list, the soonest first, under its timer_lock.
 *   slice_ns and armed_ns are the hart's own, touched with interrupts off.
 * - The compare register is armed for a time not later than the soonest timer
 *   and the slice's end. It may be earlier: when a timer is cancelled or a
 *   slice put off, the interrupt that comes for nothing costs less than arming
 *   anew each time. armed_ns is NEVER_NS when no interrupt is to come; then
 *   the timer interrupt is masked, and no far time is written: QEMU 7.2 would
 *   keep a timer for it, and in lab mode jump to it when idle.
 * - A timer is off its list and its cpu is NULL before its function is called,
 *   after which it is not looked at: its owner may reuse or free it.
 */
#include "kernel/clock.h"

#include "kernel/args.h"
#include "kernel/fdt.h"
#include "kernel/lock.h"
#include "kernel/mem.h"
#include "kernel/policy.h"
#include "kernel/proc.h"
#include "kernel/riscv.h"

#define AHEAD_TICKS 4 /* reading the time and writing another takes less */
#define MAX_EPOCH_S 10000000000UL /* 2286: in ns it fits 64 bits */

enum { RTC_LOW, RTC_HIGH }; /* reading LOW latches HIGH */

static u64 boot_wall_ns; /* wall time when clock_ns was 0 */
static u64 armed_ns[MAX_HARTS];

/* What clock_go takes up again. */
static struct {
    u64 armed_ns;
    bool irq_was_on;
} stopped[MAX_HARTS];

/* Neither product overflows for frequencies below 18 GHz. */
static u64 ns_of_ticks(u64 ticks)
{
    u64 hz = machine.timebase_hz;
    return ticks / hz * NS_PER_S + ticks % hz * NS_PER_S / hz;
}

/* The first tick that is not before the time. */
static u64 ticks_of_ns(u64 ns)
{
    u64 hz = machine.timebase_hz;
    return ns / NS_PER_S * hz + (ns % NS_PER_S * hz + NS_PER_S - 1) / NS_PER_S;
}

u64 clock_ns(void)
{
    return ns_of_ticks(csr_read(time));
}

u64 clock_wall_ns(void)
{
    return boot_wall_ns + clock_ns();
}

u64 clock_wall_s(void)
{
    return clock_wall_ns() / NS_PER_S;
}

/* Have an interrupt no later than when_ns. Interrupts are off. */
static void arm(struct cpu *cpu, u64 when_ns)
{
    if (armed_ns[cpu->hart] <= when_ns)
        return;
    armed_ns[cpu->hart] = when_ns;
    csr_write(0x14d, ticks_of_ns(when_ns)); /* stimecmp */
    csr_set(sie, 1UL << INT_TIMER);
}

static void disarm(struct cpu *cpu)
{
    armed_ns[cpu->hart] = NEVER_NS;
    csr_clear(sie, 1UL << INT_TIMER);
}

void timer_set(struct timer *t, u64 when_ns, void (*fire)(void *), void *arg)
{
    irq_push_off();
    struct cpu *cpu = mycpu();
    spin_lock(&cpu->timer_lock);
    assert(!t->cpu);
    *t = (struct timer){
        .when_ns = when_ns, .fire = fire, .arg = arg, .cpu = cpu};
    struct list *at = cpu->timers.next;
    while (at != &cpu->timers &&
           LIST_ITEM(at, struct timer, link)->when_ns <= when_ns)
        at = at->next;
    list_insert_before(at, &t->link);
    arm(cpu, when_ns);
    spin_unlock(&cpu->timer_lock);
    irq_pop_off();
}

/* Caller holds t->cpu->timer_lock. */
static void unset(struct timer *t)
{
    list_remove(&t->link);
    __atomic_store_n(&t->cpu, NULL, __ATOMIC_RELEASE);
}

bool timer_cancel(struct timer *t)
{
    struct cpu *cpu;
    while ((cpu = __atomic_load_n(&t->cpu, __ATOMIC_ACQUIRE))) {
        spin_lock(&cpu->timer_lock);
        bool set = t->cpu == cpu; /* not fired, and set anew, meanwhile */
        if (set)
            unset(t);
        spin_unlock(&cpu->timer_lock);
        if (set)
            return true;
    }
    return false;
}

void clock_set_slice(u64 when_ns)
{
    struct cpu *cpu = mycpu();
    cpu->slice_ns = when_ns;
    if (when_ns)
        arm(cpu, when_ns);
}

/* Or else have an interrupt when the next one is due. */
static bool fire_one_due(struct cpu *cpu)
{
    spin_lock(&cpu->timer_lock);
    struct list *first = list_first(&cpu->timers);
    struct timer *t = first ? LIST_ITEM(first, struct timer, link) : NULL;
    if (!t || t->when_ns > clock_ns()) {
        if (t)
            arm(cpu, t->when_ns);
        spin_unlock(&cpu->timer_lock);
        return false;
    }
    void (*fire)(void *) = t->fire;
    void *arg = t->arg;
    unset(t);
    spin_unlock(&cpu->timer_lock);
    fire(arg);
    return true;
}

/* QEMU 7.2 does not disarm its timer when a later time is written: so have it
 * fire, a little ahead, unseen. One tick ahead may be over by the time it is
 * written, and a time that is over leaves the old timer armed. */
void clock_stop(void)
{
    bool irq_was_on = irq_off();
    struct cpu *cpu = mycpu();
    stopped[cpu->hart].irq_was_on = irq_was_on;
    stopped[cpu->hart].armed_ns = armed_ns[cpu->hart];
    csr_write(0x14d, csr_read(time) + AHEAD_TICKS);
    while (!(csr_read(sip) & 1UL << INT_TIMER))
        ;
    disarm(cpu);
}

void clock_go(void)
{
    struct cpu *cpu = mycpu();
    if (stopped[cpu->hart].armed_ns != NEVER_NS)
        arm(cpu, stopped[cpu->hart].armed_ns);
    if (stopped[cpu->hart].irq_was_on)
        irq_on();
}

void clock_interrupt(void)
{
    struct cpu *cpu = mycpu();
    disarm(cpu);
    while (fire_one_due(cpu))
        ;
    if (!cpu->slice_ns)
        return;
    if (cpu->slice_ns > clock_ns()) {
        arm(cpu, cpu->slice_ns);
        return;
    }
    cpu->slice_ns = 0;
    cpu->reschedule = true;
}

void clock_hart_init(void)
{
    struct cpu *cpu = mycpu();
    cpu->timer_lock = SPINLOCK("timer", RANK_TIMER);
    list_init(&cpu->timers);
    disarm(cpu);
}

static u64 rtc_ns(void)
{
    if (!machine.rtc.phys)
        return 0;
    volatile u32 *rtc = virt_of(machine.rtc.phys);
    u64 low = rtc[RTC_LOW];
    return (u64)rtc[RTC_HIGH] << 32 | low;
}

void clock_init(void)
{
    if (arg_text("epoch"))
        boot_wall_ns = arg_number("epoch", 0, 0, MAX_EPOCH_S) * NS_PER_S;
    else
        boot_wall_ns = rtc_ns() - clock_ns();
}
