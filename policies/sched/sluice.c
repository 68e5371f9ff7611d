/*
 * Sluice: reads go first, and dirty blocks are written one at a time, evenly,
 * where a write delays the reads least.
 *
 * - Pace (policies/lib/pace.h). A dirty block is due age_ms after it became
 *   dirty, and may be written when only `early` percent of that time are left.
 *   Over this time the writes are spread evenly. So each write has a time from
 *   which it is *wanted*. So the blocks of one burst are not written in one
 *   burst, and blocks that become dirty evenly are written at their age.
 * - Price. The price of a write is by how much it delays the start of the next
 *   read, according to the drive model. A write that is free, because it fits
 *   into the rotational slack, goes as soon as only `free` percent of its
 *   block's age are left, unless the block was modified again: then it probably
 *   will be once more. A wanted write may cost `patience` percent of the time
 *   for which it has been wanted. So it waits a little for a cheaper moment,
 *   and never long. Most writes that are not free cost a rotation; until so
 *   much is allowed, only free writes are searched for. Of equal prices, the
 *   write that the arm reaches soonest wins, since it leaves most time for
 *   another.
 * - After a write that costs something, a read goes. But a free write on the
 *   way to that write goes before it.
 * - While no read waits: if readers have lately come back at once, the next
 *   read is expected for a rotation (`pause`), because a write next to a read
 *   is cheaper. If they took longer than `gap`, a write that has been wanted
 *   for as long as the pause goes at once, at the beginning of the gap and not
 *   in its midst. By then the arm has left the place where they read. So one
 *   more write, wanted or not, goes before the read that arrives, if it delays
 *   the read by at most `stay`.
 * - Among reads, and writes that a process waits for, the request goes with the
 *   least access time - `ageing` % * (time waited) / (requests that wait), so
 *   that none starves. For a read, `favour` is subtracted as well. Other queued
 *   writes are wanted from when they were queued.
 * - The drive gets one command at a time, even if it can take more: the price
 *   of a write is known only if no other command is between it and the read.
 * - Without a platter that turns, or a model of it, no write is cheaper beside
 *   a read than alone: a write that is wanted goes as soon as no read waits, or
 *   before a read once it has been wanted for half a tick.
 *
 * The disk is left idle when no write is wanted, because a block written early
 * may become dirty again. The update policy bounds the age: use update=ipu with
 * the same age, which finds nothing to do as long as this policy keeps its
 * pace.
 *
 * Sources: the pace and the price are ours. Of their parts, reads first and
 * writing by age are PURP and IPU of Carson and Setia (IEEE TSE 18(1), 1992);
 * writes while the platter turns are from Lumb and others (OSDI 2000); the
 * expectation of a read is from Iyer and Druschel (SOSP 2001); shortest time
 * first with ageing, from Seltzer, Chen and Ousterhout (USENIX Winter 1990).
 */
#include "kernel/policy/sched.h"
#include "policies/lib/detour.h"
#include "policies/lib/pace.h"

#define LATE_NS (PACE_TICK_NS / 2)
#define LOOKS   4 /* requests to either side of the head */

enum { AGE, EARLY, FREE, PATIENCE, AGEING, PAUSE, GAP, STAY, FAVOUR };

static struct tunable tunables[] = {
    {"age_ms", "ms", 30000, 1000, 60000, "age at which a dirty block is due"},
    {"early", "percent", 33, 0, 100, "of its age is left: it may go"},
    {"free", "percent", 90, 0, 100, "of its age is left: if it costs nothing"},
    {"patience", "percent", 30, 1, 10000,
     "of the time a write has been owed is the most it may cost"},
    {"ageing", "percent", 120, 0, 1000,
     "of its share of the time a read waits: so much nearer it counts"},
    {"pause", "percent", 100, 0, 1000,
     "of a turn: a read is expected so soon after another"},
    {"gap", "percent", 30, 0, 10000,
     "of a turn: readers that take longer leave a gap"},
    {"stay", "percent", 320, 0, 10000,
     "of a turn: so long a read may wait for a second write in a gap"},
    {"favour", "percent", 200, 0, 10000,
     "of a turn: so much nearer a read counts than a write that is waited for"},
    {0},
};

static struct policy_counter counters[] = {
    {"bargains", "requests", "writes that cost the waiting read nothing"},
    {"paid", "requests", "writes that delayed the waiting read"},
    {"price", "ns", "by how much, in all"},
    {"unwatched", "requests", "writes while no read waited"},
    {0},
};

enum { BARGAINS, PAID, PRICE, UNWATCHED };

/* The words of a queue, where a foreground request is a read or a write that a
 * process waits for. */
