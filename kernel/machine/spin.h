/*
 * What every use of a spin lock executes (lock.h). Rare cases are in lock.c.
 *
 * - A hart's irq_depth counts its reasons to keep interrupts off; each spin
 *   lock held is one. The processor's own switch, sstatus.SIE, stays on
 *   meanwhile, because changing it costs more in QEMU than all the rest of a
 *   lock. An interrupt that comes is not handled: trap.c turns the switch off
 *   and sets irq_waiting, and irq_pop_off turns the switch on again.
 */
#pragma once

/* lock.c: wait for a lock that is held; let a waiting interrupt in, by an
 * instruction that a lab's files may not have; in debug builds, check the order
 * of the locks held, and note which they are. */
void spin_wait(struct spinlock *);
void irq_let_in(struct cpu *);
void lock_taken(struct cpu *, struct spinlock *);
void lock_given(struct cpu *, struct spinlock *);

/* Interrupts off and on again, nesting. */
LOCK_INLINE void irq_push_off(void)
{
    mycpu()->irq_depth++;
    compiler_barrier();
}

LOCK_INLINE void irq_pop_off(void)
{
    struct cpu *c = mycpu();
    debug_assert(c->irq_depth > 0);
    compiler_barrier();
    u32 depth = --c->irq_depth;
    compiler_barrier();
    if (depth == 0 && c->irq_waiting)
        irq_let_in(c);
}

/* True if this hart holds the lock. */
LOCK_INLINE bool spin_held(const struct spinlock *l)
{
    return l->locked && l->holder == mycpu();
}

LOCK_INLINE void spin_lock(struct spinlock *l)
{
    irq_push_off();
    struct cpu *c = mycpu();
    if (__atomic_exchange_n(&l->locked, 1, __ATOMIC_ACQUIRE))
        spin_wait(l);
    l->holder = c;
    if (CHECKED)
        lock_taken(c, l);
}

LOCK_INLINE void spin_unlock(struct spinlock *l)
{
    if (!spin_held(l))
        panic("spin_unlock: %s is not held", l->name);
    if (CHECKED)
        lock_given(mycpu(), l);
    l->holder = NULL;
    __atomic_store_n(&l->locked, 0, __ATOMIC_RELEASE);
    irq_pop_off();
}
