/*
 * BFQ, budget fair queueing: the disk serves one process at a time, and each
 * gets an equal share of the sectors. The disk waits for a process that makes
 * one request after another, so that no other process moves the arm away.
 *
 * - Queues. The reads of a process, and its writes that are waited for, are its
 *   queue. All other writes are one more queue. They are served one at a time.
 * - Budgets. A queue is in service until it has used its budget of sectors, or
 *   has been served for timeout_ms, or is empty. A budget that was used up is
 *   doubled for the next time; if the queue became empty, the next budget is
 *   what it used; from min_sectors to max_sectors. So a process that reads
 *   much gets long turns, one that reads little short and early ones.
 * - Order (B-WF2Q+). A queue has a virtual start and finish: the finish is its
 *   budget later. Virtual time runs by the sectors served, divided by the
 *   number of queues that have requests. Of the queues whose start has come,
 *   the one with the earliest finish is served next. After its turn a queue
 *   starts where it would have finished with what it used. A queue that was
 *   empty starts now, or there if that is later. A queue whose turn ended by
 *   the time is charged max_sectors: random reads get a share of the time, not
 *   of the sectors.
 * - Idling. If the queue of a process becomes empty, the disk stays idle for it
 *   for idle_us, or for seeky_idle_us if most of its requests were far from
 *   each other; but not if it has lately taken longer than idle_us to ask
 *   again.
 * - Within a queue, requests go in circular order of their sectors.
 *
 * Kept from the sources are the queues, the budgets with their feedback, their
 * timeout, B-WF2Q+ and the idling. The factors of the feedback are ours. Left
 * out are weights and I/O priorities, groups, the estimate of the peak rate
 * that sets max_sectors, the raised weights of interactive and real-time
 * processes, merging the queues of processes that read in turn, preemption by a
 * process that was not waited for long enough, and the exceptions for drives
 * with queues of their own. The completion of a request is seen when the
 * scheduler is called next; on a modelled drive that takes one command at a
 * time its time is exact.
 *
 * Sources: Checconi and Valente, "High Throughput Disk Scheduling with Fair
 * Bandwidth Distribution", IEEE Transactions on Computers 59(9), 2010; Linux,
 * Documentation/block/bfq-iosched.rst. Idling: Iyer and Druschel, SOSP 2001.
 */
#include "kernel/policy/sched.h"

#define QUEUES                                                               \
    64                  /* with requests at a time; more share the last one. \
                         * It follows the processes at a disk, not the cache */
#define UNWAITED   0    /* the queue of writes that are not waited for */
#define ONE        1024 /* a sector, in virtual time */
#define SEEKY_MOST 16
#define NO_QUEUE   QUEUES

enum { MAX_SECTORS, MIN_SECTORS, TIMEOUT_MS, IDLE_US, SEEKY_IDLE_US, NEAR };

static struct tunable tunables[] = {
    {"max_sectors", "sectors", 1024, 1, 1UL << 30,
     "of the largest budget, about what the disk reads in timeout_ms"},
    {"min_sectors", "sectors", 32, 1, 1UL << 30, "of the smallest budget"},
    {"timeout_ms", "ms", 125, 1, 60000, "the longest turn of a queue"},
    {"idle_us", "us", 8000, 0, 1000000,
     "the disk stays idle for the next request of a process"},
    {"seeky_idle_us", "us", 2000, 0, 1000000,
     "the same, if its requests are far from each other"},
    {"near_sectors", "sectors", 800, 0, 1UL << 40,
     "between two requests that are not far from each other"},
    {0},
};

enum { TURNS, USED_UP, TIMED_OUT, EMPTIED, IDLED, CAME };

static struct policy_counter counters[] = {
    {"turns", "turns", "of queues"},
    {"used_up", "turns", "that ended with the budget"},
    {"timed_out", "turns", "that ended with the time"},
    {"emptied", "turns", "that ended because the queue was empty"},
    {"idled", "times", "the disk stayed idle for a process"},
    {"came", "times", "its request came meanwhile"},
    {0},
};

