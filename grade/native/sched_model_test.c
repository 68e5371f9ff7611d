/*
 * Schedulers held against models: each choice of a random run, and each
 * counter after it, must be the model's. A model looks at an array of what is
 * queued, and shares no code with the scheduler of its name.
 *
 * link: grade/native/test.c grade/native/toy_drive.c
 */
#include "grade/native/toy_drive.h"
#include "kernel/disk/queue.h"
#include "policies/lib/detour.h"

#define MOST     24
#define STEPS    1500
#define SEEDS    20
#define COUNTERS 4

static struct queue queue;
static struct request requests[MOST]; /* queued, if `queue` is set */

/* ---- what is queued ---- */

static bool is_of(const struct request *r, u32 dir)
{
    u32 its = r->offer ? OFFERS : r->write ? WRITES : READS;
    return r->queue && (dir & its);
}

static bool older(const struct request *a, const struct request *b)
{
    return !b || a->arrival < b->arrival;
}

static struct request *oldest(u32 dir)
{
    struct request *best = NULL;
    for (struct request *r = requests; r < requests + MOST; r++) {
        if (is_of(r, dir) && older(r, best))
            best = r;
    }
    return best;
}

/* Of two that start at one sector: reads, writes, dirty blocks; then by age. */
static bool goes_first(const struct request *a, const struct request *b)
{
    u32 kind_of_a = a->offer ? 2 : a->write,
        kind_of_b = b->offer ? 2 : b->write;
    return kind_of_a < kind_of_b || (kind_of_a == kind_of_b && older(a, b));
}

/* Of those that start first from that sector on. */
static struct request *lowest(u32 dir, u64 from)
{
    struct request *best = NULL;
    for (struct request *r = requests; r < requests + MOST; r++) {
        if (!is_of(r, dir) || r->sector < from)
            continue;
        if (!best || r->sector < best->sector ||
            (r->sector == best->sector && goes_first(r, best)))
            best = r;
    }
    return best;
}

/* Of those that start last below that sector. */
static struct request *highest(u32 dir, u64 below)
{
    struct request *best = NULL;
    for (struct request *r = requests; r < requests + MOST; r++) {
        if (!is_of(r, dir) || r->sector >= below)
            continue;
        if (!best || r->sector > best->sector ||
            (r->sector == best->sector && goes_first(r, best)))
            best = r;
    }
    return best;
}

static u64 count(u32 dir)
{
    u64 n = 0;
    for (struct request *r = requests; r < requests + MOST; r++)
        n += is_of(r, dir);
    return n;
}

/* ---- a run ---- */

/* A model: how it begins, with tunables drawn anew; its choice; and how many
 * of each of the policy's counters there are to be. */
struct model {
    const char *name;
    void (*begin)(const struct policy *, u64 *seed);
    struct request *(*next)(u64 now_ns);
    bool offers_alone; /* asked when there are dirty blocks and nothing else */
    u64 step_ns;       /* the longest time between two steps */
};

static u64 counted[COUNTERS];

static void add(u64 *seed)
{
    struct request *r = requests;
    while (r < requests + MOST && r->queue)
        r++;
    if (r == requests + MOST)
        return;
    *r = (struct request){.sector = random_u64(seed) % 300,
                          .nsectors = 1 + random_u64(seed) % 8,
                          .write = random_u64(seed) % 2,
                          .pid = 1,
                          .queued_ns = clock_now_ns};
    r->offer = r->write && random_u64(seed) % 2;
    queue_add(&queue, r);
}

static void go(struct request *r)
{
    queue.head_sector = r->sector + r->nsectors;
    queue_take(&queue, r);
}

static void serve(const struct policy *p, const struct model *m)
{
    if (!count(m->offers_alone ? BOTH | OFFERS : BOTH))
        return;
    struct request *want = m->next(clock_now_ns);
    struct request *got = p->sched.next(&queue, clock_now_ns);
    check(got == want);
    if (got)
        go(got);
}

/* A dirty block is written by another, or modified again. */
static void touch(u64 *seed)
{
    struct request *r = &requests[random_u64(seed) % MOST];
    if (!is_of(r, OFFERS))
        return;
    if (random_u64(seed) % 4)
        r->again = true;
    else
        queue_take(&queue, r);
}

