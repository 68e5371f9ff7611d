/* The disk queue as the disk layer fills and empties it; policy.h has what a
 * scheduler may ask. Caller holds the disk's lock. */
#ifndef SLUICE_QUEUE_H
#define SLUICE_QUEUE_H

#include "kernel/policy/policy.h"

void queue_init(struct queue *, u32 disk);
void queue_add(struct queue *,
               struct request *); /* sets queue, arrival, word */
void queue_take(struct queue *, struct request *); /* it leaves */

/* A command goes to the drive by this choice of the scheduler's. */
void queue_dispatched(struct queue *, const struct request *, u64 now_ns);

static inline bool queue_empty(const struct queue *q)
{
    return q->length[SET_READS] + q->length[SET_WRITES] == 0;
}

#endif