enum {
    WAITED,  /* queued writes that a process waits for */
    BESIDE,  /* the write since the last foreground request, as below */
    DONE_NS, /* when that request was done; NEVER_NS: it is not */
    GAP_NS,  /* from DONE_NS to the next such request, recently */
};

enum { NOTHING, A_WRITE, IN_A_GAP }; /* of BESIDE */

/* The word of a candidate: the tick by whose end it is to be written. */
enum { DUE };

static struct pace paces[MAX_DISKS];
static u64 promised[MAX_DISKS]; /* the sector + 1 of the write that goes next */

static u64 age_ns(void)
{
    return tunables[AGE].value * NS_PER_MS;
}

static u64 turn_ns(const struct queue *q, u32 share)
{
    return q->turn_ns * tunables[share].value / 100;
}

/* A share of the age, a tunable in percent, in ticks. */
static u64 ticks(u32 share)
{
    return age_ns() / 100 * tunables[share].value / PACE_TICK_NS;
}

static void keep_pace(const struct queue *q, u64 now_ns)
{
    pace_keep(&paces[q->disk], now_ns, ticks(EARLY));
}

static void sluice_start(void)
{
    for (u32 i = 0; i < MAX_DISKS; i++) {
        pace_start(&paces[i]);
        promised[i] = 0;
    }
    detours_start();
}

/* A foreground request has come, and it is the only one: add the time for which
 * the disk was left alone to the average of such gaps, with the weight 1/8. */
static void note_gap(struct queue *q, u64 now_ns)
{
    u64 done_ns = q->word[DONE_NS], alone_ns = now_ns - done_ns;
    if (done_ns == NEVER_NS || q->word[BESIDE])
        return;
    alone_ns = MIN(alone_ns, turn_ns(q, PAUSE));
    q->word[GAP_NS] += alone_ns / 8 - q->word[GAP_NS] / 8;
}

/* Note when a candidate must be written, and how many writes processes wait
 * for. The first request for which one waits ends a gap. */
static void sluice_queued(struct queue *q, struct request *r, u64 now_ns)
{
    keep_pace(q, now_ns);
    if (r->candidate) {
        r->word[DUE] = pace_due(r->queued_ns + age_ns());
        pace_add(&paces[q->disk], r->word[DUE]);
    } else if (r->write) {
        q->word[WAITED] += r->waited;
    }
    if (!r->candidate && q->length[SET_READS] + q->word[WAITED] == 1)
        note_gap(q, now_ns);
}

/* A candidate that leaves is due no more; a write that is waited for is counted
 * off. */
static void sluice_leaves(struct queue *q, struct request *r, u64 now_ns)
{
    (void)now_ns;
    if (r->candidate)
        pace_drop(&paces[q->disk], r->word[DUE]);
    else if (r->write)
        q->word[WAITED] -= r->waited;
}

/* True if the block is due within in_ticks. */
static bool is_due_in(const struct request *r, u64 in_ticks)
{
    return !r->candidate ||
           r->word[DUE] <= paces[r->queue->disk].tick + in_ticks;
}

/* ---- the request that the arm is soonest at ---- */

struct choice {
    const struct queue *queue;
    u64 now_ns;
    u64 n; /* how many wait */
    struct request *best;
    u64 best_ns;
};

/* Make the request the best choice if its figure is the least: when the head
 * can begin it, minus a share of its waiting time, and for a read minus
 * `favour` percent of a turn. */
static void look_at(struct choice *c, struct request *r)
{
    if (!r || !is_due_in(r, ticks(EARLY)))
        return;
    u64 ns = queue_approach(c->queue, c->now_ns, NULL, 0, r).begin_ns;
    if (ns != NEVER_NS && !r->candidate)
        ns -= (c->now_ns - r->queued_ns) / 100 * tunables[AGEING].value / c->n;
    if (ns != NEVER_NS && !r->write)
        ns -= turn_ns(c->queue, FAVOUR);
    if (!c->best || ns < c->best_ns) {
        c->best = r;
        c->best_ns = ns;
    }
}

/* Return the request that the arm reaches soonest, of the oldest request and a
 * few on either side of the head. */
static struct request *soonest(const struct queue *q, enum direction dir,
                               u64 now_ns)
{
    struct choice c = {.queue = q,
                       .now_ns = now_ns,
                       .n = MAX(q->length[SET_READS] + q->word[WAITED], 1)};
    struct request *up = queue_circular(q, dir, q->head_sector);
    struct request *down = queue_before(q, dir, q->head_sector);
    for (u64 i = 0; i < LOOKS; i++) {
        look_at(&c, up);
        look_at(&c, down);
        up = up ? queue_at_or_after(q, dir, up->sector + 1) : NULL;
        down = down ? queue_before(q, dir, down->sector) : NULL;
    }
    look_at(&c, queue_oldest(q, dir));
    return c.best;
}