static void step(const struct policy *p, const struct model *m, u64 *seed)
{
    u64 what = random_u64(seed) % 16;
    clock_now_ns += random_u64(seed) % m->step_ns;
    if (what < 7)
        add(seed);
    else if (what < 9)
        touch(seed);
    else
        serve(p, m);
}

static void run(const struct model *m, u64 seed)
{
    const struct policy *p = policy_named(POLICY_SCHED, m->name);
    u64 before[COUNTERS];
    struct policy_counter *c = p->counters;
    memset(requests, 0, sizeof requests);
    memset(counted, 0, sizeof counted);
    for (u32 i = 0; c && c[i].name; i++)
        before[i] = c[i].value;
    queue_init(&queue, 0);
    m->begin(p, &seed);
    for (u32 i = 0; i < STEPS; i++)
        step(p, m, &seed);
    for (u32 i = 0; c && c[i].name; i++)
        check_eq(counter_of(p, c[i].name) - before[i], counted[i]);
}

static void check_model(const struct model *m)
{
    for (u64 seed = 0; seed < SEEDS; seed++)
        run(m, seed);
}

static void draw(const struct policy *p, const char *tunable, u64 *seed,
                 u64 from, u64 to)
{
    tunable_named(p, tunable)->value =
        from + random_u64(seed) % (to - from + 1);
}

/* ---- C-LOOK, C-SCAN, SCAN, SSTF ---- */

static void nothing(const struct policy *p, u64 *seed)
{
    (void)p, (void)seed;
}

static struct request *fcfs(u64 now_ns)
{
    (void)now_ns;
    return oldest(BOTH);
}

TEST(fcfs_chooses_as_its_model)
{
    check_model(&(struct model){"fcfs", nothing, fcfs, false, 4 * NS_PER_MS});
}

static struct request *clook(u64 now_ns)
{
    (void)now_ns;
    struct request *r = lowest(BOTH, queue.head_sector);
    counted[0] += !r;
    return r ? r : lowest(BOTH, 0);
}

TEST(clook_chooses_as_its_model)
{
    check_model(&(struct model){"clook", nothing, clook, false, 4 * NS_PER_MS});
}

/* The arm: it is at the last cylinder 3 ms after it was sent there, and at the
 * first 5 ms later. */
static struct {
    bool at_end;
    u64 there_ns;
    u64 sent; /* how often, to either */
} arm;

static u64 to_edge(bool last)
{
    check(arm.at_end != last); /* by turns, the last cylinder first */
    arm.there_ns =
        last ? clock_now_ns + 3 * NS_PER_MS : arm.there_ns + 5 * NS_PER_MS;
    arm.at_end = last;
    arm.sent++;
    return arm.there_ns;
}

static bool on_the_way;
static u64 back_ns;

static void cscan_begins(const struct policy *p, u64 *seed)
{
    (void)p, (void)seed;
    memset(&arm, 0, sizeof arm);
    drive_to_edge = to_edge;
    on_the_way = false;
}

static struct request *cscan(u64 now_ns)
{
    struct request *r = lowest(BOTH, queue.head_sector);
    if (!on_the_way && r)
        return r;
    if (!on_the_way) {
        on_the_way = true;
        back_ns = now_ns + 8 * NS_PER_MS;
        counted[0]++;
        counted[1] += 8 * NS_PER_MS;
    }
    if (now_ns < back_ns)
        return NULL;
    on_the_way = false;
    return lowest(BOTH, 0);
}

TEST(cscan_chooses_as_its_model_and_goes_to_both_edges)
{
    check_model(
        &(struct model){"cscan", cscan_begins, cscan, false, 4 * NS_PER_MS});
    check_eq(arm.sent, 2 * counted[0]);
}

TEST(cscan_is_clook_where_no_arm_can_be_moved)
{
    check_model(&(struct model){"cscan", nothing, clook, false, 4 * NS_PER_MS});
}

static bool falling;
static u64 last_start;

