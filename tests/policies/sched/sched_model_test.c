/*
 * Schedulers held against models: each choice of a random run, and each
 * counter after it, must be the model's. A model looks at an array of what is
 * queued, and shares no code with the scheduler of its name.
 *
 * link: tests/support/native/test.c tests/support/native/toy_drive.c
 */
#include "tests/support/native/toy_drive.h"
#include "kernel/disk/queue.h"
#include "policies/lib/detour.h"

#define MOST     24
#define STEPS    1500
#define SEEDS    20
#define COUNTERS 6

static struct queue queue;
static struct request requests[MOST]; /* queued, if `queue` is set */

/* ---- what is queued ---- */

/* True if the request is queued and of one of the kinds whose bits dir has. */
static bool is_of(const struct request *r, u32 dir)
{
    u32 kind = r->candidate ? CANDIDATES : r->write ? WRITES : READS;
    return r->queue && (dir & kind);
}

/* True if a came before b, or if there is no b yet. */
static bool older(const struct request *a, const struct request *b)
{
    return !b || a->arrival < b->arrival;
}

/* Return the request of this direction that came first, or NULL. */
static struct request *oldest(u32 dir)
{
    struct request *best = NULL;
    for (struct request *r = requests; r < requests + MOST; r++) {
        if (is_of(r, dir) && older(r, best))
            best = r;
    }
    return best;
}

/* The order of two requests that start at one sector: reads, then writes, then
 * dirty blocks; among equals by age. True if a goes first. */
static bool goes_first(const struct request *a, const struct request *b)
{
    u32 kind_of_a = a->candidate ? 2 : a->write,
        kind_of_b = b->candidate ? 2 : b->write;
    return kind_of_a < kind_of_b || (kind_of_a == kind_of_b && older(a, b));
}

/* Return the request of these sets that starts first from that sector on. */
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

/* Return the request of these sets that starts last below that sector. */
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

/* A model: its choice, and how many of each of the policy's counters there are
 * to be. It begins with its state 0, with tunables that are drawn, and then
 * with `begin`. */
struct model {
    const char *name, *policy;
    struct request *(*next)(u64 now_ns);
    u64 step_ns; /* the longest time between two steps */
    void *state;
    u64 state_bytes;
    void (*begin)(void);
    struct {
        const char *name;
        u64 *value, least, most;
        const u64 *not_below; /* (optional) the least is this value */
    } tunables[6];
    u32 moved; /* how many counters, the first ones, move in the last run */
    bool in_some_run;      /* or in another */
    bool candidates_alone; /* asked when there are dirty blocks and nothing else
                            */
    /* (optional) A request has come, or goes. With them the drive takes time,
     * and dirty blocks are no matter. */
    void (*queued)(const struct request *);
    void (*leaves)(const struct request *);
};

/* What the model counts, in the order of the policy's table of counters. */
static u64 counted[COUNTERS];

/* Queue a random request, if one of the places in `requests` is free. Only
 * models without `queued` get candidate writes. */
static void add(const struct policy *p, const struct model *m, u64 *seed)
{
    struct request *r = requests;
    while (r < requests + MOST && r->queue)
        r++;
    if (r == requests + MOST)
        return;
    *r = (struct request){.sector = random_u64(seed) % 300,
                          .nsectors = 1 + random_u64(seed) % 8,
                          .write = random_u64(seed) % 2,
                          .waited = random_u64(seed) % 2,
                          .pid = 1 + random_u64(seed) % 4,
                          .queued_ns = clock_now_ns};
    r->candidate = r->write && random_u64(seed) % 2 && !m->queued;
    queue_add(&queue, r);
    if (!m->queued)
        return;
    m->queued(r);
    p->sched.queued(&queue, r, clock_now_ns);
}

/* Take the request from the queue, with the head behind its last sector. */
static void go(struct request *r)
{
    queue.head_sector = r->sector + r->nsectors;
    queue_take(&queue, r);
}

/* Let the policy and its model choose the next request, check that it is the
 * same, and serve it. A drive that takes time is busy for up to step_ns. */
static void serve(const struct policy *p, const struct model *m)
{
    if (!count(m->candidates_alone ? BOTH | CANDIDATES : BOTH))
        return;
    clock_now_ns = MAX(clock_now_ns, queue.done_ns);
    struct request *want = m->next(clock_now_ns);
    struct request *got = p->sched.next(&queue, clock_now_ns);
    check(got == want);
    if (got && m->leaves) {
        m->leaves(got);
        p->sched.leaves(&queue, got, clock_now_ns);
        queue.last_ns = clock_now_ns;
        queue.done_ns = clock_now_ns + m->step_ns * (got->sector % 7) / 7;
    }
    if (got)
        go(got);
}