/* ---- foreground requests ---- */

/* Return the next foreground request, or NULL. While a process waits for a
 * write, any queued write may be that request. */
static struct request *foreground(const struct queue *q, u64 now_ns)
{
    enum direction dir = q->word[WAITED] ? BOTH : READS;
    u64 n = q->length[SET_READS] + (dir == BOTH ? q->length[SET_WRITES] : 0);
    return n > 1 ? soonest(q, dir, now_ns) : queue_oldest(q, dir);
}

/* ---- background writes ---- */

/* The set of which a write is wanted now; 0 if none is. */
static enum direction wanted_set(const struct queue *q, u64 now_ns)
{
    if (q->length[SET_WRITES] && !q->word[WAITED])
        return WRITES;
    return q->length[SET_CANDIDATES] && paces[q->disk].next_ns <= now_ns
               ? CANDIDATES
               : 0;
}

/* Return when a write is wanted, in the past or future; NEVER_NS if none is. */
static u64 wanted_since_ns(const struct queue *q)
{
    u64 since_ns =
        q->length[SET_CANDIDATES] ? paces[q->disk].next_ns : NEVER_NS;
    struct request *oldest = q->word[WAITED] ? NULL : queue_oldest(q, WRITES);
    return oldest ? MIN(oldest->queued_ns, since_ns) : since_ns;
}

static u64 most_late_ns(const struct request *r, u64 late_ns)
{
    if (is_due_in(r, ticks(EARLY)))
        return late_ns;
    return !r->again && is_due_in(r, ticks(FREE)) ? 0 : NEVER_NS;
}

/* The search for a write that makes the next request no later; the caller may
 * allow more. */
static struct detour detour_of(const struct queue *q)
{
    return (struct detour){
        .dir = q->word[WAITED] ? CANDIDATES : CANDIDATES | WRITES,
        .near_sector = q->head_sector,
        .most_late_ns = most_late_ns,
    };
}

/* Choose a write that delays a read, and count it as the pace's next write. */
static struct request *at_a_price(struct queue *q, struct request *write)
{
    if (write->candidate)
        pace_owe_next(&paces[q->disk]);
    return write;
}

/* Like at_a_price, but a free write on the way goes first, and the given write
 * next. */
static struct request *on_the_way_to(struct queue *q, struct request *write)
{
    struct detour detour = detour_of(q);
    struct request *first = queue_detour(q, write, &detour);
    if (!first)
        return at_a_price(q, write);
    counters[BARGAINS].value++;
    promised[q->disk] = write->sector + 1;
    return first;
}

/* Take the write that was postponed for a free write on the way. Returns NULL
 * if there is none, or if the write has been dispatched or dropped meanwhile.
 */
static struct request *take_promised(struct queue *q)
{
    u64 sector = promised[q->disk] - 1;
    if (!promised[q->disk])
        return NULL;
    promised[q->disk] = 0;
    struct request *r = queue_at_or_after(q, CANDIDATES | WRITES, sector);
    return r && r->sector == sector && !r->waited ? r : NULL;
}

/* Return by how much a second write in a gap may delay this read, in ns. */
static u64 stay_ns(const struct queue *q, const struct request *read,
                   u64 now_ns)
{
    u64 begin_ns = queue_approach(q, now_ns, NULL, 0, read).begin_ns;
    u64 most_ns = read->queued_ns + turn_ns(q, STAY);
    return most_ns - MIN(begin_ns, most_ns);
}

/* The write to dispatch before this read; NULL if none is worth it. */
static struct request *write_before(struct queue *q, const struct request *read,
                                    u64 now_ns)
{
    struct detour detour = detour_of(q);
    enum direction dir = q->word[BESIDE] ? 0 : wanted_set(q, now_ns);
    u64 wanted_ns = dir ? now_ns - wanted_since_ns(q) : 0;
    u64 late_ns = wanted_ns / 100 * tunables[PATIENCE].value;
    if (dir && late_ns >= q->turn_ns) {
        if (dir == WRITES)
            detour.dir = WRITES;
        detour.near_sector = queue_oldest(q, dir)->sector;
        detour.late_ns = late_ns;
    } else if (q->word[BESIDE] == IN_A_GAP) {
        detour.late_ns = stay_ns(q, read, now_ns);
    }
    struct request *write = queue_detour(q, read, &detour);
    if (!write)
        return NULL;
    counters[detour.price_ns ? PAID : BARGAINS].value++;
    counters[PRICE].value += detour.price_ns;
    if (!detour.price_ns)
        return write;
    q->word[BESIDE] = A_WRITE;
    return on_the_way_to(q, write);
}

