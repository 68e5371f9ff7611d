/*
 * Detours (policy.h): what to write before a request, by the model of the
 * drive.
 *
 * - To look takes time, and it is the request's. The platter gives some: an
 *   eighth of that may be spent, or what the caller allows. Each write is
 *   judged as if all of it had passed.
 * - Nearest first, by sector, up and down. Most would come under the head after
 *   the request: their own approach alone says so, and the rest of the question
 *   is not asked.
 * - Compiles natively, for tests of schedulers.
 *
 * Source: Lumb, Schindler, Ganger, Nagle and Riedel, "Towards Higher Disk Head
 * Utilization: Extracting Free Bandwidth From Busy Disk Drives", OSDI 2000.
 * They search the whole of both tracks and those between.
 */
#include "kernel/policy.h"

#define LOOK_SHARE 8

/* A search among the writes before a request. */
struct search {
    const struct queue *queue;
    const struct request *to;
    struct detour *detour;
    struct request *up, *down; /* the next to look at, on either side */
    u64 start_ns;              /* when a write would go */
    u64 alone_ns;              /* when the request would begin without one */
    /* The best so far: when it would begin, and then the request. */
    struct request *best;
    u64 best_ns, after_ns;
};

/* The nearest of those not looked at yet; NULL after the last. */
static struct request *nearest(struct search *s)
{
    const struct detour *d = s->detour;
    struct request *up = s->up, *down = s->down;
    if (up && (!down ||
               up->sector - d->near_sector <= d->near_sector - down->sector)) {
        s->up = queue_at_or_after(s->queue, d->dir, up->sector + 1);
        return up;
    }
    if (down)
        s->down = queue_before(s->queue, d->dir, down->sector);
    return down;
}

static bool better(const struct search *s, u64 after_ns, u64 begin_ns)
{
    return after_ns < s->after_ns ||
           (after_ns == s->after_ns && begin_ns < s->best_ns);
}

static void judge(struct search *s, struct request *write)
{
    const struct detour *d = s->detour;
    u64 late_ns = d->most_late_ns(write, d->late_ns);
    if (late_ns == NEVER_NS)
        return;
    u64 begin_ns =
        queue_approach(s->queue, s->start_ns, NULL, 0, write).begin_ns;
    if (begin_ns >= s->alone_ns + late_ns || !better(s, s->alone_ns, begin_ns))
        return;
    u64 after_ns =
        queue_approach(s->queue, s->start_ns, write, d->margin_ns, s->to)
            .begin_ns;
    if (after_ns > s->alone_ns + late_ns || !better(s, after_ns, begin_ns))
        return;
    s->best = write;
    s->best_ns = begin_ns;
    s->after_ns = after_ns;
}

struct request *queue_detour(const struct queue *q, const struct request *to,
                             struct detour *d)
{
    u64 now_ns = clock_ns();
    struct approach alone = queue_approach(q, now_ns, NULL, 0, to);
    if (alone.begin_ns == NEVER_NS)
        return NULL;
    u64 spare_ns = alone.begin_ns - alone.there_ns;
    u64 until_ns = now_ns + MAX(spare_ns / LOOK_SHARE, d->look_ns);
    struct search s = {
        .queue = q,
        .to = to,
        .detour = d,
        .up = queue_at_or_after(q, d->dir, d->near_sector),
        .down = queue_before(q, d->dir, d->near_sector),
        .start_ns = until_ns + d->margin_ns,
        .alone_ns = alone.begin_ns,
        .best_ns = NEVER_NS,
        .after_ns = NEVER_NS,
    };
    struct request *r;
    while (clock_ns() < until_ns && (r = nearest(&s)))
        judge(&s, r);
    d->begin_ns = s.after_ns;
    d->price_ns = s.after_ns - MIN(s.after_ns, s.alone_ns);
    return s.best;
}
