/*
 * Virtual time (kernel/machine/clock.h): a number, which goes on in two ways.
 *
 * - spend() adds what the table of costs says that computing takes.
 * - When the hart has nothing to do, clock_wait() sets the time to that of the
 *   next timer.
 * A timer fires at the first tick that is not before its time, as the machine's
 * does: clock_ns() counts in steps of TICK_NS. The timers are a list, the
 * soonest first; of two with one time the first set is the first.
 */
#include "kernel/machine/clock.h"

#include "sluice/twin/hart.h"
#include "kernel/machine/args.h"
#include "kernel/machine/cpu.h"
#include "kernel/machine/panic.h"

#define TICK_NS  100UL
#define START_NS (NS_PER_S + 100 * NS_PER_US) /* as kernel/machine/clock.c */
#define EPOCH_S  1767225600UL /* 2026-01-01, when the machine is switched on */

static u64 now_ns = START_NS;
static u64 due_ns = NEVER_NS; /* interrupt_ns */
static u64 boot_wall_ns;
static struct list timers = {&timers, &timers};

u64 clock_ns(void)
{
    return now_ns - now_ns % TICK_NS;
}

bool clock_is_virtual(void)
{
    return true;
}

u64 clock_wall_ns(void)
{
    return boot_wall_ns + clock_ns();
}

static struct timer *first_timer(void)
{
    struct list *first = list_first(&timers);
    return first ? LIST_ITEM(first, struct timer, link) : NULL;
}

static u64 tick_of(u64 when_ns)
{
    return when_ns > NEVER_NS - TICK_NS
               ? NEVER_NS
               : (when_ns + TICK_NS - 1) / TICK_NS * TICK_NS;
}

static void find_due(void)
{
    struct timer *t = first_timer();
    u64 slice_ns = mycpu()->slice_ns;
    due_ns = t ? tick_of(t->when_ns) : NEVER_NS;
    if (slice_ns)
        due_ns = MIN(due_ns, tick_of(slice_ns));
}

u64 interrupt_ns(void)
{
    return due_ns;
}

void timer_set(struct timer *t, u64 when_ns, void (*fire)(void *), void *arg)
{
    assert(!t->cpu);
    *t = (struct timer){
        .when_ns = when_ns, .fire = fire, .arg = arg, .cpu = mycpu()};
    struct list *at = &timers;
    while (at->prev != &timers &&
           LIST_ITEM(at->prev, struct timer, link)->when_ns > when_ns)
        at = at->prev;
    list_insert_before(at, &t->link);
    find_due();
}

bool timer_cancel(struct timer *t)
{
    if (!t->cpu)
        return false;
    list_remove(&t->link);
    t->cpu = NULL;
    find_due();
    return true;
}

void clock_set_slice(u64 when_ns)
{
    mycpu()->slice_ns = when_ns;
    find_due();
}

void clock_interrupt(void)
{
    struct timer *t;
    struct cpu *cpu = mycpu();
    while ((t = first_timer()) && tick_of(t->when_ns) <= now_ns) {
        timer_cancel(t);
        t->fire(t->arg);
    }
    if (cpu->slice_ns && tick_of(cpu->slice_ns) <= now_ns) {
        cpu->reschedule = true;
        clock_set_slice(0);
    }
}

void spend(u64 ns)
{
    u64 end_ns = now_ns + ns;
    while (due_ns <= end_ns && hart_registers.sstatus & SSTATUS_SIE) {
        now_ns = MAX(now_ns, due_ns);
        u64 before_ns = now_ns;
        interrupt_kernel();
        end_ns += now_ns - before_ns;
    }
    now_ns = end_ns;
}

void clock_wait(void)
{
    if (due_ns == NEVER_NS)
        panic("twin: every process waits, and no timer is set");
    now_ns = MAX(now_ns, due_ns);
}

void clock_init(void)
{
    boot_wall_ns = arg_number("epoch", EPOCH_S, 0, ~0UL) * NS_PER_S;
}

void clock_hart_init(void)
{
}

/* Data is moved at once: nothing takes time, and nothing is to be waited for.
 */
void clock_was_set(void)
{
}

void clock_stop(void)
{
    panic("twin: a disk is no RAM disk");
}

void clock_go(void)
{
}