/* The words of a request: its queue, and the next in this queue, or 0. */
enum { ITS_QUEUE, NEXT };

struct process {
    u32 pid;
    u64 requests;      /* queued */
    u64 first;         /* request of an unordered list; 0: it is empty */
    u64 start, finish; /* in virtual time */
    u64 budget;        /* sectors of the next turn, or of this one */
    u64 used_at;       /* the number of its last turn */
    u64 next_sector;   /* where its last request ended */
    u64 seeky;         /* up for a far request, down for a near one */
    u64 done_ns;       /* when its last request was done; 0: never */
    u64 think_ns;      /* from the end of a request to the next, recently */
};

/* The state of each disk. */
static struct disk_turns {
    struct process process[QUEUES];
    u64 time;     /* virtual */
    u64 requests; /* queued */
    u64 active;   /* queues that have requests, or are in service */
    u64 serving;  /* a queue, or NO_QUEUE */
    u64 served;   /* sectors of this turn */
    u64 since_ns; /* when the turn began */
    u64 turns;    /* so far */
    u64 last;     /* the queue of the command in progress, or NO_QUEUE */
    bool idling;
} disks[MAX_DISKS];

static void bfq_start(void)
{
    for (u32 disk = 0; disk < MAX_DISKS; disk++) {
        disks[disk] = (struct disk_turns){0};
        disks[disk].serving = disks[disk].last = NO_QUEUE;
    }
}

/* ---- queues ---- */

/* The queue of a process: the one that it has, or the one that has been unused
 * for the longest. */
static u64 find(struct disk_turns *d, u32 pid)
{
    u64 best = NO_QUEUE;
    for (u64 i = UNWAITED + 1; i < QUEUES; i++) {
        const struct process *p = &d->process[i];
        if (p->pid == pid && p->used_at)
            return i;
        bool unused = !p->requests && i != d->serving && i != d->last;
        if (unused &&
            (best == NO_QUEUE || p->used_at < d->process[best].used_at))
            best = i;
    }
    if (best == NO_QUEUE)
        return QUEUES - 1;
    d->process[best] = (struct process){.pid = pid, .used_at = ++d->turns};
    return best;
}

/* A process has a queue of its own. The writes that nobody waits for share one
 * queue. */
static u64 queue_of(struct disk_turns *d, const struct request *r)
{
    return r->write && !r->waited ? UNWAITED : find(d, r->pid);
}

static u64 budget_of(const struct process *p)
{
    u64 budget = MIN(p->budget, tunables[MAX_SECTORS].value);
    return MAX(budget, tunables[MIN_SECTORS].value);
}

/* Activate a queue that was empty and has a request: it starts now or, if
 * later, where it ended. */
static void activate(struct disk_turns *d, struct process *p)
{
    p->start = MAX(d->time, p->finish);
    p->finish = p->start + budget_of(p) * ONE;
    d->active++;
}

/* ---- turns ---- */

/* The queue whose start has come that has the earliest finish. If none has, the
 * time goes on to the earliest start. */
static u64 choose_queue(struct disk_turns *d)
{
    u64 best = NO_QUEUE, earliest = NEVER_NS;
    for (u64 i = 0; i < QUEUES; i++) {
        if (d->process[i].requests)
            earliest = MIN(earliest, d->process[i].start);
    }
    d->time = MAX(d->time, earliest);
    for (u64 i = 0; i < QUEUES; i++) {
        const struct process *p = &d->process[i];
        if (p->requests && p->start <= d->time &&
            (best == NO_QUEUE || p->finish < d->process[best].finish))
            best = i;
    }
    return best;
}

/* Choose the queue to serve, and begin its turn with its budget. */
static void begin_turn(struct disk_turns *d, u64 now_ns)
{
    d->serving = choose_queue(d);
    struct process *p = &d->process[d->serving];
    p->budget = budget_of(p);
    p->used_at = ++d->turns;
    d->served = 0;
    d->since_ns = now_ns;
    d->idling = false;
    counters[TURNS].value++;
}

