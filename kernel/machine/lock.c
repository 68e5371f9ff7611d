/*
 * Spin locks, with the lock order checked in debug builds. lock.h has the
 * contract.
 *
 * - A hart's irq_depth counts its reasons to keep interrupts off; each spin
 *   lock held is one. The processor's own switch, sstatus.SIE, stays on
 *   meanwhile, because changing it costs more in QEMU than all the rest of a
 *   lock. An interrupt that comes is not handled: trap.c turns the switch off
 *   and sets irq_waiting, and irq_pop_off turns the switch on again.
 * - Debug builds chain the locks a hart holds, innermost first, from
 *   cpu.locks through spinlock.outer. Both belong to the holding hart.
 */
#include "kernel/machine/lock.h"
#include "kernel/machine/cpu.h"

void irq_push_off(void)
{
    mycpu()->irq_depth++;
    compiler_barrier();
}

inline void irq_pop_off(void)
{
    struct cpu *c = mycpu();
    assert(c->irq_depth > 0);
    compiler_barrier();
    c->irq_depth--;
    compiler_barrier();
    if (c->irq_depth > 0 || !c->irq_waiting)
        return;
    c->irq_waiting = false;
    irq_on();
}

#ifdef DEBUG
static void check_order(const struct cpu *c, const struct spinlock *l)
{
    const struct spinlock *outer = c->locks;
    if (outer && outer->rank >= l->rank)
        panic("lock order: %s taken with %s held", l->name, outer->name);
}

static void chain(struct cpu *c, struct spinlock *l)
{
    l->outer = c->locks;
    c->locks = l;
}

static void unchain(struct cpu *c, struct spinlock *l)
{
    struct spinlock **at = &c->locks;
    while (*at != l)
        at = &(*at)->outer;
    *at = l->outer;
}
#else
#define check_order(c, l) ((void)0)
#define chain(c, l)       ((void)0)
#define unchain(c, l)     ((void)0)
#endif

void spin_lock(struct spinlock *l)
{
    irq_push_off();
    struct cpu *c = mycpu();
    if (spin_held(l))
        panic("spin_lock: %s is held already", l->name);
    check_order(c, l);
    while (__atomic_exchange_n(&l->locked, 1, __ATOMIC_ACQUIRE))
        while (__atomic_load_n(&l->locked, __ATOMIC_RELAXED))
            panicking();
    l->holder = c;
    chain(c, l);
}

void spin_unlock(struct spinlock *l)
{
    if (!spin_held(l))
        panic("spin_unlock: %s is not held", l->name);
    unchain(mycpu(), l);
    l->holder = NULL;
    __atomic_store_n(&l->locked, 0, __ATOMIC_RELEASE);
    irq_pop_off();
}

inline bool spin_held(const struct spinlock *l)
{
    return l->locked && l->holder == mycpu();
}
