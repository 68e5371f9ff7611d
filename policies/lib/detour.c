/*
 * Detours (detour.h): which write to do before a request, by the model of the
 * drive.
 *
 * - Searching delays the request, so the search may use only a sixteenth of
 *   the rotational slack. Each write is judged as if all of this time had
 *   passed.
 * - Dispatch takes time, too. Before a write the search ends, a dirty block
 *   must be taken and its command made; before the request after it, the end
 *   of the write must be noticed and the scheduler asked. A command that comes
 *   too late waits for a turn of the platter. So both latencies are measured,
 *   and every write is judged by their recent maximum plus 25 %. If the slack
 *   is less than both together, no write is free; then, of the writes that may
 *   delay the request, only one is looked at.
 * - Writes are looked at nearest first, by sector, on both sides. Most of them
 *   would come under the head after the request; their own approach shows
 *   that, and the second half of the model's work is saved.
 * - This file compiles natively, for tests of schedulers.
 *
 * Source: Lumb, Schindler, Ganger, Nagle and Riedel, "Towards Higher Disk Head
 * Utilization: Extracting Free Bandwidth From Busy Disk Drives", OSDI 2000.
 * They search all of both tracks and of the tracks between.
 */
#include "policies/lib/detour.h"

#define LOOK_SHARE 16
#define FADES      8192 /* searches in which a maximum fades */

static struct lateness latenesses[MAX_DISKS];

/* ---- dispatch latency ---- */

/* Return what was measured of this disk's latencies. */
struct lateness *lateness_of(const struct queue *q)
{
    return &latenesses[q->disk];
}

/* Forget all that was measured. */
void detours_start(void)
{
    for (u32 disk = 0; disk < MAX_DISKS; disk++)
        latenesses[disk] = (struct lateness){0};
}

/* Raise *longest_ns to the time that passed, plus 25 %, if that is more. */
static void measure(u64 *longest_ns, u64 from_ns, u64 until_ns)
{
    u64 ns = until_ns - MIN(until_ns, from_ns);
    *longest_ns = MAX(*longest_ns, ns + ns / 4);
}

/* A search before this request begins. If the candidate that the last search
 * found became the next command, its dispatch latency is known. If that search
 * was for this request, so is the time from the end of the write to this
 * search. */
static void search_begins(struct lateness *late, const struct queue *q,
                          const struct request *to)
{
    bool gone = q->commands == late->commands + 1 && q->last == late->goes;
    if (late->goes && gone)
        measure(&late->go_ns, late->looked_ns, q->last_ns);
    late->go_ns -= late->go_ns / FADES;
    late->ask_ns -= late->ask_ns / FADES;
    if (late->waits == to && q->done_ns > late->looked_ns)
        measure(&late->ask_ns, q->done_ns, clock_ns());
    late->waits = NULL;
    /* The candidate may have become the request that is searched for now. */
    if (late->goes != to || gone)
        late->goes = NULL;
}

/* ---- the search ---- */

/* A search among the writes before a request. */
struct search {
    const struct queue *queue;
    const struct request *to;
    struct detour *detour;
    struct request *up, *down; /* the next to look at, on either side */
    u64 start_ns;              /* when a write would be dispatched */
    u64 gap_ns;                /* from its end to the dispatch of the request */
    u64 alone_ns;              /* when the request would begin without one */
    /* The best write so far; when it, and the request after it, would begin. */
    struct request *best;
    u64 best_ns, after_ns;
};

/* The nearest write not looked at yet; NULL after the last. */
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

/* True if this write delays the request less than the best so far, or as little
 * and can begin earlier. */
static bool better(const struct search *s, u64 after_ns, u64 begin_ns)
{
    return after_ns < s->after_ns ||
           (after_ns == s->after_ns && begin_ns < s->best_ns);
}

/* Keep the write if it is the best so far. Its own approach is asked first,
 * because the second question, what it does to the request `to`, takes
 * longer. */
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
        queue_approach(s->queue, s->start_ns, write, s->gap_ns, s->to).begin_ns;
    if (after_ns > s->alone_ns + late_ns || !better(s, after_ns, begin_ns))
        return;
    s->best = write;
    s->best_ns = begin_ns;
    s->after_ns = after_ns;
}

/* Return the write to do before `to`, or NULL. d says what the caller allows,
 * and gets when `to` then begins and what the write costs it. */
struct request *queue_detour(const struct queue *q, const struct request *to,
                             struct detour *d)
{
    u64 now_ns = clock_ns();
    struct approach alone = queue_approach(q, now_ns, NULL, 0, to);
    struct lateness *late = lateness_of(q);
    search_begins(late, q, to);
    if (alone.begin_ns == NEVER_NS)
        return NULL;
    u64 spare_ns = alone.begin_ns - alone.there_ns;
    if (!d->late_ns && spare_ns < late->go_ns + late->ask_ns)
        return NULL;
    u64 until_ns = now_ns + spare_ns / LOOK_SHARE;
    struct search s = {
        .queue = q,
        .to = to,
        .detour = d,
        .up = queue_at_or_after(q, d->dir, d->near_sector),
        .down = queue_before(q, d->dir, d->near_sector),
        .start_ns = until_ns + late->go_ns,
        .gap_ns = late->ask_ns + (to->candidate ? late->go_ns : 0),
        .alone_ns = alone.begin_ns,
        .best_ns = NEVER_NS,
        .after_ns = NEVER_NS,
    };
    struct request *r = nearest(&s);
    for (; r; r = clock_ns() < until_ns ? nearest(&s) : NULL)
        judge(&s, r);
    late->waits = s.best ? to : NULL;
    late->goes = s.best ? s.best : to->candidate ? to : NULL;
    late->looked_ns = until_ns;
    late->commands = q->commands;
    d->begin_ns = s.after_ns;
    d->price_ns = s.after_ns - MIN(s.after_ns, s.alone_ns);
    return s.best;
}
