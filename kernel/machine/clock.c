/*
 * Time, and the one-shot timers of each hart.
 *
 * There are two clocks, and a boot chooses one of them.
 *
 * - *Counted*: the hardware's counter (counter.c). In lab mode it counts
 *   instructions, otherwise real time.
 * - *Charged*, with the boot argument charged_ns: a number, kept here, of the
 *   one hart. clock_spend() adds to it what computing costs by a table
 *   (kernel/measure/cost.h), and where the hart would wait it jumps to the next
 *   timer. So time does not depend on which instructions a compiler makes.
 *
 * The timers are the same for both.
 *
 * - A hart's timers are a list, the soonest first, under its timer_lock.
 *   slice_ns and armed_ns are the hart's own, touched with interrupts off.
 * - The interrupt is to come at armed_ns, which is not later than the soonest
 *   timer and the slice's end. It may be earlier: when a timer is cancelled or
 *   a slice put off, a needless interrupt costs less than arming anew each
 *   time. armed_ns is NEVER_NS when no interrupt is to come.
 * - Before a timer's function is called, the timer is off its list and its cpu
 *   is NULL; afterwards the clock does not touch it. So its owner may reuse or
 *   free it.
 */
#include "kernel/machine/clock.h"

#include "kernel/machine/args.h"
#include "kernel/machine/counter.h"
#include "kernel/machine/lock.h"

#define MAX_EPOCH_S   10000000000UL /* 2286: in ns it fits 64 bits */
#define CHARGED_EPOCH 1767225600UL  /* 2026-01-01 */

bool clock_charged;
u64 charged_ns = NS_PER_S; /* the charged clock's time */
u64 armed_ns[MAX_HARTS];
u64 boot_wall_ns; /* wall time when clock_ns was 0 */

/* The state that clock_go restores. */
static struct {
    u64 armed_ns;
    bool irq_was_on;
} stopped[MAX_HARTS];

u64 clock_ns(void)
{
    return clock_charged ? charged_ns : counter_ns();
}

/* True if time is counted in instructions, or charged. */
bool clock_is_virtual(void)
{
    return clock_charged || counter_is_virtual();
}

u64 clock_wall_ns(void)
{
    return boot_wall_ns + clock_ns();
}

/* ---- the interrupt ---- */

/* See that an interrupt comes no later than when_ns. Interrupts are off. */
static void arm(struct cpu *cpu, u64 when_ns)
{
    if (armed_ns[cpu->hart] <= when_ns)
        return;
    armed_ns[cpu->hart] = when_ns;
    if (!clock_charged)
        counter_alarm(when_ns);
    else if (when_ns <= charged_ns)
        counter_ring();
}

/* Have no timer interrupt come on this hart. */
static void disarm(struct cpu *cpu)
{
    armed_ns[cpu->hart] = NEVER_NS;
    counter_quiet();
}

/* Return when this hart's timer interrupt is to come, or NEVER_NS. */
u64 clock_due_ns(void)
{
    return armed_ns[mycpu()->hart];
}

/* Add ns to charged time, past armed_ns. An interrupt that comes meanwhile is
 * taken at its time, if interrupts are on, and what it spends comes on top.
 * Else it waits until they are. */
void clock_spend_past(u64 ns)
{
    while (armed_ns[0] <= charged_ns + ns && irq_is_on()) {
        u64 before_ns = MAX(armed_ns[0], charged_ns) - charged_ns;
        ns -= before_ns;
        charged_ns += before_ns;
        counter_ring(); /* it comes here */
    }
    charged_ns += ns;
    if (armed_ns[0] <= charged_ns)
        counter_ring();
}

/* Wait for an interrupt. Charged time jumps to the next timer at once. */
void clock_wait(void)
{
    u64 due_ns = clock_due_ns();
    if (!clock_charged || due_ns == NEVER_NS) {
        counter_wait(due_ns);
        return;
    }
    charged_ns = MAX(charged_ns, due_ns);
    counter_ring();
}

/* ---- timers ---- */

/* Call fire(arg) on this hart at the given time, from an interrupt. The list
 * stays in the order of time. */
void timer_set(struct timer *t, u64 when_ns, void (*fire)(void *), void *arg)
{
    irq_push_off();
    struct cpu *cpu = mycpu();
    HOLD(spin, &cpu->timer_lock);
    assert(!t->cpu);
    *t = (struct timer){.when_ns = when_ns,
                        .fire = fire,
                        .arg = arg,
                        .cpu = cpu,
                        .free = t->free};
    struct list *at = cpu->timers.next;
    while (at != &cpu->timers &&
           LIST_ITEM(at, struct timer, link)->when_ns <= when_ns)
        at = at->next;
    list_insert_before(at, &t->link);
    arm(cpu, when_ns);
    irq_pop_off();
}

