/*
 * Opportunistic queuing: the order is C-LOOK's, but on its way to the next
 * request the head also writes dirty blocks that are not due yet, if they lie
 * near where it leaves or where it goes. Writing them there costs little, and
 * spares a seek later.
 *
 * `most` is how many of these commands go before each queued request, which
 * they delay; dirty blocks that follow one on the disk are merged with it.
 * An idle disk is left idle.
 *
 * Source: the opportunistic queue of Batsakis, Burns, Kanevsky, Lentini and
 * Talpey, "AWOL: An Adaptive Write Optimizations Layer", FAST 2008. How near
 * and how many are ours.
 */
#include "kernel/policy/sched.h"

enum { NEAR_SECTORS, MOST };

static struct tunable tunables[] = {
    {"near_sectors", "sectors", 1024, 1, 1UL << 40,
     "how far from an end of the way a dirty block may lie"},
    {"most", "commands", 1, 0, 1000, "opportunistic, for each queued request"},
    {0},
};

enum { TAKEN };

static struct policy_counter counters[] = {
    {"taken", "commands", "opportunistic ones chosen"},
    {0},
};

/* The word of a queue: commands since the last queued request. */
enum { IN_TURN };

/* A dirty block between the head and a request, near one of them, or NULL. */
static struct request *on_the_way(const struct queue *q,
                                  const struct request *to)
{
    u64 head = q->head_sector, near = tunables[NEAR_SECTORS].value;
    struct request *first = queue_at_or_after(q, CANDIDATES, head);
    if (!first || first->sector >= to->sector)
        return NULL;
    if (first->sector - head <= near)
        return first;
    struct request *last = queue_before(q, CANDIDATES, to->sector);
    return to->sector - last->sector <= near ? last : NULL;
}

/* Choose the next request of C-LOOK, or a candidate on the way to it, if not
 * too many candidates went in turn. */
static struct request *opportunistic_next(struct queue *q, u64 now_ns)
{
    (void)now_ns;
    struct request *r = queue_circular(q, BOTH, q->head_sector);
    struct request *candidate = NULL;
    if (q->word[IN_TURN] < tunables[MOST].value)
        candidate = on_the_way(q, r);
    q->word[IN_TURN] = candidate ? q->word[IN_TURN] + 1 : 0;
    counters[TAKEN].value += candidate != NULL;
    return candidate ? candidate : r;
}

static const struct policy opportunistic = {
    .kind = POLICY_SCHED,
    .name = "opportunistic",
    .about = "circular elevator that writes dirty blocks near its way",
    .tunables = tunables,
    .counters = counters,
    .sched = {.next = opportunistic_next, .joins_candidates = true},
};
POLICY(opportunistic);
