/*
 * Sluice: reads go first, and dirty blocks are let out one at a time, evenly,
 * at moments when that costs the reads little.
 *
 * - Pace. A dirty block is due age_ms after it became dirty, and may go when
 *   only `early` percent of that are left. At each tick the writes to do within
 *   it are the fewest that leave no later tick with more: the most, over all k,
 *   of what is due within k ticks divided by k. They are owed one after the
 *   other, evenly spaced. So what became dirty in one burst does not leave in
 *   one, and what becomes dirty evenly leaves at its age.
 * - Price. What a write costs is how much later the waiting read is done for
 *   it, as the model of the drive says. One that costs nothing, for it fits
 *   while the platter turns, is taken as soon as only `free` percent of its age
 *   are left, unless it was modified again: such a block will be once more. One
 *   that is owed may cost `patience` percent of the time for which it has been.
 *   So a write waits a little for a cheaper moment, and never long.
 * - One write, then a read: while reads wait, no two writes that cost something
 *   go one after the other. A reader that reads block after block leaves the
 *   queue empty for moments, so for pause_ms after a read the next is expected,
 *   and no write goes.
 * - Reads, and writes that somebody waits for, go by which would be done first,
 *   less an eighth of the time that each has waited, so that none starves;
 *   without a model, in circular order. Other queued writes are owed from when
 *   they were queued.
 * - Looked at are `looks` requests from where the head is on, as many before
 *   the read, and the oldest. To look takes time too, and a write must fit also
 *   if both commands go margin_us later.
 *
 * The disk is left idle when nothing is owed: an early write may be one more.
 * Who bounds the age is the update policy: use update=ipu with the same age,
 * which finds nothing to do as long as this one keeps its pace.
 *
 * Sources: the pace and the price are ours. Of their parts, reads first and
 * writing by age are PURP and IPU of Carson and Setia (IEEE TSE 18(1), 1992);
 * writes while the platter turns, Lumb and others' (OSDI 2000); to expect a
 * read, Iyer and Druschel's (SOSP 2001); shortest time first with ageing,
 * Seltzer, Chen and Ousterhout's (USENIX Winter 1990).
 */
#include "kernel/policy.h"

#define NS_PER_MS 1000000UL
#define TICK_NS   (250 * NS_PER_MS)
#define SLOTS     256 /* ticks: the longest age and more */

enum { AGE, EARLY, FREE, PATIENCE, PAUSE, LOOKS, MARGIN };

