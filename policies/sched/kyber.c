/*
 * Kyber: reads and writes are two domains, and each may have only a limited
 * number of requests in the device at a time. These depths follow the
 * latencies: a domain that meets its target gives way while the device is
 * congested.
 *
 * - Round robin. Requests enter the device in batches, 16 reads, then 8 writes,
 *   each kind in order of arrival, as long as the domain has a token left and
 *   the device a place. Writes that no process waits for may have three
 *   quarters of the places.
 * - Latencies. Of each request are measured the time in the device, and in
 *   all. Every 100 ms the depths are set anew by those domains that have had
 *   500 requests, or a second, since the last time. The device is congested if
 *   a domain misses its target by the 90th percentile of its device times.
 * - Depths. A depth is multiplied by the 99th percentile of the whole time over
 *   the target, in quarters of it and at most twice. It has at least 1 token,
 *   and at most 256 for reads and 128 for writes. It grows if the domain misses
 *   its target; it shrinks if it meets it and the device is congested. A domain
 *   without enough requests then uses the percentile of its last time, once.
 *
 * Linux's Kyber is for devices that take many commands. The drives here take
 * one, so the device is imitated. Up to device_depth requests are in it. The
 * next to be done is the request with the least access time - (time in the
 * device) / 8. The modelled drives choose in the same way with drive_depth. On
 * a drive without a timing model, the imitated device serves requests in order
 * of arrival. The end of a command is seen when the scheduler is asked next; on
 * a modelled drive that takes one command at a time its time is exact, and
 * elsewhere latencies look shorter than they are. Requests that are merged into
 * a command are measured by the request that was chosen. The domains of
 * discards and of other requests are left out, because none come here. In
 * Linux, the quarter that these writes cannot have is one of all requests, and
 * not of the device's places.
 *
 * The default targets are Linux's, for flash. A disk misses both with any load;
 * then both depths stay at their largest, and only the round robin is left.
 *
 * Source: O. Sandoval, Kyber, Linux 4.12, 2017, with the percentiles of "kyber:
 * implement improved heuristics", Linux 4.20, 2018; and
 * Documentation/block/kyber-iosched.rst.
 */
#include "kernel/policy/sched.h"

#define MOST_INSIDE 256
#define BUCKETS     8 /* of a quarter of the target each; the last is open */
#define GOOD        4 /* of them are within the target */
#define ENOUGH      500
#define LOOK_NS     (100 * NS_PER_MS)
#define WINDOW_NS   NS_PER_S
#define NONE        BUCKETS /* no percentile */

enum { READ_LAT_US, WRITE_LAT_US, DEVICE_DEPTH };

static struct tunable tunables[] = {
    {"read_lat_us", "us", 2000, 1, 60000000, "target latency of reads"},
    {"write_lat_us", "us", 10000, 1, 60000000, "target latency of writes"},
    {"device_depth", "requests", 32, 1, MOST_INSIDE,
     "that the device is taken to hold"},
    {0},
};

enum { READ_BATCHES, WRITE_BATCHES, NO_TOKEN, CONGESTED, DEEPER, SHALLOWER };

static struct policy_counter counters[] = {
    {"read_batches", "batches", "of reads that entered the device"},
    {"write_batches", "batches", "of writes that entered the device"},
    {"no_token", "times", "a domain had requests and no token for them"},
    {"congested", "times", "a domain missed its target in the device"},
    {"deeper", "times", "a domain's depth grew"},
    {"shallower", "times", "a domain's depth shrank"},
    {0},
};

enum { READING, WRITING, DOMAINS };
enum { IN_DEVICE, IN_ALL, LATENCIES };

static const u64 most_tokens[DOMAINS] = {256, 128};
static const u64 batch_of[DOMAINS] = {16, 8};

/* The words of a request: while it waits, the next and the one before of its
 * domain, or 0; in the device, its place there, and INSIDE. */