static void scan_begins(const struct policy *p, u64 *seed)
{
    (void)p, (void)seed;
    falling = false;
}

static struct request *scan(u64 now_ns)
{
    (void)now_ns;
    struct request *up = lowest(BOTH, queue.head_sector);
    struct request *down = highest(BOTH, last_start);
    bool turns = falling ? !down : !up;
    if (turns) {
        counted[0]++;
        /* what starts where the fall ended is ahead of the rise */
        up = lowest(BOTH, falling ? last_start : 0);
        down = highest(BOTH, falling ? 0 : queue.head_sector);
        falling = !falling;
    }
    struct request *r = falling ? down : up;
    last_start = r->sector;
    return r;
}

TEST(scan_chooses_as_its_model)
{
    check_model(
        &(struct model){"scan", scan_begins, scan, false, 4 * NS_PER_MS});
}

static struct request *sstf(u64 now_ns)
{
    (void)now_ns;
    u64 head = queue.head_sector;
    struct request *up = lowest(BOTH, head), *down = highest(BOTH, head);
    struct request *r = !up                                       ? down
                        : !down                                   ? up
                        : up->sector - head < head - down->sector ? up
                                                                  : down;
    counted[0] += r != oldest(BOTH);
    return r;
}

TEST(sstf_chooses_as_its_model)
{
    check_model(&(struct model){"sstf", nothing, sstf, false, 4 * NS_PER_MS});
}

/* ---- PURP ---- */

static u64 bound_ns;

static void purp_begins(const struct policy *p, u64 *seed)
{
    draw(p, "bound_ms", seed, 0, 30);
    bound_ns = tunable_named(p, "bound_ms")->value * NS_PER_MS;
}

static struct request *purp(u64 now_ns)
{
    struct request *read = oldest(READS), *write = oldest(WRITES);
    if (!read || !write)
        return read ? read : write;
    bool overdue = bound_ns && now_ns >= write->queued_ns + bound_ns;
    counted[1] += overdue;
    counted[0] += !overdue && older(write, read);
    return overdue ? write : read;
}

TEST(purp_chooses_as_its_model)
{
    check_model(
        &(struct model){"purp", purp_begins, purp, false, 4 * NS_PER_MS});
}

/* ---- deadline ---- */

static struct {
    u64 expire_ms[2], starved, most; /* the tunables */
    bool writing;
    u64 left, passed, sweep[2];
} batch;

static void deadline_begins(const struct policy *p, u64 *seed)
{
    draw(p, "read_expire_ms", seed, 0, 20);
    draw(p, "write_expire_ms", seed, 0, 60);
    draw(p, "writes_starved", seed, 0, 3);
    draw(p, "fifo_batch", seed, 1, 5);
    memset(&batch, 0, sizeof batch);
    batch.expire_ms[0] = tunable_named(p, "read_expire_ms")->value;
    batch.expire_ms[1] = tunable_named(p, "write_expire_ms")->value;
    batch.starved = tunable_named(p, "writes_starved")->value;
    batch.most = tunable_named(p, "fifo_batch")->value;
}

/* Whose turn it is; the first batch of all goes on where the head is. */
static void choose_kind(void)
{
    bool writing = oldest(WRITES);
    if (writing && oldest(READS))
        writing = batch.passed++ >= batch.starved;
    if (writing)
        batch.passed = 0;
    batch.sweep[batch.writing] = queue.head_sector;
    batch.writing = writing;
}

static struct request *deadline(u64 now_ns)
{
    u32 dir = batch.writing ? WRITES : READS;
    struct request *r = lowest(dir, queue.head_sector);
    if (batch.left && r) {
        batch.left--;
        return r;
    }
    choose_kind();
    dir = batch.writing ? WRITES : READS;
    struct request *first = oldest(dir);
    bool expired = (now_ns - first->queued_ns) / NS_PER_MS >=
                   batch.expire_ms[batch.writing];
    counted[batch.writing]++;
    counted[2] += expired;
    batch.left = batch.most - 1;
    r = lowest(dir, batch.sweep[batch.writing]);
    return expired || !r ? first : r;
}

