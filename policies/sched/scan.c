/*
 * SCAN, the elevator: the head serves the requests ahead of it in one
 * direction, and turns when none is left there. It does not go on to the edge
 * of the disk; this variant is also called LOOK. Requests near the edges wait
 * longer than those in the middle, which the head passes twice as often.
 *
 * Rising, it looks from where the last request ended; falling, below where it
 * started, so that a block written again and again does not hold up the sweep.
 * A request that is not ahead of that point is behind it, so one turn suffices.
 *
 * Source: Denning, "Effects of Scheduling on File Memory Operations", AFIPS
 * Spring Joint Computer Conference 1967.
 */
#include "kernel/policy/sched.h"

enum { TURNS };

static struct policy_counter counters[] = {
    {"turns", "turns", "times the head changed direction"},
    {0},
};

/* The words of a queue. */
enum { FALLING, LAST_START };

/* Return the nearest request in the direction of the sweep. */
static struct request *nearest_ahead(const struct queue *q, u64 from)
{
    if (!q->word[FALLING])
        return queue_at_or_after(q, BOTH, from);
    struct request *r = queue_before(q, BOTH, from);
    return r ? queue_at_or_after(q, BOTH, r->sector) /* the oldest of equals */
             : NULL;
}

static struct request *scan_next(struct queue *q, u64 now_ns)
{
    (void)now_ns;
    u64 from = q->word[FALLING] ? q->word[LAST_START] : q->head_sector;
    struct request *r = nearest_ahead(q, from);
    if (!r) {
        q->word[FALLING] = !q->word[FALLING];
        counters[TURNS].value++;
        r = nearest_ahead(q, from);
    }
    q->word[LAST_START] = r->sector;
    return r;
}

static const struct policy scan = {
    .kind = POLICY_SCHED,
    .name = "scan",
    .about = "elevator: up, then down, as far as there are requests",
    .counters = counters,
    .sched = {.next = scan_next},
};
POLICY(scan);