enum { NEXT, PREV, PLACE = NEXT, WHERE = PREV };
#define INSIDE 1 /* no request is there */

struct domain {
    u64 depth;                    /* tokens */
    u64 inside;                   /* tokens taken: requests in the device */
    struct request *first, *last; /* of those that wait */
    u64 first_ns[LATENCIES];      /* when the histogram's first sample came */
    u64 samples[LATENCIES];
    u64 histogram[LATENCIES][BUCKETS];
    u64 p99; /* of the whole time, by its bucket, for the next congestion */
};

/* The state of each disk. Requests in the device are in no order. */
static struct device {
    struct domain domain[DOMAINS];
    u64 turn, batched;    /* whose batch it is, and how many it has had */
    u64 inside, unwaited; /* requests in the device; of them not waited for */
    u64 entered;          /* requests that have ever entered the device */
    struct place {
        struct request *r;
        u64 entered_ns, number; /* of those that ever entered */
    } places[MOST_INSIDE];
    u64 look_ns; /* when the depths are looked at next */
    /* True if a command is under way. Its domain; when it came and entered. */
    bool under_way;
    u64 of, queued_ns, entered_ns;
} devices[MAX_DISKS];

static void kyber_start(void)
{
    for (u32 disk = 0; disk < MAX_DISKS; disk++) {
        devices[disk] = (struct device){0};
        for (u32 i = 0; i < DOMAINS; i++) {
            devices[disk].domain[i].depth = most_tokens[i];
            devices[disk].domain[i].p99 = NONE;
        }
    }
}

static u64 domain_of(const struct request *r)
{
    return r->write ? WRITING : READING;
}

static u64 target_ns(u64 domain)
{
    return tunables[domain == READING ? READ_LAT_US : WRITE_LAT_US].value *
           1000;
}

/* ---- latencies ---- */

/* Count a latency in the histogram. A bucket is a quarter of the target, so the
 * first GOOD of them are within it. */
static void sample(struct domain *d, u64 kind, u64 ns, u64 target_ns,
                   u64 now_ns)
{
    u64 bucket = ns ? (ns - 1) * GOOD / target_ns : 0;
    if (!d->samples[kind]++)
        d->first_ns[kind] = now_ns;
    d->histogram[kind][MIN(bucket, BUCKETS - 1)]++;
}

/* The command under way is done: note how long it took. */
static void note_done(struct device *dev, const struct queue *q, u64 now_ns)
{
    if (!dev->under_way || q->done_ns > now_ns)
        return;
    struct domain *d = &dev->domain[dev->of];
    u64 done_ns = q->done_ns > dev->entered_ns ? q->done_ns : now_ns;
    u64 target = target_ns(dev->of);
    sample(d, IN_DEVICE, done_ns - dev->entered_ns, target, now_ns);
    sample(d, IN_ALL, done_ns - dev->queued_ns, target, now_ns);
    dev->under_way = false;
}

/* The bucket of a percentile, after which the histogram begins anew; NONE if
 * there are too few samples yet. */
static u64 percentile(struct domain *d, u64 kind, u64 percent, u64 now_ns)
{
    u64 samples = d->samples[kind], seen = 0, bucket = 0;
    if (!samples ||
        (samples < ENOUGH && now_ns < d->first_ns[kind] + WINDOW_NS))
        return NONE;
    u64 need = (samples * percent + 99) / 100;
    while ((seen += d->histogram[kind][bucket]) < need)
        bucket++;
    for (u64 i = 0; i < BUCKETS; i++)
        d->histogram[kind][i] = 0;
    d->samples[kind] = 0;
    return bucket;
}

/* ---- depths ---- */

/* True if a tenth of the requests of a domain missed its target in the
 * device. */
