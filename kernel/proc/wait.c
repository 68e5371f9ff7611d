/* Wait queues (sleep.h). A process is in at most one queue, so its node is a
 * part of the process. Once it is off the queue, it has the resource. */
#include "kernel/proc/proc.h"

void wait_queue_init(struct wait_queue *q)
{
    list_init(&q->waiters);
}

/* Wait until it is this process's turn. lk, which guards the queue, is released
 * meanwhile. */
void wait_queue_join(struct wait_queue *q, struct spinlock *lk)
{
    struct list *place = &myproc()->wait;
    list_push_back(&q->waiters, place);
    while (list_on(place))
        sleep_on(place, lk);
}

/* Take the first off the queue and wake it. Return that process. */
struct proc *wait_queue_wake_first(struct wait_queue *q)
{
    struct list *place = list_pop_front(&q->waiters);
    wakeup(place);
    return LIST_ITEM(place, struct proc, wait);
}