TEST(deadline_chooses_as_its_model)
{
    check_model(&(struct model){"deadline", deadline_begins, deadline, false,
                                4 * NS_PER_MS});
}

/* ---- opportunistic ---- */

static u64 near_sectors, most_taken, taken;

static void opportunistic_begins(const struct policy *p, u64 *seed)
{
    draw(p, "near_sectors", seed, 1, 40);
    draw(p, "most", seed, 0, 3);
    near_sectors = tunable_named(p, "near_sectors")->value;
    most_taken = tunable_named(p, "most")->value;
    taken = 0;
}

/* What is near the head, else near the request: the youngest of equals there.
 */
static struct request *near_the_way(u64 to)
{
    u64 head = queue.head_sector;
    struct request *r = lowest(OFFERS, head), *last = NULL;
    if (r && r->sector < to && r->sector <= head + near_sectors)
        return r;
    for (r = requests; r < requests + MOST; r++) {
        if (is_of(r, OFFERS) && r->sector >= head && r->sector < to &&
            r->sector + near_sectors >= to &&
            (!last || r->sector > last->sector ||
             (r->sector == last->sector && older(last, r))))
            last = r;
    }
    return last;
}

static struct request *opportunistic(u64 now_ns)
{
    (void)now_ns;
    struct request *r = lowest(BOTH, queue.head_sector);
    if (!r)
        r = lowest(BOTH, 0);
    struct request *offer = taken < most_taken ? near_the_way(r->sector) : NULL;
    taken = offer ? taken + 1 : 0;
    counted[0] += offer != NULL;
    return offer ? offer : r;
}

TEST(opportunistic_chooses_as_its_model)
{
    check_model(&(struct model){"opportunistic", opportunistic_begins,
                                opportunistic, false, 4 * NS_PER_MS});
}

/* ---- WOW ---- */

static struct {
    u64 high, low, group, spare; /* the tunables */
    u64 hand, end;
    bool draining;
    bool again[MOST]; /* as it is to be left */
} wow;

static void wow_begins(const struct policy *p, u64 *seed)
{
    draw(p, "low_blocks", seed, 0, 3);
    draw(p, "high_blocks", seed, tunable_named(p, "low_blocks")->value, 6);
    draw(p, "group_sectors", seed, 1, 64);
    draw(p, "spare", seed, 0, 1);
    memset(&wow, 0, sizeof wow);
    wow.high = tunable_named(p, "high_blocks")->value;
    wow.low = tunable_named(p, "low_blocks")->value;
    wow.group = tunable_named(p, "group_sectors")->value;
    wow.spare = tunable_named(p, "spare")->value;
}

/* Blocks of one sector are one to the hand: it sees the oldest of them. */
static bool group_was_modified(u64 from, u64 end)
{
    bool modified = false;
    struct request *r = lowest(OFFERS, from);
    for (; r && r->sector < end; r = lowest(OFFERS, r->sector + 1)) {
        modified |= wow.again[r - requests];
        wow.again[r - requests] = false;
    }
    return modified;
}

static struct request *wow_group(void)
{
    for (;; counted[1]++) {
        struct request *r = lowest(OFFERS, wow.hand);
        if (!r)
            r = lowest(OFFERS, 0);
        wow.hand = wow.end = r->sector - r->sector % wow.group + wow.group;
        if (wow.spare && group_was_modified(r->sector, wow.end))
            continue;
        counted[0]++;
        return r;
    }
}

static struct request *wow_next(u64 now_ns)
{
    (void)now_ns;
    for (u32 i = 0; i < MOST; i++)
        wow.again[i] = requests[i].again;
    struct request *r = lowest(BOTH, queue.head_sector);
    if (!r)
        r = lowest(BOTH, 0);
    if (r)
        return r;
    wow.draining = count(OFFERS) > (wow.draining ? wow.low : wow.high);
    if (!wow.draining)
        return NULL;
    r = lowest(OFFERS, wow.hand);
    if (!r || r->sector >= wow.end)
        r = wow_group();
    wow.hand = r->sector + r->nsectors;
    return r;
}

TEST(wow_chooses_as_its_model)
{
    const struct model m = {"wow", wow_begins, wow_next, true, 4 * NS_PER_MS};
    check_model(&m);
}

