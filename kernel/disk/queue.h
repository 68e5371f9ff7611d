/* The disk queue as the disk layer fills and empties it; policy.h has what a
 * scheduler may ask. Caller holds the disk's lock. */
#ifndef SLUICE_QUEUE_H
#define SLUICE_QUEUE_H

#include "kernel/policy/policy.h"

void queue_init(struct queue *, u32 disk);
void queue_add(struct queue *,
               struct request *); /* sets queue, arrival, word */
void queue_take(struct queue *, struct request *); /* it leaves */

/* The scheduler has chosen an offer, and it goes now; NULL: it could not. */
void queue_goes(struct queue *, const struct request *);

/* When the last command is done, by the drive model. */
u64 queue_done_ns(const struct queue *);

static inline bool queue_empty(const struct queue *q)
{
    return q->length[0] + q->length[1] == 0;
}

#endif
