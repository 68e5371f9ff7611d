/*
 * FCFS, first come, first served: requests go in the order they were queued.
 * Fair, and the head moves as far as it likes.
 */
#include "kernel/policy/sched.h"

static struct request *fcfs_next(struct queue *q, u64 now_ns)
{
    (void)now_ns;
    return queue_oldest(q, BOTH);
}

static const struct policy fcfs = {
    .kind = POLICY_SCHED,
    .name = "fcfs",
    .about = "first come, first served",
    .sched = {.next = fcfs_next},
};
POLICY(fcfs);