/* True if no read has come for so long that none is expected. */
static bool idle(const struct queue *q, u64 now_ns)
{
    return now_ns >= q->word[DONE_NS] + turn_ns(q, PAUSE);
}

/* True if a write that is wanted may go now, when no read waits. Either the
 * disk is idle. Or a read has ended at this moment, no write has gone since the
 * read began, recent gaps after reads were longer than `gap`, and the write has
 * been wanted for as long as `pause`. */
static bool is_quiet(const struct queue *q, u64 now_ns)
{
    return idle(q, now_ns) ||
           (now_ns == q->word[DONE_NS] && !q->word[BESIDE] &&
            q->word[GAP_NS] > turn_ns(q, GAP) &&
            now_ns - wanted_since_ns(q) >= turn_ns(q, PAUSE));
}

/* True if a write has been wanted for so long that it goes before a read at any
 * price. */
static bool is_overdue(const struct queue *q, u64 now_ns)
{
    return !q->word[BESIDE] && now_ns - wanted_since_ns(q) >= LATE_NS;
}

/* The write to dispatch while no read waits, or without a platter. Of queued
 * writes, the arm's nearest goes; of dirty blocks on an idle disk the oldest,
 * because one that is written too early may become dirty again. */
static struct request *write_alone(struct queue *q, bool reads, u64 now_ns)
{
    enum direction dir = wanted_set(q, now_ns);
    if (!dir || !(reads ? is_overdue(q, now_ns) : is_quiet(q, now_ns)))
        return NULL;
    bool gap = !idle(q, now_ns);
    bool near = gap || dir == WRITES;
    struct request *write =
        near ? soonest(q, dir, now_ns) : queue_oldest(q, dir);
    if (!write || !is_due_in(write, ticks(EARLY)))
        return NULL;
    counters[reads ? PAID : UNWATCHED].value++;
    q->word[BESIDE] = gap ? IN_A_GAP : A_WRITE;
    return near ? on_the_way_to(q, write) : at_a_price(q, write);
}

/* Choose: the request before which a free write went; else a write that fits
 * before the next read, or, with nobody waiting, any write that is due; else
 * the read. */
static struct request *sluice_next(struct queue *q, u64 now_ns)
{
    if (now_ns < q->done_ns)
        return NULL;
    keep_pace(q, now_ns);
    struct request *next = take_promised(q); /* a free write went before it */
    if (next)
        return at_a_price(q, next);
    if (q->word[DONE_NS] == NEVER_NS)
        q->word[DONE_NS] = now_ns;
    struct request *read = foreground(q, now_ns);
    struct request *write = read && q->turn_ns ? write_before(q, read, now_ns)
                                               : write_alone(q, read, now_ns);
    if (write || !read)
        return write;
    q->word[BESIDE] = NOTHING;
    q->word[DONE_NS] = NEVER_NS;
    return read;
}

/* When a write may be dispatched, if nothing else comes. */
static u64 sluice_again_ns(const struct queue *q, u64 now_ns)
{
    const struct pace *p = &paces[q->disk];
    u64 since_ns = wanted_since_ns(q);
    u64 quiet_ns = q->word[DONE_NS] + turn_ns(q, PAUSE);
    if (since_ns <= now_ns && quiet_ns > now_ns)
        return quiet_ns;
    if (since_ns != NEVER_NS && since_ns > now_ns)
        return since_ns;
    struct request *oldest = queue_oldest(q, CANDIDATES);
    if (!oldest)
        return NEVER_NS;
    u64 due = oldest->word[DUE], early = ticks(EARLY);
    return (due > p->tick + early ? due - early : p->tick + 1) * PACE_TICK_NS;
}

static const char *sluice_check(const struct queue *q)
{
    return pace_check(&paces[q->disk]);
}

static const struct policy sluice = {
    .kind = POLICY_SCHED,
    .name = "sluice",
    .about = "reads first; dirty blocks one by one, evenly, where it is cheap",
    .tunables = tunables,
    .counters = counters,
    .start = sluice_start,
    .sched = {.next = sluice_next,
              .again_ns = sluice_again_ns,
              .queued = sluice_queued,
              .leaves = sluice_leaves,
              .check = sluice_check,
              .takes_candidates = true,
              .joins_candidates = true},
};
POLICY(sluice);