/* Take a timer off its hart's list. Caller holds t->cpu->timer_lock. */
static void unset(struct timer *t)
{
    list_remove(&t->link);
    __atomic_store_n(&t->cpu, NULL, __ATOMIC_RELEASE);
}

/* Cancel a timer. False: it was not set, or is being called right now. */
bool timer_cancel(struct timer *t)
{
    struct cpu *cpu;
    while ((cpu = __atomic_load_n(&t->cpu, __ATOMIC_ACQUIRE))) {
        HOLD(spin, &cpu->timer_lock);
        if (t->cpu != cpu) /* it has fired meanwhile */
            continue;
        unset(t);
        return true;
    }
    return false;
}

/* Have the process on this hart give it up at this time; 0: it need not. */
void clock_set_slice(u64 when_ns)
{
    struct cpu *cpu = mycpu();
    cpu->slice_ns = when_ns;
    if (when_ns)
        arm(cpu, when_ns);
}

/* Return when this hart's next timer is due, or NEVER_NS. */
u64 clock_next_ns(void)
{
    struct cpu *cpu = mycpu();
    HOLD(spin, &cpu->timer_lock);
    struct timer *t =
        ITEM_OR_NULL(list_first(&cpu->timers), struct timer, link);
    return t ? t->when_ns : NEVER_NS;
}

/* Fire the first timer if it is due; else see that an interrupt comes when it
 * is. Returns whether one fired. *work: one of them is not free. */
static bool fire_one_due(struct cpu *cpu, bool *work)
{
    spin_lock(&cpu->timer_lock);
    struct timer *t =
        ITEM_OR_NULL(list_first(&cpu->timers), struct timer, link);
    if (!t || t->when_ns > clock_ns()) {
        if (t)
            arm(cpu, t->when_ns);
        spin_unlock(&cpu->timer_lock);
        return false;
    }
    void (*fire)(void *) = t->fire;
    void *arg = t->arg;
    *work |= !t->free;
    unset(t);
    spin_unlock(&cpu->timer_lock);
    fire(arg);
    return true;
}

/* Call all timers that are due, and end the slice if it is over. True if there
 * was work, or no timer was due. */
bool clock_interrupt(void)
{
    struct cpu *cpu = mycpu();
    disarm(cpu);
    bool work = false, fired = false;
    while (fire_one_due(cpu, &work))
        fired = true;
    work |= !fired;
    if (!cpu->slice_ns)
        return work;
    if (cpu->slice_ns > clock_ns()) {
        arm(cpu, cpu->slice_ns);
        return work;
    }
    cpu->slice_ns = 0;
    cpu->reschedule = true;
    return true;
}

/* ---- disks of lab mode ---- */

/* Arm anew after machine mode has set the clock a little back: else the next
 * timer interrupt would come late. */
void clock_was_set(void)
{
    if (clock_charged)
        return;
    irq_push_off();
    if (clock_due_ns() != NEVER_NS)
        counter_alarm(clock_due_ns());
    irq_pop_off();
}

/* Stop the time of this hart, and remember what was armed (clock_go). */
void clock_stop(void)
{
    bool irq_was_on = irq_off();
    struct cpu *cpu = mycpu();
    stopped[cpu->hart].irq_was_on = irq_was_on;
    stopped[cpu->hart].armed_ns = armed_ns[cpu->hart];
    if (!clock_charged)
        counter_stop();
    disarm(cpu);
}

/* While the time stands still: wait for a device's interrupt. */
void clock_rest(void)
{
    counter_rest();
}

/* Let the time go on where clock_stop has stopped it. */
void clock_go(void)
{
    struct cpu *cpu = mycpu();
    if (stopped[cpu->hart].armed_ns != NEVER_NS)
        arm(cpu, stopped[cpu->hart].armed_ns);
    if (stopped[cpu->hart].irq_was_on)
        irq_on();
}

/* ---- set-up ---- */

/* At boot: make this hart's empty list of timers. */
void clock_hart_init(void)
{
    struct cpu *cpu = mycpu();
    cpu->timer_lock = SPINLOCK("timer", RANK_TIMER);
    list_init(&cpu->timers);
    disarm(cpu);
    counter_hart_init();
}

/* At boot: choose the clock, and find the time of day. */
void clock_init(void)
{
    clock_charged = arg_text("charged_ns");
    if (clock_charged && machine.nharts > 1)
        boot_fail("charged_ns: charged time is the time of one hart");
    counter_init(!clock_charged);
    if (arg_text("epoch"))
        boot_wall_ns = arg_number("epoch", 0, 0, MAX_EPOCH_S) * NS_PER_S;
    else if (clock_charged)
        boot_wall_ns = CHARGED_EPOCH * NS_PER_S;
    else
        boot_wall_ns = counter_boot_wall_ns();
}
