/*
 * Spin locks, and keeping interrupts off. Locks that a process may hold while
 * it sleeps are in proc/sleep.h.
 *
 * - A spin lock is held with interrupts off and never across a sleep.
 * - Lock order: a lock may be taken only while every spin lock held has a
 *   smaller rank (enum lock_rank, outermost first). Debug builds check each
 *   acquisition and panic with both names.
 * - In the kernel the functions are inline (spin.h), because each call and each
 *   return costs QEMU a search for translated code, and in the twin, because
 *   they are short. A page has them in lock.c, and tests have their own.
 */
#pragma once

#include "kernel/machine/cpu.h"
#include "kernel/machine/panic.h"

#if defined __riscv || defined ONE_HART
#define LOCK_INLINE static inline
#include "kernel/machine/spin.h"
#else
void spin_lock(struct spinlock *);
void spin_unlock(struct spinlock *);
bool spin_held(const struct spinlock *); /* by this hart */

/* Interrupts off and on again, nesting. */
void irq_push_off(void);
void irq_pop_off(void);
#endif

HOLDER(spin, struct spinlock, spin_lock, spin_unlock) /* HOLD(spin, &lock) */
