/*
 * Leap: the next reads are expected at the distance that most of the last reads
 * had from the ones before, even if others come between.
 *
 * The last 32 distances of an open file are its history. When a read finds its
 * block missing, the trend is looked for: the distance that more than half of
 * the newest 32 / split have (found by Boyer and Moore's vote); if there is
 * none, twice as many are looked at, up to the whole history. Then `size` reads
 * are started, at this distance one from another. If there is no trend, the
 * last one that was found is tried.
 *
 * size is the power of two above the number of reads that found what the last
 * prefetch had started, up to `most`. If none did, it is 1 if this read
 * has the trend's distance, else 0. But it is at least half of what it was.
 *
 * The paper has a history for each process, of pages that are used one by one.
 * Here a policy does not know the process: a history belongs to an open file,
 * and its entries are reads of one block or more. HISTORIES files can have a
 * history; if there are more, the one read longest ago is reused. split is 4 as
 * in the authors' own code. The paper's hits are of any page that was
 * prefetched, ours of the last prefetch. A read that begins in the block that
 * the last one began in adds nothing.
 *
 * Source: Al Maruf and Chowdhury, "Effectively Prefetching Remote Memory with
 * Leap", ATC 2020, algorithms 1 and 2; split: the code of SymbioticLab/Leap.
 */
#include "kernel/policy/prefetch.h"

#define HISTORY   32 /* distances */
#define HISTORIES 64

enum { SPLIT, MOST };

static struct tunable tunables[] = {
    {"split", "parts", 4, 1, HISTORY,
     "of the history, of which the newest is looked at first"},
    {"most", "reads", 8, 1, 64, "started at once"},
    {0},
};

enum { TRENDS, OLD_TRENDS, STOPPED };

static struct policy_counter counters[] = {
    {"trends", "reads", "of missing blocks, with a trend"},
    {"old_trends", "reads",
     "of missing blocks, where the last trend was tried"},
    {"stopped", "reads", "of missing blocks, with nothing started"},
    {0},
};

static struct history {
    u64 owner, used;       /* the stream's number; when it was read last */
    u64 last, n;           /* block of the last read; distances so far */
    i64 distance[HISTORY]; /* number i is in [i % HISTORY] */
    i64 trend;             /* the last that was found; 0: none */
    /* The last prefetch: where it was to begin and went on, how many reads, and
     * how many of them have come. */
    i64 first, step;
    u64 size, hits;
} histories[HISTORIES];
static u64 owners, uses; /* numbers given */

/* Words of a stream: its number, from 1; which history it had. */
enum { OWNER, INDEX };

static bool leap_follows(const struct stream *s, const struct access *a)
{
    (void)s, (void)a;
    return true;
}

static u64 index_of_oldest(void)
{
    u64 oldest = 0;
    for (u64 i = 1; i < HISTORIES; i++)
        if (histories[i].used < histories[oldest].used)
            oldest = i;
    return oldest;
}

/* Add a read to the stream's history and set *of to the history. Return false
 * if the distance is 0 (the same block as the last read, or the first read of a
 * new history). */
static bool remember(struct stream *s, const struct access *a,
                     struct history **of)
{
    bool new =
        !s->word[OWNER] || histories[s->word[INDEX]].owner != s->word[OWNER];
    if (new) {
        s->word[OWNER] = ++owners;
        s->word[INDEX] = index_of_oldest();
    }
    struct history *h = *of = &histories[s->word[INDEX]];
    if (new)
        *h = (struct history){.owner = owners, .last = a->block};
    i64 distance = a->block - h->last;
    h->used = ++uses;
    h->last = a->block;
    if (distance)
        h->distance[h->n++ % HISTORY] = distance;
    return distance;
}

/* Number i of the newest distances; 0: there were fewer. */
static i64 newest(const struct history *h, u64 i)
{
    return i < h->n ? h->distance[(h->n - 1 - i) % HISTORY] : 0;
}

/* The distance that more than half of the `of` newest are, or 0. If there is
 * one, it is left as the candidate when each vote for another distance has
 * cancelled one for it (Boyer and Moore's vote); the second loop counts it. */
static i64 majority(const struct history *h, u64 of)
{
    i64 candidate = 0;
    u64 votes = 0, n = 0;
    for (u64 i = 0; i < of; i++) {
        if (!votes)
            candidate = newest(h, i);
        votes += newest(h, i) == candidate ? 1 : -1;
    }
    for (u64 i = 0; i < of; i++)
        n += newest(h, i) == candidate;
    return n > of / 2 ? candidate : 0;
}

/* Look for a majority among the newest 1 / split of the history, then among
 * twice as many, and so on. Returns the distance, or 0. */
static i64 find_trend(const struct history *h)
{
    i64 trend = 0;
    u64 of = HISTORY / tunables[SPLIT].value;
    for (; !trend && of <= HISTORY; of *= 2)
        trend = majority(h, of);
    return trend;
}

/* True if the last prefetch, of `size` blocks `step` apart from `first` on,
 * started this read. */
static bool was_started(const struct history *h, const struct access *a)
{
    i64 from = a->block - h->first;
    return h->size && from % h->step == 0 && from / h->step >= 0 &&
           (u64)(from / h->step) < h->size;
}

/* How many reads to start. trend: as find_trend has just found it, or 0. */
static u64 next_size(const struct history *h, i64 trend)
{
    u64 size = 1;
    while (h->hits && size < h->hits + 1)
        size *= 2;
    if (!h->hits)
        size = trend && trend == newest(h, 0);
    return MAX(MIN(size, tunables[MOST].value), h->size / 2);
}

/* How many reads like this one, `step` apart, the first at `first`, lie in the
 * file; at most `most`. */
static u64 in_file(const struct access *a, i64 first, i64 step, u64 most)
{
    u64 n = 0;
    for (; n < most; n++, first += step)
        if (first < 0 || first + a->nblocks > a->file_blocks)
            break;
    return n;
}

/* Ask for the next `size` reads along the trend, as far as the file goes. */
static void start_reads(struct history *h, const struct access *a,
                        struct readahead *w)
{
    h->first = a->block + h->trend;
    h->step = h->trend;
    w->first = h->first;
    w->step = h->step;
    w->times = in_file(a, h->first, h->step, h->size);
    w->n = w->times ? a->nblocks : 0;
}

/* Note the distance from the last read. After a miss, ask for reads along the
 * trend, or, if there is none now, along the last one. */
static void leap_readahead(struct stream *s, const struct access *a,
                           struct readahead *w)
{
    struct history *h;
    bool adds = remember(s, a, &h);
    if (a->found != MISSING) {
        h->hits += adds && was_started(h, a);
        return;
    }
    i64 trend = find_trend(h);
    h->size = next_size(h, trend);
    h->hits = 0;
    if (trend)
        h->trend = trend;
    if (!h->trend)
        h->size = 0;
    counters[TRENDS].value += trend != 0;
    counters[OLD_TRENDS].value += h->size && !trend;
    counters[STOPPED].value += !h->size;
    if (h->size)
        start_reads(h, a, w);
}

static const struct policy leap = {
    .kind = POLICY_PREFETCH,
    .name = "leap",
    .about = "at the distance that most of the last reads had",
    .tunables = tunables,
    .counters = counters,
    .prefetch = {.readahead = leap_readahead,
                 .follows = leap_follows,
                 .takes_hints = true},
};
POLICY(leap);
