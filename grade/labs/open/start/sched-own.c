/*
 * Yours. So far first come, first served.
 */
#include "kernel/policy/sched.h"

static struct request *own_next(struct queue *q, u64 now_ns)
{
    (void)now_ns;
    return queue_oldest(q, BOTH);
}

static const struct policy own = {
    .kind = POLICY_SCHED,
    .name = "own",
    .about = "so far first come, first served",
    .sched = {.next = own_next},
};
POLICY(own);
