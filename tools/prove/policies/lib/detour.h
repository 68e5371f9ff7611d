/*
 * The detours of policies/lib/detour.h without a search: any write of the sets
 * asked about may be the answer that its policy lets go, and so may none, for
 * any price that the policy allows. CBMC would have to follow the model of the
 * drive for each of them. tests/policies/lib/detour_proof_test.c holds the
 * kernel's answers against detour_may_be.
 */
#ifndef SLUICE_LIB_DETOUR_H
#define SLUICE_LIB_DETOUR_H

#include "kernel/policy/sched.h"
#ifdef __CPROVER__
#include "tools/prove/harness/harness.h"
#endif

struct detour {
    enum direction dir;
    u64 near_sector;
    u64 (*most_late_ns)(const struct request *write, u64 late_ns);
    u64 late_ns;
    u64 begin_ns, price_ns;
};

/* True if the search may have this answer and this price. */
static inline bool detour_may_be(const struct queue *q, const struct request *r,
                                 const struct detour *d)
{
    if (!r)
        return true;
    enum direction set = r->candidate ? CANDIDATES : r->write ? WRITES : READS;
    if (!q->turn_ns || r->queue != q || !(set & d->dir))
        return false;
    u64 late_ns = d->most_late_ns(r, d->late_ns);
    return late_ns != NEVER_NS && d->price_ns <= late_ns &&
           d->begin_ns < NEVER_NS;
}

static inline struct request *queue_detour(const struct queue *q,
                                           const struct request *to,
                                           struct detour *d)
{
    u64 which = any_below(REQUESTS + 1);
    CLAIM(to && to->queue == q, "a detour is on the way to a queued request");
    clock_ns();
    for (u64 i = 0; i < REQUESTS; i++) {
        if (which != i)
            continue;
        u64 any_ns, any_price_ns;
        d->begin_ns = any_ns;
        d->price_ns = any_price_ns;
        ASSUME(detour_may_be(q, requests[i], d));
        return requests[i];
    }
    return NULL;
}

static inline void detours_start(void)
{
}

#endif
