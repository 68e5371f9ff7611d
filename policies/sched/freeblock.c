/*
 * Freeblock scheduling: the order is C-LOOK's. While the platter turns towards
 * the next request, the head may write a dirty block that is not due yet, if
 * it is still in time for the request: by the drive model, the request would
 * begin no later than without the write. Then the write is free.
 *
 * The search begins with the dirty blocks nearest to the head and may use a
 * sixteenth of the rotational slack; of the blocks that fit, the one that the
 * arm reaches soonest is written. A block fits only if it still fits when the
 * longest recent dispatch latency is added (policies/lib/detour.c). A request
 * that is late all the same is counted. All this is for a drive that takes one
 * command at a time; without a model no write is free. An idle disk is left
 * idle.
 *
 * Source: Lumb, Schindler, Ganger, Nagle and Riedel, "Towards Higher Disk Head
 * Utilization: Extracting Free Bandwidth From Busy Disk Drives", OSDI 2000.
 * They search the whole of both tracks and those between.
 */
#include "kernel/policy/sched.h"
#include "policies/lib/detour.h"

enum { FREE, LATE };

static struct policy_counter counters[] = {
    {"free", "requests", "dirty blocks written on the way to a request"},
    {"late", "requests", "that such a write made late"},
    {0},
};

/* The words of a queue. */
enum {
    SWEEP,       /* where the last queued request ended */
    FOR,         /* the request that a free write went before: arrival + 1 */
    FOR_SECTOR,  /* the first sector of this request */
    PROMISED_NS, /* the latest time at which it should begin */
};

/* Return the delay that a free write may cause: none. */
static u64 not_late(const struct request *write, u64 late_ns)
{
    (void)write;
    (void)late_ns;
    return 0;
}

/* If a free write has gone before this request, count the request as late,
 * unless it begins by the promised time. */
static void keep_promise(struct queue *q, const struct request *r, u64 now_ns)
{
    if (q->word[FOR] != r->arrival + 1)
        return;
    u64 begin_ns = queue_approach(q, now_ns, NULL, 0, r).begin_ns;
    counters[LATE].value += begin_ns > q->word[PROMISED_NS];
}

/* The next request of the sweep. After a free write it is the request that the
 * write went before, even if a nearer one has come since: the arm is on its
 * way. */
static struct request *next_queued(struct queue *q)
{
    struct request *r = queue_at_or_after(q, BOTH, q->word[FOR_SECTOR]);
    bool promised = r && q->word[FOR] == r->arrival + 1;
    return promised ? r : queue_circular(q, BOTH, q->word[SWEEP]);
}

/* Choose C-LOOK's request, or a candidate that can be written before it without
 * delay. The request before which it goes is noted as promised. */
static struct request *freeblock_next(struct queue *q, u64 now_ns)
{
    struct request *r = next_queued(q);
    struct detour detour = {
        .dir = CANDIDATES,
        .near_sector = q->head_sector,
        .most_late_ns = not_late,
    };
    keep_promise(q, r, now_ns);
    struct request *candidate = queue_detour(q, r, &detour);
    if (!candidate) {
        q->word[SWEEP] = r->sector + r->nsectors;
        q->word[FOR] = 0;
        return r;
    }
    counters[FREE].value++;
    q->word[FOR] = r->arrival + 1;
    q->word[FOR_SECTOR] = r->sector;
    q->word[PROMISED_NS] = detour.begin_ns;
    return candidate;
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
    .counters = counters,
    .start = detours_start,
    .refuses = freeblock_refuses,
    .sched = {.next = freeblock_next},
};
POLICY(freeblock);
