/*
 * The requests of a queue, which come and leave as kernel/disk does it, and the
 * policy is told. Included after the policy.
 *
 * - Requests may be neighbours, and then one command may have both. A raw
 *   request may overlap others. With OVERTAKEN there is none, since a block has
 *   one buffer.
 * - A candidate is of a block that became dirty at any time before.
 */
#pragma once

#include "tools/prove/harness/begin.h"
#include "tools/prove/harness/disk.h"

enum { SECTORS = 3 };

static struct queue *const q = &disk_queue;
static u64 overtaken[REQUESTS];

static bool try_waits(void)
{
    return q->length[SET_READS] + q->length[SET_WRITES];
}

/* Return true if the policy is told of this request. */
static bool try_tells(const struct request *r)
{
    return !r->candidate || subject->sched.takes_candidates;
}

static void try_enter(u64 i)
{
    struct request *r = requests[i];
    r->word[0] = r->word[1] = 0;
    r->arrival = q->arrivals++;
    r->queue = q;
    q->length[model_set_of(r)]++;
    overtaken[i] = 0;
    TELL("request {} arrives at {} ns: sector {}, write {}, candidate {}", i,
         time_ns, r->sector, r->write, r->candidate);
    if (subject->sched.queued && try_tells(r))
        subject->sched.queued(q, r, clock_ns());
}

/* Take a request out of the queue. */
static void try_leave(u64 i)
{
    struct request *r = requests[i];
    if (subject->sched.leaves && try_tells(r))
        subject->sched.leaves(q, r, clock_ns());
    q->length[model_set_of(r)]--;
    r->queue = NULL;
}

/* True if both are one request, or have a sector in common. */
static bool try_overlap(const struct request *x, const struct request *y)
{
    return x->sector < y->sector + y->nsectors &&
           y->sector < x->sector + x->nsectors;
}

/* Queue any request that the kernel may queue. */
static void try_arrive(u64 i)
{
    struct request *r = requests[i];
    *r = (struct request){.sector = any_below(SECTORS),
                          .nsectors = 1 + any_below(2),
                          .write = any_bool(),
                          .waited = any_bool(),
                          .candidate = any_bool(),
                          .again = any_bool(),
                          .pid = any_below(3),
                          .queued_ns = time_ns};
    ASSUME(r->sector + r->nsectors <= SECTORS);
    ASSUME(r->write || (!r->candidate && r->waited));
    ASSUME(!r->candidate || !r->waited);
    if (r->candidate) /* it became dirty before */
        r->queued_ns -= any_below(MIN(time_ns, MOST_STEP_NS));
#ifdef OVERTAKEN /* a block has one buffer; a raw request may overlap it */
    for (u64 k = 0; k < REQUESTS; k++)
        ASSUME(!requests[k]->queue || !try_overlap(requests[k], r));
#else
    r->raw = !r->candidate && any_bool();
#endif
    try_enter(i);
}

/* The request is queued before or after another, which goes with it. */
static void try_join(const struct request *r)
{
    for (u64 k = 0; k < REQUESTS; k++) {
        struct request *other = requests[k];
        if (other->queue && !other->candidate && other->write == r->write &&
            (other->sector == r->sector + r->nsectors ||
             other->sector + other->nsectors == r->sector) &&
            any_bool())
            try_leave(k);
    }
}
