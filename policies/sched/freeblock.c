/*
 * Freeblock scheduling: the order is C-LOOK's. While the platter turns towards
 * the next request, the head may write a dirty block that is not due yet, if
 * it is still in time for the request: by the model of the drive, that would
 * be done no later than without. Such a write is free.
 *
 * Looked at are up to `looks` dirty blocks from where the head is on, and as
 * many before the request: the first that fits goes. To look takes time, and
 * so does what follows a write, so a fit must be one also if both commands go
 * margin_us later; what comes late all the same is counted. The promise is for
 * a drive that takes one command at a time; without a model nothing is free.
 * An idle disk is left idle.
 *
 * Source: Lumb, Schindler, Ganger, Nagle and Riedel, "Towards Higher Disk Head
 * Utilization: Extracting Free Bandwidth From Busy Disk Drives", OSDI 2000.
 * They search the whole of both tracks and those between.
 */
#include "kernel/policy.h"

#define NS_PER_US 1000UL

/* The words of a queue: where the last queued request ended; for which one,
 * by arrival + 1, a free write went; and when it is to be done. */
enum { SWEEP, FOR, PROMISED_NS };

enum { NEAR, LOOKS, MARGIN };

static struct tunable tunables[] = {
    {"near_sectors", "sectors", 65536, 1, 1UL << 40,
     "how far from an end of the way a dirty block may lie"},
    {"looks", "blocks", 4, 1, 1000, "looked at near either end"},
    {"margin_us", "us", 400, 0, 100000, "how much later both may go"},
    {0},
};

static struct policy_counter counters[] = {
    {"free", "requests", "dirty blocks written on the way to a request"},
    {"late", "requests", "that such a write made late"},
    {0},
};

static struct request *clook(const struct queue *q)
{
    struct request *r = queue_at_or_after(q, BOTH, q->word[SWEEP]);
    return r ? r : queue_at_or_after(q, BOTH, 0);
}

/* The next request, when it would be done if it went now, and when this choice
 * is over at the latest. */
struct plan {
    const struct queue *queue;
    const struct request *next;
    u64 done_ns, latest_ns;
};

static u64 margin_ns(void)
{
    return tunables[MARGIN].value * NS_PER_US;
}

/* Is the next one done as early after this dirty block? */
static bool fits(const struct plan *p, const struct request *offer)
{
    return queue_done_ns(p->queue, p->latest_ns, offer, margin_ns(), p->next) <=
           p->done_ns;
}

/* Is there no time even to look? */
static bool pressed(const struct plan *p)
{
    return queue_done_ns(p->queue, p->latest_ns, p->next, 0, NULL) > p->done_ns;
}

/* The first of those looked at that fits; NULL if none does. */
static struct request *free_write(const struct plan *p)
{
    const struct queue *q = p->queue;
    u64 from = q->head_sector, to = p->next->sector;
    u64 looks = tunables[LOOKS].value, near = tunables[NEAR].value;
    if (pressed(p))
        return NULL;
    struct request *o = queue_at_or_after(q, OFFERS, from);
    for (u64 i = 0; i < looks && o && o->sector - from <= near; i++) {
        if (fits(p, o))
            return o;
        o = queue_at_or_after(q, OFFERS, o->sector + 1);
    }
    o = queue_before(q, OFFERS, to);
    for (u64 i = 0; i < looks && o && to - o->sector <= near; i++) {
        if (fits(p, o))
            return o;
        o = queue_before(q, OFFERS, o->sector);
    }
    return NULL;
}

static struct request *freeblock_next(struct queue *q, u64 now_ns)
{
    struct request *r = clook(q), *offer = NULL;
    struct plan plan = {q, r, queue_done_ns(q, now_ns, r, 0, NULL),
                        now_ns + margin_ns()};
    bool promised = q->word[FOR] == r->arrival + 1;
    counters[1].value += promised && plan.done_ns > q->word[PROMISED_NS];
    if (plan.done_ns != NEVER_NS)
        offer = free_write(&plan);
    if (!offer) {
        q->word[SWEEP] = r->sector + r->nsectors;
        q->word[FOR] = 0;
        return r;
    }
    counters[0].value++;
    q->word[FOR] = r->arrival + 1;
    q->word[PROMISED_NS] = plan.done_ns;
    return offer;
}

static const char *freeblock_refuses(void)
{
    struct disk_state s;
    for (u32 disk = 0; disk_state(disk, &s); disk++) {
        if (s.modelled)
            return NULL;
    }
    return "no disk has a drive model, which alone knows the rotation";
}

static const struct policy freeblock = {
    .kind = POLICY_SCHED,
    .name = "freeblock",
    .about = "circular elevator; writes that fit while the platter turns",
    .tunables = tunables,
    .counters = counters,
    .refuses = freeblock_refuses,
    .sched = {.next = freeblock_next},
};
POLICY(freeblock);
