/*
 * C-LOOK, the circular elevator: the head serves requests in one direction
 * only, by rising sector; past the last one it returns to the lowest. Every
 * request is passed once in a sweep, so none starves as long as the sweep
 * ends. C-SCAN (cscan.c) moves on to the edge of the disk before it returns.
 *
 * Source: the one-way elevator of 4.3BSD's disksort; compared with others by
 * Worthington, Ganger and Patt, SIGMETRICS 1994.
 */
#include "kernel/policy/sched.h"

enum { RETURNS };

static struct policy_counter counters[] = {
    {"returns", "sweeps", "times the head went back to the lowest request"},
    {0},
};

static struct request *clook_next(struct queue *q, u64 now_ns)
{
    (void)now_ns;
    struct request *r = queue_at_or_after(q, BOTH, q->head_sector);
    if (r)
        return r;
    counters[RETURNS].value++;
    return queue_at_or_after(q, BOTH, 0);
}

static const struct policy clook = {
    .kind = POLICY_SCHED,
    .name = "clook",
    .about = "circular elevator: by rising sector, then back to the lowest",
    .counters = counters,
    .sched = {.next = clook_next},
};
POLICY(clook);
