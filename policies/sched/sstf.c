/*
 * SSTF, shortest seek time first: the next request is the one whose first
 * sector is nearest to the head. Of two at the same distance the lower goes
 * first. Of two that start at one sector a read goes before a write, or else
 * the older first. The mean seek is short, but a request far from where others
 * keep coming may wait without bound.
 *
 * Source: Denning, "Effects of Scheduling on File Memory Operations", AFIPS
 * Spring Joint Computer Conference 1967.
 */
#include "kernel/policy/sched.h"

enum { PASSED_OVER };

static struct policy_counter counters[] = {
    {"passed_over", "requests", "choices that were not the oldest request"},
    {0},
};

/* Return the request whose first sector is nearest to the head; of two, the
 * lower. */
static struct request *nearest(const struct queue *q)
{
    u64 head = q->head_sector;
    struct request *up = queue_at_or_after(q, BOTH, head);
    struct request *down = queue_before(q, BOTH, head);
    if (!down || (up && up->sector - head < head - down->sector))
        return up;
    return queue_at_or_after(q, BOTH, down->sector); /* the oldest of equals */
}

static struct request *sstf_next(struct queue *q, u64 now_ns)
{
    (void)now_ns;
    struct request *r = nearest(q);
    counters[PASSED_OVER].value += r != queue_oldest(q, BOTH);
    return r;
}

static const struct policy sstf = {
    .kind = POLICY_SCHED,
    .name = "sstf",
    .about = "shortest seek first, by distance in sectors",
    .counters = counters,
    .sched = {.next = sstf_next},
};
POLICY(sstf);