/* Let a random candidate write be modified again (3 of 4 times), or be written
 * by another part of the kernel, so that it leaves the queue. */
static void touch(u64 *seed)
{
    struct request *r = &requests[random_u64(seed) % MOST];
    if (!is_of(r, CANDIDATES))
        return;
    if (random_u64(seed) % 4)
        r->again = true;
    else
        queue_take(&queue, r);
}

/* Let up to step_ns pass, and then do one thing at random: of 16 steps, 7 queue
 * a request, 2 touch a candidate write, and 7 serve a request. */
static void step(const struct policy *p, const struct model *m, u64 *seed)
{
    u64 what = random_u64(seed) % 16;
    clock_now_ns += random_u64(seed) % m->step_ns;
    if (what < 7)
        add(p, m, seed);
    else if (what < 9)
        touch(seed);
    else
        serve(p, m);
}

/* Set the model's state to 0 and draw its tunables, which the policy gets
 * too. */
static void begin_model(const struct model *m, const struct policy *p,
                        u64 *seed)
{
    if (m->state)
        memset(m->state, 0, m->state_bytes);
    for (u32 i = 0; i < NELEM(m->tunables) && m->tunables[i].name; i++) {
        u64 *value = m->tunables[i].value, least = m->tunables[i].least;
        if (m->tunables[i].not_below)
            least = *m->tunables[i].not_below;
        *value = least + random_u64(seed) % (m->tunables[i].most - least + 1);
        tunable_named(p, m->tunables[i].name)->value = *value;
    }
    if (m->begin)
        m->begin();
}

/* Make one random run, and check that each counter of the policy grew by as
 * much as the model counted. */
static void run(const struct model *m, u64 seed)
{
    const struct policy *p = policy_named(POLICY_SCHED, m->policy);
    u64 before[COUNTERS];
    struct policy_counter *c = p->counters;
    memset(requests, 0, sizeof requests);
    memset(counted, 0, sizeof counted);
    for (u32 i = 0; c && c[i].name; i++)
        before[i] = c[i].value;
    queue_init(&queue, 0);
    begin_model(m, p, &seed);
    for (u32 i = 0; i < STEPS; i++)
        step(p, m, &seed);
    for (u32 i = 0; c && c[i].name; i++)
        check_eq(counter_of(p, c[i].name) - before[i], counted[i]);
}

/* ---- C-LOOK, C-SCAN, SCAN, SSTF ---- */

static struct request *fcfs(u64 now_ns)
{
    (void)now_ns;
    return oldest(BOTH);
}

static struct request *clook(u64 now_ns)
{
    (void)now_ns;
    struct request *r = lowest(BOTH, queue.head_sector);
    counted[0] += !r;
    return r ? r : lowest(BOTH, 0);
}

/* The arm: it is at the last cylinder 3 ms after it was sent there, and at the
 * first 5 ms later. */
static struct {
    bool at_end;
    u64 there_ns;
    u64 sent; /* how often, to either */
} arm;

/* Send the arm to the last or the first cylinder; returns when it is there. */
static u64 to_edge(bool last)
{
    check(arm.at_end != last); /* alternately, the last cylinder first */
    arm.there_ns =
        last ? clock_now_ns + 3 * NS_PER_MS : arm.there_ns + 5 * NS_PER_MS;
    arm.at_end = last;
    arm.sent++;
    return arm.there_ns;
}

static bool on_the_way; /* to the last edge and back to the first */
static u64 back_ns;     /* when the arm is at the first edge */

static void cscan_begins(void)
{
    drive_to_edge = to_edge;
    on_the_way = false;
}

/* C-SCAN: the next request upwards. If there is none, send the arm back, which
 * takes 8 ms, and begin with the lowest. */
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

static bool falling;   /* the head goes to lower sectors */
static u64 last_start; /* the first sector of the last request */

/* SCAN: the next request in the direction of the arm. If there is none, the
 * direction turns, which is counted. */
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

/* SSTF: the request nearest to the head; of two as near, the one below. Counts
 * when it is not the oldest. */
static struct request *sstf(u64 now_ns)
{
    (void)now_ns;
    u64 head = queue.head_sector;
    struct request *up = lowest(BOTH, head), *down = highest(BOTH, head);
    struct request *r = up ? up : down;
    if (up && down && head - down->sector <= up->sector - head)
        r = down;
    counted[0] += r != oldest(BOTH);
    return r;
}