/* ---- freeblock ---- */

static struct {
    u64 sweep;                /* where C-LOOK's order is */
    const struct request *to; /* a free write went before this one; */
    u64 arrival;              /* its number, for the request may have gone */
    u64 promised_ns;          /* and it was to begin then */
} promise;

static void freeblock_begins(const struct policy *p, u64 *seed)
{
    (void)p, (void)seed;
    drive_approaches = toy_drive;
    memset(&promise, 0, sizeof promise);
}

static bool is_promised(const struct request *r)
{
    return promise.to == r && r->arrival == promise.arrival;
}

static u64 none_late(const struct request *write, u64 late_ns)
{
    (void)write, (void)late_ns;
    return 0;
}

/* Detours have a test of their own (detour_test.c): this asks the kernel's. */
static struct request *free_write(const struct request *to, u64 *begin_ns)
{
    struct lateness late = *lateness_of(&queue);
    struct detour detour = {.dir = OFFERS,
                            .near_sector = queue.head_sector,
                            .most_late_ns = none_late};
    struct request *write = queue_detour(&queue, to, &detour);
    *lateness_of(&queue) = late;
    *begin_ns = detour.begin_ns;
    return write;
}

/* The request that a free write went before, else C-LOOK's next. */
static struct request *freeblock_goes_to(void)
{
    for (struct request *r = requests; r < requests + MOST; r++) {
        if (is_of(r, BOTH) && is_promised(r) && lowest(BOTH, r->sector) == r)
            return r;
    }
    struct request *r = lowest(BOTH, promise.sweep);
    return r ? r : lowest(BOTH, 0);
}

static struct request *freeblock(u64 now_ns)
{
    struct request *r = freeblock_goes_to();
    counted[1] +=
        is_promised(r) &&
        toy_drive(&queue, now_ns, NULL, 0, r).begin_ns > promise.promised_ns;
    struct request *write = free_write(r, &promise.promised_ns);
    if (!write) {
        promise.sweep = r->sector + r->nsectors;
        promise.to = NULL;
        return r;
    }
    counted[0]++;
    promise.to = r;
    promise.arrival = r->arrival;
    return write;
}

TEST(freeblock_chooses_as_its_model)
{
    check_model(&(struct model){"freeblock", freeblock_begins, freeblock, false,
                                60000});
    check(counted[0] > 0 && counted[1] > 0);
}

/* ---- SATF ---- */

static u64 ageing;

static void satf_begins(const struct policy *p, u64 *seed)
{
    draw(p, "ageing", seed, 0, 20);
    ageing = tunable_named(p, "ageing")->value;
    drive_approaches = toy_drive;
}

/* Of requests that start at one sector only one is looked at. */
static bool is_hidden(const struct request *r)
{
    for (const struct request *s = requests; s < requests + MOST; s++) {
        if (is_of(s, BOTH) && s != r && s->sector == r->sector &&
            goes_first(s, r))
            return true;
    }
    return false;
}

/* The soonest of all, with that part of its age in its favour. */
static struct request *soonest(u64 now_ns, u64 thousandths)
{
    struct request *best = NULL;
    i64 best_ns = 0;
    for (struct request *r = requests; r < requests + MOST; r++) {
        if (!is_of(r, BOTH) || is_hidden(r))
            continue;
        i64 ns = toy_drive(&queue, now_ns, NULL, 0, r).begin_ns;
        ns -= (now_ns - r->queued_ns) / 1000 * thousandths;
        if (!best || ns < best_ns ||
            (ns == best_ns && r->sector < best->sector)) {
            best = r;
            best_ns = ns;
        }
    }
    return best;
}

static struct request *satf(u64 now_ns)
{
    struct request *r = soonest(now_ns, ageing);
    counted[0] += r != oldest(BOTH);
    counted[1] += r != soonest(now_ns, 0);
    return r;
}

TEST(satf_chooses_as_its_model)
{
    check_model(
        &(struct model){"satf", satf_begins, satf, false, 4 * NS_PER_MS});
    check(counted[0] > 0 && counted[1] > 0);
}