/* The turn ends: what was used is charged, and the next budget is set. */
static void end_turn(struct disk_turns *d, u32 why)
{
    struct process *p = &d->process[d->serving];
    u64 charge = d->served;
    if (why == TIMED_OUT)
        charge = MAX(charge, tunables[MAX_SECTORS].value);
    if (why == USED_UP)
        p->budget *= 2;
    if (why == EMPTIED)
        p->budget = d->served;
    p->budget = budget_of(p);
    p->start += charge * ONE;
    p->finish = p->start + (p->requests ? p->budget * ONE : 0);
    d->active -= !p->requests;
    d->serving = NO_QUEUE;
    counters[why].value++;
}

/* ---- the requests of a queue ---- */

static struct request *request_at(u64 word)
{
    return (struct request *)word;
}

static void add(struct process *p, struct request *r)
{
    r->word[NEXT] = p->first;
    p->first = (u64)r;
    p->requests++;
}

/* Take a request out of its process's list. */
static void drop(struct process *p, struct request *r)
{
    u64 *at = &p->first;
    while (*at != (u64)r)
        at = &request_at(*at)->word[NEXT];
    *at = r->word[NEXT];
    p->requests--;
}

/* The next in circular order from the head; of equal ones the older. */
static struct request *next_of(const struct process *p, u64 head)
{
    struct request *best = request_at(p->first);
    u64 best_ahead = best->sector - head; /* wraps: what is behind is last */
    for (struct request *r = best; r; r = request_at(r->word[NEXT])) {
        u64 ahead = r->sector - head;
        if (ahead > best_ahead ||
            (ahead == best_ahead && r->arrival > best->arrival))
            continue;
        best = r;
        best_ahead = ahead;
    }
    return best;
}

/* ---- idling ---- */

/* For how long the disk idles for the queue in service. It does not for writes
 * that nobody waits for, nor for a process that thinks longer than idle_us. */
static u64 idle_ns(const struct disk_turns *d)
{
    const struct process *p = &d->process[d->serving];
    u64 most_ns = tunables[IDLE_US].value * 1000;
    if (d->serving == UNWAITED || p->think_ns > most_ns)
        return 0;
    if (p->seeky <= SEEKY_MOST / 2)
        return most_ns;
    return MIN(most_ns, tunables[SEEKY_IDLE_US].value * 1000);
}

static u64 turn_ends_ns(const struct disk_turns *d)
{
    return d->since_ns + tunables[TIMEOUT_MS].value * NS_PER_MS;
}

/* The queue in service is empty: the time until which the disk idles for it. */
static u64 idle_until_ns(const struct disk_turns *d)
{
    u64 done_ns = d->process[d->serving].done_ns;
    return MIN(done_ns + idle_ns(d), turn_ends_ns(d));
}

/* Note that the command under way is done, and end the turn of a queue in
 * service whose next request did not come in time. */
static void catch_up(struct disk_turns *d, const struct queue *q, u64 now_ns)
{
    if (d->last != NO_QUEUE && q->done_ns <= now_ns) {
        bool known = q->done_ns >= q->last_ns;
        d->process[d->last].done_ns = known ? q->done_ns : now_ns;
        d->last = NO_QUEUE;
    }
    if (d->serving != NO_QUEUE && d->serving != d->last &&
        !d->process[d->serving].requests && now_ns >= idle_until_ns(d))
        end_turn(d, EMPTIED);
}

/* A process without queued requests has made a request. Add the time since its
 * last request was done to its mean think time, with the weight 1/8. If the
 * disk idles for this process, end the idling. */
static void note_think(struct disk_turns *d, u64 which, u64 now_ns)
{
    struct process *p = &d->process[which];
    u64 ns = MIN(now_ns - MIN(now_ns, p->done_ns), NS_PER_S);
    if (p->done_ns)
        p->think_ns = p->think_ns - p->think_ns / 8 + ns / 8;
    if (d->serving != which)
        return;
    counters[CAME].value += d->idling;
    d->idling = false;
}

/* Count whether the process's requests are far apart: up for a far one, down
 * for a near one. */