/* ---- PURP ---- */

static u64 bound_ms;

/* PURP: the oldest read, or the oldest write if no read waits or if it has
 * waited for the bound. Counts writes that are overtaken and writes that are
 * overdue. */
static struct request *purp(u64 now_ns)
{
    struct request *read = oldest(READS), *write = oldest(WRITES);
    if (!read || !write)
        return read ? read : write;
    bool overdue =
        bound_ms && now_ns >= write->queued_ns + bound_ms * NS_PER_MS;
    bool overtaken = !overdue && older(write, read);
    counted[0] += overtaken;
    counted[1] += overdue;
    return overdue ? write : read;
}

/* ---- deadline ---- */

/* Reads are [0], writes are [1]. */
static struct {
    u64 expire_ms[2], starved, most; /* the tunables */
    bool writing;
    u64 left;     /* requests that may still join this batch */
    u64 passed;   /* batches of reads while writes waited */
    u64 sweep[2]; /* the sector from which the next batch goes on */
} batch;

/* Choose whether reads or writes get the next batch. The first batch of all
 * goes on where the head is. */
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

/* Go on with the batch; if it is over, begin another one. The new batch starts
 * with its oldest request if that has expired, else where the last batch of its
 * kind ended. */
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
    counted[batch.writing]++; /* batches of reads, of writes */
    counted[2] += expired;
    batch.left = batch.most - 1;
    r = lowest(dir, batch.sweep[batch.writing]);
    return expired || !r ? first : r;
}

/* ---- opportunistic ---- */

static struct {
    u64 near_sectors, most; /* the tunables */
    u64 taken;              /* candidates since the last other request */
} way;

/* The candidate to write on the way to the request at `to`: the first one
 * within near_sectors of the head; else the last one within near_sectors of the
 * request. If several of these start at one sector, it is the youngest. */
static struct request *near_the_way(u64 to)
{
    u64 head = queue.head_sector;
    struct request *r = lowest(CANDIDATES, head), *last = NULL;
    if (r && r->sector < to && r->sector <= head + way.near_sectors)
        return r;
    for (r = requests; r < requests + MOST; r++) {
        if (is_of(r, CANDIDATES) && r->sector >= head && r->sector < to &&
            r->sector + way.near_sectors >= to &&
            (!last || r->sector > last->sector ||
             (r->sector == last->sector && older(last, r))))
            last = r;
    }
    return last;
}

/* C-LOOK's next request, unless a candidate lies on the way to it and fewer
 * than `most` candidates went before it. */
static struct request *opportunistic(u64 now_ns)
{
    (void)now_ns;
    struct request *r = lowest(BOTH, queue.head_sector);
    if (!r)
        r = lowest(BOTH, 0);
    struct request *candidate =
        way.taken < way.most ? near_the_way(r->sector) : NULL;
    way.taken = candidate ? way.taken + 1 : 0;
    counted[0] += candidate != NULL;
    return candidate ? candidate : r;
}

/* ---- WOW ---- */

static struct {
    u64 high, low, group, spare; /* the tunables */
    u64 hand, end;    /* the sector where the hand is; where its group ends */
    bool draining;    /* from `high` candidates until only `low` are left */
    bool again[MOST]; /* what request.again must be after the choice */
} wow;

/* True if a candidate of the group was modified again since the hand passed,
 * which this forgets. Of candidates at one sector the hand sees only the
 * oldest. */
static bool group_was_modified(u64 from, u64 end)
{
    bool modified = false;
    struct request *r = lowest(CANDIDATES, from);
    for (; r && r->sector < end; r = lowest(CANDIDATES, r->sector + 1)) {
        modified |= wow.again[r - requests];
        wow.again[r - requests] = false;
    }
    return modified;
}

/* Move the hand to the next group to be written, and return its first
 * candidate. Groups that were modified again are spared once. */
static struct request *wow_group(void)
{
    for (;; counted[1]++) {
        struct request *r = lowest(CANDIDATES, wow.hand);
        if (!r)
            r = lowest(CANDIDATES, 0);
        wow.hand = wow.end = r->sector - r->sector % wow.group + wow.group;
        if (wow.spare && group_was_modified(r->sector, wow.end))
            continue;
        counted[0]++;
        return r;
    }
}