static struct tunable tunables[] = {
    {"age_ms", "ms", 30000, 1000, 60000, "age at which a dirty block is due"},
    {"early", "percent", 33, 0, 100, "of its age is left: it may go"},
    {"free", "percent", 80, 0, 100, "of its age is left: if it costs nothing"},
    {"patience", "percent", 100, 1, 10000,
     "of the time a write has been owed is the most it may cost"},
    {"pause_ms", "ms", 10, 0, 1000, "a read is expected so soon after another"},
    {"looks", "requests", 4, 1, 100, "looked at either side of a place"},
    {"margin_us", "us", 400, 0, 100000, "how late a command may go"},
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

/* The words of a queue: how many of the queued writes are waited for; was the
 * last command a write let out; when the last of the others is done. */
enum { WAITED, LET_OUT, SERVED_NS };

/* The word of an offer: the tick by whose end it is to be written. */
enum { DUE };

/* What is due at one disk. A block whose tick has passed is in the slot of the
 * tick that is now. */
static struct pace {
    u32 due[SLOTS]; /* dirty blocks to write in a tick, at tick % SLOTS */
    u64 dirty;      /* all of them */
    u64 tick;       /* now */
    u64 todo;       /* writes to do within it */
    u64 owed_ns;    /* when the next of them is owed */
} paces[MAX_DISKS];

static u64 tunable_ns(u32 i)
{
    return tunables[i].value * NS_PER_MS;
}

/* ---- pace ---- */

/* This share of the age, in ticks. */
static u64 ticks(u32 share)
{
    return tunable_ns(AGE) / 100 * tunables[share].value / TICK_NS;
}

/* The least number of writes in this tick that leaves no later one with more.
 */
static u64 least_now(const struct pace *p)
{
    u64 least = 0, due = 0;
    for (u64 k = 1; k <= ticks(EARLY) + 1; k++) {
        due += p->due[(p->tick + k - 1) % SLOTS];
        if (due / k > least)
            least = due / k;
    }
    return least;
}

/* Go on to the tick that is now; what is left of those before is due in it. */
static void keep_pace(struct pace *p, u64 now_ns)
{
    u64 tick = now_ns / TICK_NS, left = 0;
    if (tick == p->tick)
        return;
    for (u64 t = p->tick; t < tick && t < p->tick + SLOTS; t++) {
        left += p->due[t % SLOTS];
        p->due[t % SLOTS] = 0;
    }
    p->tick = tick;
    p->due[tick % SLOTS] += left;
    p->todo = least_now(p);
    p->owed_ns = p->todo ? tick * TICK_NS : NEVER_NS;
}

static u32 *slot(struct pace *p, const struct request *offer)
{
    u64 due = offer->word[DUE];
    return &p->due[(due > p->tick ? due : p->tick) % SLOTS];
}

static void sluice_start(void)
{
    for (u32 i = 0; i < MAX_DISKS; i++)
        paces[i] = (struct pace){.owed_ns = NEVER_NS};
}

static void sluice_queued(struct queue *q, struct request *r, u64 now_ns)
{
    struct pace *p = &paces[q->disk];
    keep_pace(p, now_ns);
    if (r->offer) {
        r->word[DUE] = (r->queued_ns + tunable_ns(AGE)) / TICK_NS - 1;
        ++*slot(p, r);
        p->dirty++;
    } else if (r->write) {
        q->word[WAITED] += r->waited;
    }
}

static void sluice_leaves(struct queue *q, struct request *r, u64 now_ns)
{
    (void)now_ns;
    struct pace *p = &paces[q->disk];
    if (r->offer) {
        --*slot(p, r);
        p->dirty--;
    } else if (r->write) {
        q->word[WAITED] -= r->waited;
    }
}

/* ---- which of several ---- */

/* Requests that are looked at, and the best of them so far. */
struct choice {
    const struct queue *queue;
    enum direction dir;
    u64 now_ns;
    const struct request *before; /* it goes before this one; NULL: none */
    u64 gap_ns;                   /* and that so much later */
    /* Of offers, those due by this tick may go; and by that, if they were not
     * modified again. */
    u64 early_tick, latest_tick;
    u64 enough_ns; /* no better one is looked for */
    struct request *best;
    u64 best_ns; /* when it, and the one after, would be done */
};

static void look_at(struct choice *c, struct request *r)
{
    bool due = r->word[DUE] <= c->early_tick;
    bool free = r->word[DUE] <= c->latest_tick && !r->again;
    if (r->offer && !due && !free)
        return;
    u64 ns = queue_done_ns(c->queue, c->now_ns, r, c->gap_ns, c->before);
    if (ns != NEVER_NS && !c->before)
        ns -= (c->now_ns - r->queued_ns) / 8;
    if (!c->best || ns < c->best_ns) {
        c->best = r;
        c->best_ns = ns;
    }
}

/* Look at a few from one place on, and at a few back from another, until one is
 * soon enough. */
static void look_between(struct choice *c, u64 from, u64 to)
{
    const struct queue *q = c->queue;
    u64 looks = tunables[LOOKS].value;
    struct request *r = queue_at_or_after(q, c->dir, from);
    for (u64 i = 0; i < looks && r && c->best_ns > c->enough_ns; i++) {
        look_at(c, r);
        r = queue_at_or_after(q, c->dir, r->sector + 1);
    }
    r = queue_before(q, c->dir, to);
    for (u64 i = 0; i < looks && r && c->best_ns > c->enough_ns; i++) {
        look_at(c, r);
        r = queue_before(q, c->dir, r->sector);
    }
}

static struct request *clook(const struct queue *q, enum direction dir)
{
    struct request *r = queue_at_or_after(q, dir, q->head_sector);
    return r ? r : queue_at_or_after(q, dir, 0);
}

/* ---- reads, and writes that are waited for ---- */

static struct request *foreground(const struct queue *q, u64 now_ns)
{
    enum direction dir = q->word[WAITED] ? BOTH : READS;
    struct request *oldest = queue_oldest(q, dir), *next = clook(q, dir);
    u64 n = q->length[0] + (dir == BOTH ? q->length[1] : 0);
    if (n < 2 || queue_done_ns(q, now_ns, next, 0, NULL) == NEVER_NS)
        return next;
    struct choice c = {
        .queue = q, .dir = dir, .now_ns = now_ns, .best_ns = NEVER_NS};
    look_at(&c, oldest);
    look_between(&c, q->head_sector, q->head_sector);
    return c.best;
}

/* ---- the others ---- */

/* When the write that is owed longest was first owed; NEVER_NS if none is. */
static u64 owed_since_ns(const struct queue *q)
{
    u64 since_ns = q->length[2] ? paces[q->disk].owed_ns : NEVER_NS;
    struct request *oldest = q->word[WAITED] ? NULL : queue_oldest(q, WRITES);
    return oldest && oldest->queued_ns < since_ns ? oldest->queued_ns
                                                  : since_ns;
}

/* The cheapest of the writes that may go at that time; NULL if there is none.
 */
static void look_for(struct choice *c)
{
    const struct queue *q = c->queue;
    struct request *oldest = queue_oldest(q, c->dir);
    look_between(c, q->head_sector,
                 c->before ? c->before->sector : q->head_sector);
    if (oldest && c->best_ns > c->enough_ns)
        look_at(c, oldest);
}

/* A write that fits before the read, which would be done at alone_ns. */
static struct request *bargain(struct choice c, u64 alone_ns)
{
    const struct pace *p = &paces[c.queue->disk];
    c.dir |= OFFERS;
    c.latest_tick = p->tick + ticks(FREE);
    if (!c.before ||
        queue_done_ns(c.queue, c.now_ns, c.before, 0, NULL) > alone_ns)
        return NULL;
    c.enough_ns = alone_ns;
    look_for(&c);
    return c.best && c.best_ns <= alone_ns ? c.best : NULL;
}

/* A write that is owed and costs no more than it may. */
static struct request *worth(struct choice c, u64 now_ns, u64 alone_ns)
{
    struct pace *p = &paces[c.queue->disk];
    u64 since_ns = owed_since_ns(c.queue);
    if (since_ns > now_ns)
        return NULL;
    c.dir |= p->owed_ns <= now_ns ? OFFERS : 0;
    look_for(&c);
    u64 price =
        c.best && c.before && c.best_ns > alone_ns ? c.best_ns - alone_ns : 0;
    if (!c.best || price > (now_ns - since_ns) * tunables[PATIENCE].value / 100)
        return NULL;
    counters[PRICE].value += price;
    if (c.best->offer)
        p->owed_ns += TICK_NS / p->todo;
    return c.best;
}

/* The write to let out before this read, which goes next; NULL waits: then if
 * none is to be expected. */
static struct request *let_out(struct queue *q, u64 now_ns,
                               const struct request *read, u64 alone_ns)
{
    u64 margin_ns = tunables[MARGIN].value * 1000;
    u64 early_tick = paces[q->disk].tick + ticks(EARLY);
    struct choice c = {
        .queue = q,
        .dir = q->word[WAITED] ? 0 : WRITES,
        .early_tick = early_tick,
        .now_ns = now_ns + margin_ns,
        .before = read,
        .gap_ns = margin_ns,
        .best_ns = NEVER_NS,
    };
    struct request *write = bargain(c, alone_ns);
    if (write) {
        counters[BARGAINS].value++;
        return write;
    }
    if (read ? q->word[LET_OUT]
             : now_ns < q->word[SERVED_NS] + tunable_ns(PAUSE))
        return NULL;
    write = worth(c, now_ns, alone_ns);
    q->word[LET_OUT] = write != NULL;
    counters[read ? PAID : UNWATCHED].value += write != NULL;
    return write;
}

static struct request *sluice_next(struct queue *q, u64 now_ns)
{
    keep_pace(&paces[q->disk], now_ns);
    struct request *read = foreground(q, now_ns);
    u64 done_ns = read ? queue_done_ns(q, now_ns, read, 0, NULL) : NEVER_NS;
    struct request *write = let_out(q, now_ns, read, done_ns);
    if (write || !read)
        return write;
    q->word[LET_OUT] = false;
    q->word[SERVED_NS] = done_ns == NEVER_NS ? now_ns : done_ns;
    return read;
}

/* When a write may be let out, if nothing else comes. */
static u64 sluice_again_ns(const struct queue *q, u64 now_ns)
{
    const struct pace *p = &paces[q->disk];
    u64 since_ns = owed_since_ns(q);
    u64 quiet_ns = q->word[SERVED_NS] + tunable_ns(PAUSE);
    if (since_ns <= now_ns && quiet_ns > now_ns)
        return quiet_ns;
    if (since_ns != NEVER_NS && since_ns > now_ns)
        return since_ns;
    struct request *oldest = queue_oldest(q, OFFERS);
    if (!oldest)
        return NEVER_NS;
    u64 due = oldest->word[DUE], early = ticks(EARLY);
    return (due > p->tick + early ? due - early : p->tick + 1) * TICK_NS;
}

/* What is kept count of at a disk: each dirty block, in one tick, at most SLOTS
 * from now; and if writes are to be done now, when the next is owed. */
static const char *sluice_check(void)
{
    for (u32 i = 0; i < MAX_DISKS; i++) {
        const struct pace *p = &paces[i];
        u64 due = 0;
        for (u32 t = 0; t < SLOTS && p->dirty; t++)
            due += p->due[t];
        if (due != p->dirty)
            return "not every dirty block is due in one tick";
        if ((p->owed_ns == NEVER_NS) != (p->todo == 0))
            return "writes are to be done now, and none is owed";
    }
    return NULL;
}

static const struct policy sluice = {
    .kind = POLICY_SCHED,
    .name = "sluice",
    .about = "reads first; dirty blocks one by one, evenly, where it is cheap",
    .tunables = tunables,
    .counters = counters,
    .start = sluice_start,
    .check = sluice_check,
    .sched = {.next = sluice_next,
              .again_ns = sluice_again_ns,
              .queued = sluice_queued,
              .leaves = sluice_leaves,
              .takes_offers = true,
              .joins_offers = true},
};
POLICY(sluice);