static bool is_congested(struct device *dev, u64 now_ns)
{
    bool congested = false;
    for (u64 i = 0; i < DOMAINS; i++) {
        u64 p90 = percentile(&dev->domain[i], IN_DEVICE, 90, now_ns);
        congested |= p90 != NONE && p90 >= GOOD;
    }
    counters[CONGESTED].value += congested;
    return congested;
}

/* Scale a domain's depth by the quarter of its 99th percentile. */
static void set_depth(struct domain *d, u64 p99, u64 most)
{
    u64 depth = d->depth * (p99 + 1) / GOOD;
    depth = MAX(MIN(depth, most), 1);
    counters[DEEPER].value += depth > d->depth;
    counters[SHALLOWER].value += depth < d->depth;
    d->depth = depth;
}

/* While the device is congested, each domain with a percentile sets its depth.
 * Else only a domain that misses its target does, and its depth grows. */
static void adjust(struct device *dev, u64 now_ns)
{
    bool congested = is_congested(dev, now_ns);
    for (u64 i = 0; i < DOMAINS; i++) {
        struct domain *d = &dev->domain[i];
        u64 p99 = percentile(d, IN_ALL, 99, now_ns);
        u64 last_p99 = d->p99;
        if (congested)
            d->p99 = NONE;
        else if (p99 != NONE)
            d->p99 = p99;
        if (congested && p99 == NONE)
            p99 = last_p99;
        if (p99 != NONE && (congested || p99 >= GOOD))
            set_depth(d, p99, most_tokens[i]);
    }
}

static void look_at_latencies(struct device *dev, const struct queue *q,
                              u64 now_ns)
{
    note_done(dev, q, now_ns);
    if (now_ns < dev->look_ns)
        return;
    adjust(dev, now_ns);
    dev->look_ns = now_ns + LOOK_NS;
}

/* ---- those that wait ---- */

static struct request *linked(const struct request *r, u32 word)
{
    return (struct request *)r->word[word];
}

/* Have `to` be what the list has after (NEXT) or before (PREV) r; NULL: the
 * list's end. */
static void tie(struct request **end, struct request *r, u32 word,
                struct request *to)
{
    if (r)
        r->word[word] = (u64)to;
    else
        *end = to;
}

/* Put a request at the end of its domain's list, outside the device. */
static void line_up(struct domain *d, struct request *r)
{
    r->word[NEXT] = 0;
    r->word[PREV] = (u64)d->last;
    tie(&d->first, d->last, NEXT, r);
    d->last = r;
}

static void fall_out(struct domain *d, struct request *r)
{
    tie(&d->first, linked(r, PREV), NEXT, linked(r, NEXT));
    tie(&d->last, linked(r, NEXT), PREV, linked(r, PREV));
}

/* ---- into the device, and out of it ---- */

static bool is_unwaited(const struct request *r)
{
    return r->write && !r->waited;
}

/* True if the domain's first waiting request may enter. Writes that nobody
 * waits for get at most 3/4 of the device's depth. */
static bool may_enter(const struct device *dev, const struct domain *d)
{
    u64 unwaited = MAX(tunables[DEVICE_DEPTH].value * 3 / 4, 1);
    if (!d->first)
        return false;
    counters[NO_TOKEN].value += d->inside >= d->depth;
    return d->inside < d->depth &&
           (!is_unwaited(d->first) || dev->unwaited < unwaited);
}

/* Let the domain's first request into the device. */
static void enter(struct device *dev, struct domain *d, u64 now_ns)
{
    struct request *r = d->first;
    fall_out(d, r);
    r->word[WHERE] = INSIDE;
    r->word[PLACE] = dev->inside;
    dev->places[dev->inside++] = (struct place){r, now_ns, dev->entered++};
    d->inside++;
    dev->unwaited += is_unwaited(r);
}

/* Take a request out of the device; the last place fills its place. */
static void go_out(struct device *dev, struct domain *d, struct request *r)
{
    struct place last = dev->places[--dev->inside];
    dev->places[r->word[PLACE]] = last;
    last.r->word[PLACE] = r->word[PLACE];
    d->inside--;
    dev->unwaited -= is_unwaited(r);
}