/* Return C-LOOK's next request; without any, a candidate of the hand's group,
 * while there are so many candidates that they are drained. */
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
    wow.draining = count(CANDIDATES) > (wow.draining ? wow.low : wow.high);
    if (!wow.draining)
        return NULL;
    r = lowest(CANDIDATES, wow.hand);
    if (!r || r->sector >= wow.end)
        r = wow_group();
    wow.hand = r->sector + r->nsectors;
    return r;
}

/* ---- freeblock ---- */

static struct {
    u64 sweep;                /* where C-LOOK's order is */
    const struct request *to; /* a free write went before this one; */
    u64 arrival;              /* its number, for the request may have gone */
    u64 promised_ns;          /* and it was to begin then */
} promise;

/* Let the queue's drive be the toy, which can tell approaches. */
static void has_toy_drive(void)
{
    drive_approaches = toy_drive;
}

/* True if the last free write went before this request. */
static bool is_promised(const struct request *r)
{
    return promise.to == r && r->arrival == promise.arrival;
}

/* Allow a detour to make its request late by 0 ns. */
static u64 none_late(const struct request *write, u64 late_ns)
{
    (void)write, (void)late_ns;
    return 0;
}

/* Detours have a test of their own (detour_test.c): this asks the kernel's. */
static struct request *free_write(const struct request *to, u64 *begin_ns)
{
    struct lateness late = *lateness_of(&queue);
    struct detour detour = {.dir = CANDIDATES,
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

/* Freeblock: a write that fits before the request that the head goes to, or
 * that request itself. Counts free writes, and promised times that were
 * missed. */
static struct request *freeblock(u64 now_ns)
{
    struct request *r = freeblock_goes_to();
    u64 begin_ns = toy_drive(&queue, now_ns, NULL, 0, r).begin_ns;
    bool late = is_promised(r) && begin_ns > promise.promised_ns;
    counted[1] += late;
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

/* ---- SATF ---- */

static u64 ageing; /* the tunable: ns for each us of age */

/* SATF looks at one request for each start sector. True if that is another
 * request than r. */
static bool is_hidden(const struct request *r)
{
    for (const struct request *s = requests; s < requests + MOST; s++) {
        if (is_of(s, BOTH) && s != r && s->sector == r->sector &&
            goes_first(s, r))
            return true;
    }
    return false;
}

/* Return the request that can begin first, where a part of its age counts as
 * time gained: the age in us times `thousandths` ns. */
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

/* counted[0]: choices that were not the oldest request; counted[1]: choices
 * that would be others without ageing. */
static struct request *satf(u64 now_ns)
{
    struct request *r = soonest(now_ns, ageing);
    counted[0] += r != oldest(BOTH);
    counted[1] += r != soonest(now_ns, 0);
    return r;
}

/* ---- BFQ ---- */

#define PROCESSES 5 /* of which 0 stands for writes that are not waited for */
#define NOBODY    PROCESSES

/* Virtual time: sectors of service, times UNIT. */
#define UNIT 1024

/* The model's counters. Of them, three say why a turn ended. */
enum { TURNS, USED_UP, TIMED_OUT, EMPTIED, IDLED, CAME };

static struct member {
    u64 rank;              /* its place among all, by when it first came */
    u64 start, finish;     /* of its turn, in virtual time */
    u64 budget;            /* sectors of a turn, at most */
    u64 at, seeky;         /* where its last request ended; far ones, 0 to 16 */
    u64 done_ns, think_ns; /* its last request; from there to its next one */
} members[PROCESSES];
static struct {
    u64 most, least, timeout_ns, idle_ns, seeky_idle_ns, near; /* tunables */
    u64 time;                                                  /* virtual */
    u64 ranks;            /* how many were given */
    u64 serving;          /* whose turn it is, or NOBODY */
    u64 served, since_ns; /* sectors in this turn; when it began */
    u64 last;             /* whose request is under way, or NOBODY */
    bool idling;          /* the disk waits for the next request of `serving` */
} fair;

/* Convert the drawn tunables, which are in ms and us, to ns. */
static void bfq_begins(void)
{
    memset(members, 0, sizeof members);
    fair.timeout_ns *= NS_PER_MS;
    fair.idle_ns *= 1000;
    fair.seeky_idle_ns *= 1000;
    fair.serving = fair.last = NOBODY;
}

/* The process whose queue has the request; 0: the queue that all writes share
 * for which no process waits. */
static u64 owner(const struct request *r)
{
    return r->write && !r->waited ? 0 : r->pid;
}

/* Return how many requests of a process are queued, except `but`. */
static u64 queued_of(u64 who, const struct request *but)
{
    u64 n = 0;
    for (const struct request *r = requests; r < requests + MOST; r++)
        n += is_of(r, BOTH) && r != but && owner(r) == who;
    return n;
}

/* Return the budget, cut to the limits of the tunables. */
static u64 within(u64 budget)
{
    return MAX(MIN(budget, fair.most), fair.least);
}

/* End the turn: its process pays for the sectors that it used, and gets its
 * next budget by `why`, a counter. After a timeout it pays for a whole turn. */
static void turn_over(u32 why, const struct request *but)
{
    struct member *m = &members[fair.serving];
    u64 used = why == TIMED_OUT ? MAX(fair.served, fair.most) : fair.served;
    if (why != TIMED_OUT)
        m->budget = why == USED_UP ? 2 * m->budget : fair.served;
    m->budget = within(m->budget);
    m->start += UNIT * used;
    m->finish = m->start;
    if (queued_of(fair.serving, but))
        m->finish += UNIT * m->budget;
    fair.serving = NOBODY;
    counted[why]++;
}

/* Return until when the disk stays idle for the process whose turn it is: a
 * shorter time if it seeks much, and none if it thinks too long. */
static u64 idle_ends_ns(void)
{
    const struct member *m = &members[fair.serving];
    u64 ns =
        m->seeky > 8 ? MIN(fair.idle_ns, fair.seeky_idle_ns) : fair.idle_ns;
    if (!fair.serving || m->think_ns > fair.idle_ns)
        ns = 0;
    return MIN(m->done_ns + ns, fair.since_ns + fair.timeout_ns);
}

/* Note that the last request is done, and end the turn of a process that sent
 * none, except `but`, while the disk was idle for it. */
static void pass_time(const struct request *but)
{
    if (fair.last != NOBODY && queue.done_ns <= clock_now_ns) {
        members[fair.last].done_ns = queue.done_ns;
        fair.last = NOBODY;
    }
    if (fair.serving != NOBODY && fair.serving != fair.last &&
        !queued_of(fair.serving, but) && clock_now_ns >= idle_ends_ns())
        turn_over(EMPTIED, but);
}

/* Note a request that is queued. The first one of a process after a pause
 * updates how long it thinks, and gives it a place in virtual time unless the
 * disk is idle for it. */
static void bfq_comes(const struct request *r)
{
    pass_time(r);
    u64 who = owner(r);
    struct member *m = &members[who];
    if (who && !m->rank)
        m->rank = ++fair.ranks;
    if (!queued_of(who, r)) {
        u64 ns = MIN(clock_now_ns - m->done_ns, NS_PER_S);
        if (m->done_ns)
            m->think_ns = m->think_ns - m->think_ns / 8 + ns / 8;
        if (who == fair.serving) {
            counted[CAME] += fair.idling;
            fair.idling = false;
        } else {
            m->start = MAX(fair.time, m->finish);
            m->finish = m->start + UNIT * within(m->budget);
        }
    }
    u64 distance = MAX(m->at, r->sector) - MIN(m->at, r->sector);
    if (distance > fair.near)
        m->seeky = MIN(m->seeky + 1, 16);
    else
        m->seeky = MAX(m->seeky, 1) - 1;
    m->at = r->sector + r->nsectors;
}

/* Let virtual time go on by the sectors of a request that leaves the queue,
 * divided by the number of active processes. */
static void bfq_goes(const struct request *r)
{
    u64 active = 0;
    for (u64 i = 0; i < PROCESSES; i++)
        active += i == fair.serving || queued_of(i, NULL);
    fair.time += UNIT * r->nsectors / active;
    if (owner(r) == fair.serving)
        fair.served += r->nsectors;
}

/* True if a's turn is before b's: it finishes earlier, or it has the same end
 * and came first. */
static bool earlier_turn(const struct member *a, const struct member *b)
{
    return a->finish < b->finish ||
           (a->finish == b->finish && a->rank < b->rank);
}

/* Return the process whose turn finishes first, of those that have requests and
 * may start by now. Virtual time goes on until one of them may. */
static u64 whose_turn(void)
{
    u64 best = NOBODY, soonest_start = UNLIMITED;
    for (u64 i = 0; i < PROCESSES; i++) {
        if (queued_of(i, NULL))
            soonest_start = MIN(soonest_start, members[i].start);
    }
    fair.time = MAX(fair.time, soonest_start);
    for (u64 i = 0; i < PROCESSES; i++) {
        if (!queued_of(i, NULL) || members[i].start > fair.time)
            continue;
        if (best == NOBODY || earlier_turn(&members[i], &members[best]))
            best = i;
    }
    return best;
}

/* Return the process's first request at or after the sector `from`; if there is
 * none, its first one from sector 0. */
static struct request *sweep_of(u64 who, u64 from)
{
    struct request *best = NULL;
    for (struct request *r = requests; r < requests + MOST; r++) {
        if (!is_of(r, BOTH) || owner(r) != who || r->sector < from)
            continue;
        if (!best || r->sector < best->sector ||
            (r->sector == best->sector && older(r, best)))
            best = r;
    }
    return best || !from ? best : sweep_of(who, 0);
}

/* End the turn if its time or budget is over, begin another one if there is
 * none, and return the request of that process; NULL: the disk stays idle. */
static struct request *bfq(u64 now_ns)
{
    pass_time(NULL);
    struct request *r = NULL;
    if (fair.serving != NOBODY &&
        (r = sweep_of(fair.serving, queue.head_sector))) {
        if (now_ns >= fair.since_ns + fair.timeout_ns)
            turn_over(TIMED_OUT, NULL);
        else if (fair.served &&
                 fair.served + r->nsectors > members[fair.serving].budget)
            turn_over(USED_UP, NULL);
    }
    if (fair.serving == NOBODY) {
        fair.serving = whose_turn();
        members[fair.serving].budget = within(members[fair.serving].budget);
        fair.served = 0;
        fair.since_ns = now_ns;
        fair.idling = false;
        counted[TURNS]++;
    }
    r = sweep_of(fair.serving, queue.head_sector);
    if (r) {
        fair.last = fair.serving;
    } else {
        counted[IDLED] += !fair.idling;
        fair.idling = true;
    }
    return r;
}

/* ---- Kyber ---- */

#define SAMPLES 4096

/* The model's counters after those of batches of reads and of writes. */
enum { NO_TOKEN = 2, CONGESTED, DEEPER, SHALLOWER };

/* What quarter() returns if there are too few samples. The quarters above a
 * latency's target are 4 to 7. */
enum { MISSED = 4, TOO_FEW = 8 };

/* Two domains: reads are [0], writes are [1]. Of each, two kinds of latency: in
 * the device [0], and from being queued until done [1]. first_ns: the time of
 * the first sample. */
static struct {
    u64 n, ns[SAMPLES], first_ns;
} latencies[2][2];
static struct {
    u64 target_ns[2], places; /* the tunables */
    u64 depth[2];             /* requests that may be inside, of each domain */
    u64 p99[2];               /* the last quarters of the 99th percentile */
    u64 turn, batched;        /* the domain that enters; how many did */
    u64 entered;              /* how many in all */
    u64 look_ns;              /* when the depths are set next */
    bool under_way;           /* a request was chosen; of it: */
    u64 of, queued_ns, entered_ns;
} gate;
/* Of each request: its number among those that entered, or 0; and when. */
static u64 number[MOST], came_in_ns[MOST];

/* Convert the targets, drawn in us, to ns, and set the depths with which Kyber
 * begins. */
static void kyber_begins(void)
{
    memset(latencies, 0, sizeof latencies);
    memset(number, 0, sizeof number);
    gate.target_ns[0] *= 1000;
    gate.target_ns[1] *= 1000;
    gate.depth[0] = 256;
    gate.depth[1] = 128;
    gate.p99[0] = gate.p99[1] = TOO_FEW;
    drive_approaches = toy_drive;
}

/* Return how many requests are in the device: of reads, of writes, or of the
 * writes for which no process waits. */
static u64 inside(bool reads, bool writes, bool unwaited)
{
    u64 n = 0;
    for (u32 i = 0; i < MOST; i++) {
        const struct request *r = &requests[i];
        bool counts = !r->write ? reads : writes || (unwaited && !r->waited);
        n += r->queue && number[i] && counts;
    }
    return n;
}

/* Return the oldest read or write that has not entered yet. */
static struct request *first_outside(bool write)
{
    struct request *best = NULL;
    for (u32 i = 0; i < MOST; i++) {
        struct request *r = &requests[i];
        if (r->queue && !number[i] && r->write == write && older(r, best))
            best = r;
    }
    return best;
}

/* Note a latency of that kind, of the request that was under way. */
static void take_sample(u32 kind, u64 ns)
{
    u64 n = latencies[gate.of][kind].n++;
    check(n < SAMPLES);
    latencies[gate.of][kind].ns[n] = ns;
    if (!n)
        latencies[gate.of][kind].first_ns = clock_now_ns;
}

/* Return the quarter of the target, from 0 to 7, in which the percentile
 * lies, and drop the samples. TOO_FEW: fewer than 500 samples, in less than
 * a second. */
static u64 quarter(u32 domain, u32 kind, u64 percent)
{
    u64 n = latencies[domain][kind].n, q = 0;
    if (!n ||
        (n < 500 && clock_now_ns < latencies[domain][kind].first_ns + NS_PER_S))
        return TOO_FEW;
    for (; q < 7; q++) {
        u64 within_it = 0; /* samples up to the end of quarter q */
        for (u64 i = 0; i < n; i++)
            within_it += 4 * latencies[domain][kind].ns[i] <
                         (q + 1) * gate.target_ns[domain] + 4;
        if (100 * within_it >= percent * n)
            break;
    }
    latencies[domain][kind].n = 0;
    return q;
}

/* True if 90 of 100 latencies in the device tell that a domain missed its
 * target. */
static bool is_congested(u32 domain)
{
    u64 p90 = quarter(domain, 0, 90);
    return p90 >= MISSED && p90 < TOO_FEW;
}

/* Scale each domain's depth by its 99th percentile, a quarter of the target:
 * down if the device is congested, up where the domain missed its target. A
 * percentile that an uncongested device did not need is kept for later. */
static void set_depths(void)
{
    bool reads = is_congested(0), writes = is_congested(1);
    bool congested = reads || writes;
    counted[CONGESTED] += congested;
    for (u32 i = 0; i < 2; i++) {
        u64 p99 = quarter(i, 1, 99), use = p99;
        if (congested && p99 == TOO_FEW)
            use = gate.p99[i];
        if (congested)
            gate.p99[i] = TOO_FEW;
        else if (p99 != TOO_FEW)
            gate.p99[i] = p99;
        if (use == TOO_FEW || (!congested && use < MISSED))
            continue;
        u64 depth = gate.depth[i] * (use + 1) / 4;
        depth = depth ? MIN(depth, i ? 128 : 256) : 1;
        counted[DEEPER] += depth > gate.depth[i];
        counted[SHALLOWER] += depth < gate.depth[i];
        gate.depth[i] = depth;
    }
}

/* Let the domain's oldest request into the device. False: it has none, or no
 * token for it, or its writes for which no process waits have 3/4 of the
 * places. */
static bool enters(u32 domain)
{
    struct request *r = first_outside(domain);
    u64 unwaited = MAX(gate.places * 3 / 4, 1);
    if (!r)
        return false;
    if (inside(!domain, domain, false) >= gate.depth[domain]) {
        counted[NO_TOKEN]++;
        return false;
    }
    if (r->write && !r->waited && inside(false, false, true) >= unwaited)
        return false;
    number[r - requests] = ++gate.entered;
    came_in_ns[r - requests] = clock_now_ns;
    return true;
}

/* Fill the places of the device: by turns a batch of up to 16 reads and of up
 * to 8 writes, until neither can enter. */
static void let_in(void)
{
    for (u32 none = 0; none < 2 && inside(true, true, false) < gate.places;) {
        u64 batch_most = gate.turn ? 8 : 16;
        if (gate.batched < batch_most && enters(gate.turn)) {
            counted[gate.turn] += !gate.batched; /* a batch begins */
            gate.batched++;
            none = 0;
            continue;
        }
        none += gate.batched == 0;
        gate.batched = 0;
        gate.turn = !gate.turn;
    }
}

/* Sample the request that is done now, set the depths each 100 ms, fill the
 * device, and return the request in it that can begin first. An eighth of its
 * time in the device counts as time gained. */
static struct request *kyber(u64 now_ns)
{
    if (gate.under_way) {
        u64 done_ns = queue.done_ns > gate.entered_ns ? queue.done_ns : now_ns;
        take_sample(0, done_ns - gate.entered_ns);
        take_sample(1, done_ns - gate.queued_ns);
    }
    if (now_ns >= gate.look_ns) {
        set_depths();
        gate.look_ns = now_ns + 100 * NS_PER_MS;
    }
    let_in();
    u32 best = MOST;
    i64 best_ns = 0;
    for (u32 i = 0; i < MOST; i++) {
        if (!requests[i].queue || !number[i])
            continue;
        i64 ns = toy_drive(&queue, now_ns, NULL, 0, &requests[i]).begin_ns;
        ns -= (now_ns - came_in_ns[i]) / 8;
        if (best < MOST &&
            (ns > best_ns || (ns == best_ns && number[i] > number[best])))
            continue;
        best = i;
        best_ns = ns;
    }
    gate.under_way = true;
    gate.of = requests[best].write;
    gate.queued_ns = requests[best].queued_ns;
    gate.entered_ns = came_in_ns[best];
    return &requests[best];
}

static void kyber_comes(const struct request *r)
{
    number[r - requests] = 0;
}

static void kyber_goes(const struct request *r)
{
    number[r - requests] = 0;
}

/* ---- all of them ---- */

#define STATE(of) &(of), sizeof(of)
#define STEP_NS   (4 * NS_PER_MS)

static const struct model models[] = {
    {"fcfs_chooses_as_its_model", "fcfs", fcfs, STEP_NS},
    {"clook_chooses_as_its_model", "clook", clook, STEP_NS},
    {"cscan_chooses_as_its_model_and_goes_to_both_edges", "cscan", cscan,
     STEP_NS, STATE(arm), cscan_begins},
    {"cscan_is_clook_where_no_arm_can_be_moved", "cscan", clook, STEP_NS},
    {"scan_chooses_as_its_model", "scan", scan, STEP_NS, STATE(falling)},
    {"sstf_chooses_as_its_model", "sstf", sstf, STEP_NS},
    {"purp_chooses_as_its_model", "purp", purp, STEP_NS,
     .tunables = {{"bound_ms", &bound_ms, 0, 30}}},
    {"deadline_chooses_as_its_model", "deadline", deadline, STEP_NS,
     STATE(batch),
     .tunables = {{"read_expire_ms", &batch.expire_ms[0], 0, 20},
                  {"write_expire_ms", &batch.expire_ms[1], 0, 60},
                  {"writes_starved", &batch.starved, 0, 3},
                  {"fifo_batch", &batch.most, 1, 5}}},
    {"opportunistic_chooses_as_its_model", "opportunistic", opportunistic,
     STEP_NS, STATE(way),
     .tunables = {{"near_sectors", &way.near_sectors, 1, 40},
                  {"most", &way.most, 0, 3}}},
    {"wow_chooses_as_its_model", "wow", wow_next, STEP_NS, STATE(wow),
     .tunables = {{"low_blocks", &wow.low, 0, 3},
                  {"high_blocks", &wow.high, 0, 6, &wow.low},
                  {"group_sectors", &wow.group, 1, 64},
                  {"spare", &wow.spare, 0, 1}},
     .candidates_alone = true},
    {"freeblock_chooses_as_its_model", "freeblock", freeblock, 60000,
     STATE(promise), has_toy_drive, .moved = 2},
    {"satf_chooses_as_its_model",
     "satf",
     satf,
     STEP_NS,
     NULL,
     0,
     has_toy_drive,
     {{"ageing", &ageing, 0, 20}},
     .moved = 2},
    {"bfq_chooses_as_its_model", "bfq", bfq, STEP_NS, STATE(fair), bfq_begins,
     .tunables = {{"min_sectors", &fair.least, 1, 12},
                  {"max_sectors", &fair.most, 0, 40, &fair.least},
                  {"timeout_ms", &fair.timeout_ns, 1, 30},
                  {"idle_us", &fair.idle_ns, 0, 8000},
                  {"seeky_idle_us", &fair.seeky_idle_ns, 0, 4000},
                  {"near_sectors", &fair.near, 0, 200}},
     .moved = 6, .queued = bfq_comes, .leaves = bfq_goes},
    {"kyber_chooses_as_its_model", "kyber", kyber, 40 * NS_PER_MS, STATE(gate),
     kyber_begins,
     .tunables = {{"read_lat_us", &gate.target_ns[0], 5000, 600000},
                  {"write_lat_us", &gate.target_ns[1], 5000, 600000},
                  {"device_depth", &gate.places, 1, 12}},
     .moved = 6, .in_some_run = true, .queued = kyber_comes,
     .leaves = kyber_goes},
};

/* Each scheduler chooses as its model, for all seeds, and its counters move in
 * some run, or in the last. */
TEST_ROWS(model, struct model, models)
{
    u64 in_all[COUNTERS] = {0};
    for (u64 seed = 0; seed < SEEDS; seed++) {
        run(row, seed);
        for (u32 i = 0; i < COUNTERS; i++)
            in_all[i] += counted[i];
    }
    for (u32 i = 0; i < row->moved; i++)
        check((row->in_some_run ? in_all : counted)[i] > 0);
    if (row->next == cscan)
        check_eq(arm.sent, 2 * counted[0]);
}
