/* The disk queue as the disk layer fills and empties it; sched.h has what a
 * scheduler may ask. Caller holds the disk's lock. */
#pragma once

#include "kernel/policy/sched.h"

void queue_init(struct queue *, u32 disk);
void queue_add(struct queue *,
               struct request *); /* sets queue, arrival, word */
void queue_take(struct queue *, struct request *); /* remove it */

/* Note that a command goes to the drive because the scheduler chose it. */
void queue_dispatched(struct queue *, const struct request *, u64 now_ns);

/* queue_at_or_after, queue_before and queue_oldest (sched.h) for the kernel's
 * own use: no time is charged for them. */
struct request *queue_find_from(const struct queue *, enum direction, u64);
struct request *queue_find_before(const struct queue *, enum direction, u64);
struct request *queue_find_oldest(const struct queue *, enum direction);

/* True if no request waits. Candidates do not count. */
static inline bool queue_empty(const struct queue *q)
{
    return q->length[SET_READS] + q->length[SET_WRITES] == 0;
}
