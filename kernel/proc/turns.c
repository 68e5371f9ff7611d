/* Turns (sleep.h). A process is in at most one queue, so its node is a part of
 * the process. Once it is off the queue, it has the resource. */
#include "kernel/proc/proc.h"

void turns_init(struct turns *t)
{
    list_init(&t->line);
}

void turns_wait(struct turns *t, struct spinlock *lk)
{
    struct list *place = &myproc()->turn;
    list_push_back(&t->line, place);
    while (list_on(place))
        sleep_on(place, lk);
}

struct proc *turns_give(struct turns *t)
{
    struct list *place = list_pop_front(&t->line);
    if (place)
        wakeup(place);
    return ITEM_OR_NULL(place, struct proc, turn);
}