/* Let requests in, batch by batch, until the device is full or none may enter.
 */
static void fill(struct device *dev, u64 now_ns)
{
    u64 places = tunables[DEVICE_DEPTH].value;
    for (u32 refused = 0; refused < DOMAINS && dev->inside < places;) {
        struct domain *d = &dev->domain[dev->turn];
        if (dev->batched < batch_of[dev->turn] && may_enter(dev, d)) {
            counters[READ_BATCHES + dev->turn].value += !dev->batched++;
            enter(dev, d, now_ns);
            refused = 0;
            continue;
        }
        refused += !dev->batched;
        dev->batched = 0;
        dev->turn = (dev->turn + 1) % DOMAINS;
    }
}

/* Return the request's rank: access time - (time in the device) / 8. */
static i64 rank_ns(const struct queue *q, const struct place *p, u64 now_ns)
{
    u64 begin_ns = queue_approach(q, now_ns, NULL, 0, p->r).begin_ns;
    if (begin_ns == NEVER_NS)
        return 0;
    return begin_ns - (now_ns - p->entered_ns) / 8;
}

/* Return the request in the device that is done next: the one with the least
 * rank, of equal ones the first that entered. */
static const struct place *done_next(const struct device *dev,
                                     const struct queue *q, u64 now_ns)
{
    const struct place *best = NULL;
    i64 best_ns = 0;
    for (u64 i = 0; i < dev->inside; i++) {
        const struct place *p = &dev->places[i];
        i64 ns = rank_ns(q, p, now_ns);
        if (best &&
            (ns > best_ns || (ns == best_ns && p->number > best->number)))
            continue;
        best = p;
        best_ns = ns;
    }
    return best;
}

/* ---- hooks ---- */

static void kyber_queued(struct queue *q, struct request *r, u64 now_ns)
{
    (void)now_ns;
    line_up(&devices[q->disk].domain[domain_of(r)], r);
}

/* Take a request that leaves out of its domain: of those inside the device, or
 * of those that wait. */
static void kyber_leaves(struct queue *q, struct request *r, u64 now_ns)
{
    (void)now_ns;
    struct device *dev = &devices[q->disk];
    struct domain *d = &dev->domain[domain_of(r)];
    if (r->word[WHERE] == INSIDE)
        go_out(dev, d, r);
    else
        fall_out(d, r);
}

/* Choose the next request, and note its domain and times, from which its
 * latencies are computed when it is done. */
static struct request *kyber_next(struct queue *q, u64 now_ns)
{
    struct device *dev = &devices[q->disk];
    look_at_latencies(dev, q, now_ns);
    fill(dev, now_ns);
    const struct place *p = done_next(dev, q, now_ns);
    dev->under_way = true;
    dev->of = domain_of(p->r);
    dev->queued_ns = p->r->queued_ns;
    dev->entered_ns = p->entered_ns;
    return p->r;
}

/* The tokens that are taken are as many as the places. */
static const char *kyber_check(const struct queue *q)
{
    const struct device *dev = &devices[q->disk];
    u64 inside = 0;
    for (u32 i = 0; i < DOMAINS; i++) {
        inside += dev->domain[i].inside;
        if (dev->domain[i].depth > most_tokens[i])
            return "a domain has more tokens than it may have";
    }
    return inside == dev->inside ? NULL : "tokens are lost";
}

static const struct policy kyber = {
    .kind = POLICY_SCHED,
    .name = "kyber",
    .about = "reads and writes by turns, with depths that follow latencies",
    .tunables = tunables,
    .counters = counters,
    .start = kyber_start,
    .sched = {.next = kyber_next,
              .queued = kyber_queued,
              .leaves = kyber_leaves,
              .check = kyber_check},
};
POLICY(kyber);
