/*
 * SATF, shortest access time first: the next request is the one whose first
 * sector the head reaches soonest, by seek and rotation. SSTF (sstf.c)
 * considers only the seek, but in modern drives the rotation takes as long.
 *
 * Pure SATF starves a request that is far from where others keep coming. So
 * ASATF, aged SATF, chooses the request with the least
 *
 *     access time - ageing * time waited
 *
 * and of equal ones the lowest sector. With ageing 0 this is SATF; a larger
 * ageing brings the order nearer to that of arrival. Of requests that start at
 * one sector a read goes before a write, or else the older first.
 *
 * The access times are the drive model's, so the policy refuses a machine
 * without one; on a disk without a model the oldest goes. Each choice looks at
 * all that is queued.
 *
 * Sources: Jacobson and Wilkes, "Disk Scheduling Algorithms Based on Rotational
 * Position", HPL-CSP-91-7, 1991; Seltzer, Chen and Ousterhout, "Disk Scheduling
 * Revisited", USENIX Winter 1990, where the time waited is a factor and not a
 * difference. The difference, in thousandths, is that of DiskSim (ASATF_OPT);
 * the default of ageing is ours.
 */
#include "kernel/policy/sched.h"

enum { AGEING };

static struct tunable tunables[] = {
    {"ageing", "thousandths", 6, 0, 1000000,
     "of the time waited count in a request's favour; 0: may starve"},
    {0},
};

enum { PASSED_OVER, AGED };

static struct policy_counter counters[] = {
    {"passed_over", "requests", "choices that were not the oldest request"},
    {"aged", "requests", "choices that another would have been without ageing"},
    {0},
};

/* The best request so far, with ageing and without. */
struct choice {
    struct request *best, *soonest;
    i64 best_ns;
    u64 soonest_ns;
};

/* Compare a request with the best so far. Each us of age counts as `ageing` ns
 * gained. */
static void look_at(struct choice *c, const struct queue *q, struct request *r,
                    u64 now_ns)
{
    u64 begin_ns = queue_approach(q, now_ns, NULL, 0, r).begin_ns;
    if (begin_ns == NEVER_NS)
        return;
    u64 waited_ns = now_ns - MIN(now_ns, r->queued_ns);
    i64 ns = begin_ns - waited_ns / 1000 * tunables[AGEING].value;
    if (!c->best || ns < c->best_ns) {
        c->best = r;
        c->best_ns = ns;
    }
    if (!c->soonest || begin_ns < c->soonest_ns) {
        c->soonest = r;
        c->soonest_ns = begin_ns;
    }
}

/* Look at one request of each start sector. */
static struct request *satf_next(struct queue *q, u64 now_ns)
{
    struct choice c = {0};
    struct request *oldest = queue_oldest(q, BOTH);
    struct request *r = queue_at_or_after(q, BOTH, 0);
    for (; r; r = queue_at_or_after(q, BOTH, r->sector + 1))
        look_at(&c, q, r, now_ns);
    if (!c.best)
        return oldest;
    counters[AGED].value += c.best != c.soonest;
    counters[PASSED_OVER].value += c.best != oldest;
    return c.best;
}

static const char *satf_refuses(void)
{
    struct disk_state s;
    for (u32 disk = 0; disk_state(disk, &s); disk++) {
        if (s.modelled)
            return NULL;
    }
    return "no disk has a drive model, which alone knows the access times";
}

static const struct policy satf = {
    .kind = POLICY_SCHED,
    .name = "satf",
    .about = "shortest access time first, by seek and rotation, with ageing",
    .tunables = tunables,
    .counters = counters,
    .refuses = satf_refuses,
    .sched = {.next = satf_next},
};
POLICY(satf);
