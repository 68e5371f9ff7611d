/* Sleep locks (sleep.h): a spin lock guards the holder and the wait queue. */
#include "kernel/proc/proc.h"

void sleep_lock_init(struct sleeplock *l, const char *name)
{
    *l = (struct sleeplock){.guard = SPINLOCK(name, RANK_SLEEPLOCK),
                            .name = name};
    wait_queue_init(&l->waiters);
}

/* Take the lock, after all who came before. A waiter finds itself the
 * holder. */
void sleep_lock(struct sleeplock *l)
{
    assert(mycpu()->irq_depth == 0);
    assert(!sleep_held(l));
    HOLD(spin, &l->guard);
    if (l->holder)
        wait_queue_join(&l->waiters, &l->guard);
    else
        l->holder = myproc();
}

/* Give the lock to the first who waits; if none does, it is free. */
void sleep_unlock(struct sleeplock *l)
{
    assert(sleep_held(l));
    HOLD(spin, &l->guard);
    l->holder = wait_queue_hand_off(&l->waiters);
}

bool sleep_held(const struct sleeplock *l)
{
    return l->holder == myproc();
}