static void note_seek(struct process *p, const struct request *r)
{
    u64 from = p->next_sector;
    u64 far = r->sector > from ? r->sector - from : from - r->sector;
    if (far > tunables[NEAR].value)
        p->seeky += p->seeky < SEEKY_MOST;
    else
        p->seeky -= p->seeky > 0;
    p->next_sector = r->sector + r->nsectors;
}

/* ---- hooks ---- */

/* Put a request into its process's queue. A queue that was empty gets a place
 * in virtual time, unless it is its turn. */
static void bfq_queued(struct queue *q, struct request *r, u64 now_ns)
{
    struct disk_turns *d = &disks[q->disk];
    catch_up(d, q, now_ns);
    u64 which = r->word[ITS_QUEUE] = queue_of(d, r);
    struct process *p = &d->process[which];
    if (!p->requests) {
        note_think(d, which, now_ns);
        if (which != d->serving)
            activate(d, p);
    }
    add(p, r);
    d->requests++;
    note_seek(p, r);
}

/* A request that joins another queue's is charged to its own queue. */
static void bfq_leaves(struct queue *q, struct request *r, u64 now_ns)
{
    (void)now_ns;
    struct disk_turns *d = &disks[q->disk];
    u64 which = r->word[ITS_QUEUE], sectors = r->nsectors;
    struct process *p = &d->process[which];
    drop(p, r);
    d->requests--;
    d->time += sectors * ONE / MAX(d->active, 1);
    if (which == d->serving) {
        d->served += sectors;
        return;
    }
    p->start += sectors * ONE;
    p->finish += sectors * ONE;
    d->active -= !p->requests;
}

/* End the turn of a queue with requests, if it has used its budget or time. */
static void end_if_used(struct disk_turns *d, u64 head, u64 now_ns)
{
    const struct process *p = &d->process[d->serving];
    u64 sectors = next_of(p, head)->nsectors;
    if (now_ns >= turn_ends_ns(d))
        end_turn(d, TIMED_OUT);
    else if (d->served && d->served + sectors > p->budget)
        end_turn(d, USED_UP);
}

/* End or begin turns as necessary. If the process whose turn it is has no
 * request, the disk stays idle. */
static struct request *bfq_next(struct queue *q, u64 now_ns)
{
    struct disk_turns *d = &disks[q->disk];
    catch_up(d, q, now_ns);
    if (d->serving != NO_QUEUE && d->process[d->serving].requests)
        end_if_used(d, q->head_sector, now_ns);
    if (d->serving == NO_QUEUE)
        begin_turn(d, now_ns);
    const struct process *p = &d->process[d->serving];
    if (!p->requests) {
        counters[IDLED].value += !d->idling;
        d->idling = true;
        return NULL;
    }
    d->last = d->serving;
    return next_of(p, q->head_sector);
}

static u64 bfq_again_ns(const struct queue *q, u64 now_ns)
{
    (void)now_ns;
    return idle_until_ns(&disks[q->disk]);
}

static const char *bfq_refuses(void)
{
    return tunables[MIN_SECTORS].value > tunables[MAX_SECTORS].value
               ? "min_sectors would be more than max_sectors"
               : NULL;
}

/* Each request is in one queue, and no queue finishes before it starts. */
static const char *bfq_check(const struct queue *q)
{
    const struct disk_turns *d = &disks[q->disk];
    u64 requests = 0;
    for (u64 i = 0; i < QUEUES; i++) {
        requests += d->process[i].requests;
        if (d->process[i].finish < d->process[i].start)
            return "a queue finishes before it starts";
    }
    return requests == d->requests ? NULL : "a request is in no queue";
}

static const struct policy bfq = {
    .kind = POLICY_SCHED,
    .name = "bfq",
    .about = "an equal share for each process, one process at a time",
    .tunables = tunables,
    .counters = counters,
    .start = bfq_start,
    .refuses = bfq_refuses,
    .sched = {.next = bfq_next,
              .again_ns = bfq_again_ns,
              .queued = bfq_queued,
              .leaves = bfq_leaves,
              .check = bfq_check},
};
POLICY(bfq);
