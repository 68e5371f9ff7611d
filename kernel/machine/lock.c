/*
 * Spin locks: what seldom happens (spin.h has the rest), and the lock order,
 * checked in debug builds. lock.h has the contract.
 *
 * - Debug builds chain the locks a hart holds, innermost first, from
 *   cpu.locks through spinlock.outer. Both belong to the holding hart.
 */
#include "kernel/machine/lock.h"

#ifndef LOCK_INLINE
#define LOCK_INLINE
#include "kernel/machine/spin.h"
#endif

/* Wait for a lock that is held, and take it. The holder may be this hart only
 * if it holds the lock: no other hart writes this hart's address there. */
void spin_wait(struct spinlock *l)
{
    if (spin_held(l))
        panic("spin_lock: %s is held already", l->name);
    do
        while (__atomic_load_n(&l->locked, __ATOMIC_RELAXED))
            panicking();
    while (__atomic_exchange_n(&l->locked, 1, __ATOMIC_ACQUIRE));
}

/* Handle an interrupt that came while interrupts were off. */
void irq_let_in(struct cpu *c)
{
    c->irq_waiting = false;
    irq_on();
}

/* Check the order of locks, and chain the lock to those held. */
void lock_taken(struct cpu *c, struct spinlock *l)
{
    const struct spinlock *outer = c->locks;
    if (outer && outer->rank >= l->rank)
        panic("lock order: %s taken with %s held", l->name, outer->name);
    l->outer = c->locks;
    c->locks = l;
}

/* Take the lock off the chain. It need not be the innermost. */
void lock_given(struct cpu *c, struct spinlock *l)
{
    struct spinlock **at = &c->locks;
    while (*at != l)
        at = &(*at)->outer;
    *at = l->outer;
}
