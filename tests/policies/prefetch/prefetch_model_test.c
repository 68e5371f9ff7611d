/*
 * Prefetch policies held against models: after each of many random reads of a
 * stream, the read-ahead request must be the model's.
 *
 * link: tests/support/native/test.c
 */
#include "tests/support/native/test.h"

#define SEEDS 120
#define READS 600

/* The stream as a model sees it. All zero when it begins. In blocks. */
static struct {
    u64 next;       /* the block after the last read; 0: none was */
    u64 begin, end; /* of what was read ahead last, or the window */
    u64 mark;       /* a read of this block begins the next read-ahead */
    u64 sixteenths; /* ondemand's limit after a miss, in 1/16 block; 0: none */
    u64 last;       /* the first block of the last read */
    i64 step;       /* from the read before to the last one */
    u64 same;       /* how often in a row that was the step */
    u64 begun;      /* strides that are read ahead and not used yet */
    u64 degree, distance; /* AMP's p and g; mark is where its next set begins */
    i64 history[READS];   /* of Leap: all distances */
    u64 nhistory;
    u64 size, hits; /* Leap's last prefetch: its blocks; those that were used */
    struct readahead started;
    bool reads; /* there was one */
} m;

/* The policy's tunables, as drawn, and what the model counts: both in the order
 * of the policy's tables. */
static u64 tunable[3];
static u64 counted[3];

/* True if the read begins where the last one ended, or in its last block. */
static bool goes_on_from_last(const struct access *a)
{
    return a->block == m.next || a->block + 1 == m.next;
}

static u64 end_of(const struct access *a)
{
    return a->block + a->nblocks;
}

/* How many blocks this many KB are, `least` at least. */
static u64 blocks_of(u64 kb, const struct access *a, u64 least)
{
    u64 n = (kb << 10) / a->block_bytes;
    return n < least ? least : n;
}

/* The part of [from, to) that lies in the file. */
static struct readahead readahead_for(const struct access *a, u64 from, u64 to)
{
    u64 last = to < a->file_blocks ? to : a->file_blocks;
    struct readahead w = {.times = 1};
    if (from < last) {
        w.first = from;
        w.n = last - from;
    }
    return w;
}

/* ---- the models ---- */

static struct readahead oneblock(const struct access *a)
{
    if (!goes_on_from_last(a) || end_of(a) <= m.next)
        return readahead_for(a, 0, 0);
    counted[0]++;
    counted[1] += end_of(a) < a->file_blocks;
    return readahead_for(a, end_of(a), end_of(a) + 1);
}

/* Twice as many blocks as the last time, up to tunable[0] KB, once a sequential
 * read reaches those that are read ahead. */
static struct readahead bsd44(const struct access *a)
{
    u64 most = blocks_of(tunable[0], a, 1), last = m.end - m.begin;
    u64 n = last ? MIN(2 * last, most) : 1;
    if (a->hint == HINT_SEQUENTIAL)
        n = most;
    if (!goes_on_from_last(a) || end_of(a) <= m.next || end_of(a) <= m.begin)
        return readahead_for(a, 0, 0);
    m.begin = MAX(m.end, end_of(a));
    m.end = m.begin + n;
    return readahead_for(a, m.begin, m.end);
}

/* The rest of the cluster that a missing block begins; the next cluster, too,
 * unless this is the stream's first read. A cluster has tunable[0] KB. */
static struct readahead cluster(const struct access *a)
{
    u64 size = blocks_of(tunable[0], a, 1);
    u64 clusters = (end_of(a) + size - 1) / size; /* up to the read's end */
    u64 to = 0;
    if (a->found == MISSING) {
        m.end = 0;
        to = clusters * size;
    }
    if (m.next || a->hint == HINT_SEQUENTIAL)
        to = (clusters + 1) * size;
    struct readahead w = readahead_for(a, MAX(m.end, end_of(a)), to);
    if (w.n)
        m.end = w.first + w.n;
    return w;
}

/* A window of tunable[0] KB, filled again when half of it is used; only for
 * programs that say that they read sequentially. */
static struct readahead hints(const struct access *a)
{
    u64 window = blocks_of(tunable[0], a, 2);
    if (a->hint != HINT_SEQUENTIAL)
        return readahead_for(a, 0, 0);
    u64 from = MAX(m.end, end_of(a));
    if (a->found == MISSING)
        from = end_of(a);
    if (from > end_of(a) + window / 2)
        return readahead_for(a, 0, 0);
    struct readahead w = readahead_for(a, from, end_of(a) + window);
    if (w.n)
        m.end = w.first + w.n;
    return w;
}

/* The largest window, in blocks: max_kb, or twice as much if the program says
 * that it reads sequentially; or a larger call, up to io_kb. After a miss in a
 * window it may be smaller. */
static u64 largest_window(const struct access *a)
{
    u64 kb = a->hint == HINT_SEQUENTIAL ? 2 * tunable[0] : tunable[0];
    u64 most = blocks_of(kb, a, 2), io = blocks_of(tunable[1], a, 0);
    if (a->nblocks > most && io > most)
        most = a->nblocks < io ? a->nblocks : io;
    return m.sixteenths && m.sixteenths / 16 < most ? m.sixteenths / 16 : most;
}

/* Return the first window's size: 4 times the blocks that were asked for,
 * rounded up to a power of 2, if that is at most 1/32 of the largest window;
 * twice, if at most a quarter; else the largest. */
static u64 first_window(u64 asked, u64 most)
{
    u64 size = 1;
    for (; size < asked; size += size)
        ;
    if (32 * size <= most - most % 32)
        return 4 * size;
    return 4 * size <= most - most % 4 ? 2 * size : most;
}

/* Return the size of the next window: 4 times the last one if that is below
 * 1/16 of the largest window, else twice; the largest at most. */
static u64 larger_window(u64 size, u64 most)
{
    u64 larger = size + 1 <= most / 16 ? 4 * size : 2 * size;
    return larger < most ? larger : most;
}

/* Begin the next window behind the last one. */
static void next_window(const struct access *a)
{
    u64 size = m.end - m.begin;
    counted[1]++;
    m.sixteenths += m.sixteenths != 0;
    m.begin = m.mark = MAX(m.end, end_of(a));
    m.end = m.begin + larger_window(size, largest_window(a));
}

/* Let the window begin with this read; its mark is the first block that is read
 * ahead. */
static void window_from(const struct access *a, u64 size)
{
    m.begin = a->block;
    m.end = a->block + size;
    m.mark = end_of(a);
}

/* True if the read goes on from the last one, or leaves one block out. */
static bool ondemand_sequential(const struct access *a)
{
    return goes_on_from_last(a) || (m.next && a->block == m.next + 1);
}

/* True if the read is sequential or falls in the window. */
static bool ondemand_follows(const struct access *a)
{
    return ondemand_sequential(a) || (a->block > m.next && a->block < m.end);
}

/* Read ahead the window without the blocks of this read. A miss in the window
 * halves it (counted[2]), a sequential miss beyond it opens one (counted[0]),
 * and a read that reaches the mark begins the next one. */
static struct readahead ondemand(const struct access *a)
{
    u64 half = (m.end - m.begin) / 2;
    bool beyond = a->block >= m.end, passes = end_of(a) > m.end;
    if (a->found == MISSING && !beyond && a->block >= m.next) {
        counted[2]++;
        half = half < 2 ? 2 : half;
        m.sixteenths = 16 * half;
        window_from(a, MAX(half, a->nblocks + 1));
    } else if (a->found == MISSING && beyond && ondemand_sequential(a)) {
        counted[0]++;
        window_from(a, first_window(a->nblocks, largest_window(a)));
        if (m.end <= end_of(a))
            next_window(a);
    } else if (!beyond && (passes || a->block <= m.mark) &&
               end_of(a) > m.mark) {
        next_window(a);
    } else {
        return readahead_for(a, 0, 0);
    }
    return readahead_for(a, MAX(m.begin, end_of(a)), m.end);
}

/* Return how many reads to begin ahead of this one: none until the step was
 * seen tunable[0] times in a row; then 1, doubled with each repetition, up to
 * tunable[1]. */
static u64 stride_depth(void)
{
    u64 depth = 1;
    if (m.same < tunable[0])
        return 0;
    for (u64 i = tunable[0]; i < m.same && depth < 64; i++)
        depth *= 2;
    return depth < tunable[1] ? depth : tunable[1];
}

/* Begin the reads ahead that stride_depth() wants and that are not begun yet,
 * each one step after the last, within the file. */
static struct readahead stride(const struct access *a)
{
    struct readahead w = {0};
    i64 step = a->block - m.last;
    if (!m.next || !step) {
        m.last = a->block;
        return w;
    }
    m.same = m.same && step == m.step ? m.same + 1 : 1;
    m.begun -= m.begun > 0;
    m.step = step;
    m.last = a->block;
    u64 depth = stride_depth();
    i64 at = a->block + step * (i64)(m.begun + 1);
    w.first = at;
    w.step = step;
    for (; m.begun < depth && at >= 0 && at + a->nblocks <= a->file_blocks;
         at += step, m.begun++)
        w.times++;
    w.n = w.times ? a->nblocks : 0;
    return w;
}

/* True if the read repeats an established distance; without one, if it is at
 * most tunable[2] blocks from the last read. */
static bool stride_follows(const struct access *a)
{
    i64 step = a->block - m.last;
    if (step != 0 && m.same >= 2)
        return step == m.step;
    return step <= (i64)tunable[2] && -step <= (i64)tunable[2];
}

/* Read ahead `degree` blocks once `distance` blocks before their mark are
 * reached. A set that was used grows the degree (counted[0]), one that came
 * late grows the distance (counted[2]), a lost block shrinks both
 * (counted[1]). */
static struct readahead amp(const struct access *a)
{
    u64 most = blocks_of(tunable[1], a, 2);
    if (!m.next || end_of(a) <= m.next)
        return readahead_for(a, 0, 0);
    bool early = m.degree > tunable[0];
    if (!m.degree) {
        m.degree = MIN(a->nblocks, most);
    } else if (a->found == MISSING && a->block >= m.next && a->block < m.end) {
        counted[1]++;
        m.degree = MAX(m.degree - 1, 1);
        m.distance = m.distance ? m.distance - 1 : 0;
    } else if (m.mark && a->block >= m.mark) {
        counted[0]++;
        counted[2] += a->found == COMING;
        m.distance += a->found == COMING;
        m.degree = MIN(m.degree + a->nblocks, most);
        m.mark = m.end > a->block ? m.end : 0;
    }
    m.distance = early ? m.distance : tunable[0] / 2;
    while (m.distance >= m.degree)
        m.distance--;
    early = a->found != MISSING;
    u64 from = early ? MAX(m.end, end_of(a)) : end_of(a);
    if (early && (m.degree <= tunable[0] || end_of(a) + m.distance < m.end))
        return readahead_for(a, 0, 0);
    struct readahead w = readahead_for(a, from, from + m.degree);
    if (w.n)
        m.end = w.first + w.n;
    if (!early)
        m.mark = m.end;
    else if (w.n)
        m.mark = w.first;
    return w;
}

/* Return the distance that more than half of the newest 32 / tunable[0]
 * distances have; without one, of twice as many, up to 32. 0: there is no
 * trend. The model counts each distance; the policy votes. */
static i64 leap_trend(void)
{
    for (u64 of = 32 / tunable[0]; of <= 32; of += of) {
        u64 from = m.nhistory > of ? m.nhistory - of : 0;
        for (u64 i = from; i < m.nhistory; i++) {
            u64 times = 0;
            for (u64 k = from; k < m.nhistory; k++)
                times += m.history[k] == m.history[i];
            if (2 * times > of)
                return m.history[i];
        }
    }
    return 0;
}

/* Return how many blocks Leap reads ahead: more than the hits of its last
 * prefetch, a power of 2, up to tunable[1]. Without hits, 1 if the last
 * distance follows the trend. The number falls to no less than half. */
static u64 leap_size(i64 trend)
{
    u64 size = trend && m.history[m.nhistory - 1] == trend;
    if (m.hits)
        for (size = 1; size <= m.hits; size *= 2)
            ;
    return MAX(m.size / 2, MIN(size, tunable[1]));
}

/* Note the distance from the last read, and which blocks of the last prefetch
 * were used. After a miss, read ahead along the trend, or without one along the
 * last trend. counted: misses with a trend; with an old one; with neither. */
static struct readahead leap(const struct access *a)
{
    struct readahead none = {0}, w = {.n = a->nblocks};
    bool adds = m.reads && a->block != m.last;
    m.end = a->file_blocks; /* most that is drawn is found */
    if (adds)
        m.history[m.nhistory++] = m.step = a->block - m.last;
    m.reads = true;
    for (u64 i = 0; a->found != MISSING && adds && i < m.size; i++)
        m.hits += a->block == m.started.first + i * m.started.step;
    if (a->found != MISSING)
        return none;
    i64 trend = leap_trend();
    u64 size = leap_size(trend);
    m.begun = trend ? (u64)trend : m.begun; /* the last trend */
    m.size = m.begun ? size : 0;
    m.hits = 0;
    counted[0] += trend != 0;
    counted[1] += !trend && m.size;
    counted[2] += !m.size;
    if (m.size)
        m.started = (struct readahead){.first = a->block + m.begun,
                                       .step = (i64)m.begun};
    w.first = m.started.first;
    w.step = m.started.step;
    for (i64 at = w.first;
         w.times < m.size && at >= 0 && at + a->nblocks <= a->file_blocks;
         at += w.step)
        w.times++;
    return w.times ? w : none;
}

/* ---- runs ---- */

typedef struct readahead model_fn(const struct access *);

/* Draw a read. Most go on from the last read or repeat its distance. Blocks
 * that were read ahead are mostly cached, and sometimes evicted. */
static void draw_read(struct access *a, u64 *seed)
{
    u64 how = random_u64(seed) % 16;
    u64 n = 1 + random_u64(seed) % 5;
    i64 to;
    if (how < 8)
        to = (i64)m.next; /* goes on */
    else if (how < 10)
        to = (i64)m.next - 1; /* in the last block again */
    else if (how < 14)
        to = (i64)m.last + m.step; /* as far on as the last time */
    else if (how < 15)
        to = (i64)m.last;
    else
        to = (i64)(random_u64(seed) % a->file_blocks);
    if (to < 0 || (u64)to + n > a->file_blocks)
        to = random_u64(seed) % (a->file_blocks - n + 1);
    a->block = to;
    a->nblocks = how == 9 ? n : a->nblocks ? a->nblocks : n;
    if (how == 8 || (u64)to + a->nblocks > a->file_blocks)
        a->nblocks = n;
    a->found = random_u64(seed) % 8 == 0 || (u64)to >= m.end ? MISSING
               : random_u64(seed) % 8 == 0                   ? COMING
                                                             : CACHED;
    if (random_u64(seed) % 16 == 0)
        a->hint = random_u64(seed) % 2 ? HINT_SEQUENTIAL : HINT_NONE;
}

static void check_readahead(const struct readahead *got,
                            const struct readahead *want)
{
    check_eq(got->n, want->n);
    if (!want->n)
        return;
    check_eq(got->first, want->first);
    check_eq(got->times, want->times);
    check(want->times == 1 || got->step == want->step);
}

/* Draw a tunable's value up to `most`: often an end of its range, or near its
 * least. */
static u64 draw_value(const struct tunable *t, u64 *seed, u64 most)
{
    u64 to = most < t->max ? most : t->max;
    switch (random_u64(seed) % 4) {
    case 0:
        return random_u64(seed) % 2 ? t->min : t->max;
    case 1:
        to = t->min + 16 < to ? t->min + 16 : to;
    }
    return t->min + random_u64(seed) % (to - t->min + 1);
}

/* Draw all tunables of the policy, for the model, too. */
static void draw_tunables(const struct policy *p, u64 *seed, u64 most)
{
    u32 i = 0;
    for (struct tunable *t = p->tunables; t && t->name; t++)
        t->value = tunable[i++] = draw_value(t, seed, most);
}

/* Return what the policy must answer if it is asked whether this read belongs
 * to the stream. */
static bool follows(model_fn *model, const struct access *a)
{
    if (model == leap)
        return true;
    return model == ondemand ? ondemand_follows(a) : stride_follows(a);
}

/* Make random reads of streams of one file, each stream about 100 reads long,
 * and check each answer of the policy. */
static void run(const struct policy *p, model_fn *model, u64 seed, u64 most)
{
    static const u32 sizes[] = {1024, 4096, 8192};
    struct stream s = {0};
    struct access a = {.file_blocks = 20 + random_u64(&seed) % 3000,
                       .block_bytes = sizes[seed % 3]};
    draw_tunables(p, &seed, most);
    memset(&m, 0, sizeof m);
    for (u32 i = 0; i < READS; i++) {
        struct readahead got = {.times = 1};
        if (random_u64(&seed) % 100 == 0) {
            memset(&m, 0, sizeof m); /* another begins */
            s = (struct stream){0};
            a.nblocks = 0;
        }
        draw_read(&a, &seed);
        if (p->prefetch.follows && m.next)
            check(p->prefetch.follows(&s, &a) == follows(model, &a));
        struct readahead want = model(&a);
        p->prefetch.readahead(&s, &a, &got);
        check_readahead(&got, &want);
        m.next = s.next_block = end_of(&a);
        if (model != stride)
            m.last = a.block;
    }
}

/* Make all runs, and check that the policy's counters are the model's. */
static void check_model(const char *name, model_fn *model, u64 most)
{
    const struct policy *p = policy_named(POLICY_PREFETCH, name);
    memset(counted, 0, sizeof counted);
    for (u64 seed = 0; seed < SEEDS; seed++)
        run(p, model, seed, most);
    struct policy_counter *c = p->counters;
    for (u32 i = 0; c && c[i].name; i++)
        check_eq(counter_of(p, c[i].name), counted[i]);
}

static const struct model {
    const char *name, *policy;
    model_fn *readahead;
    u64 most;
} models[] = {
    {"oneblock_wishes_as_its_model", "oneblock", oneblock, 0},
    {"bsd44_wishes_as_its_model", "bsd44", bsd44, 200},
    {"cluster_wishes_as_its_model", "cluster", cluster, 200},
    {"hints_wishes_as_its_model", "hints", hints, 400},
    {"ondemand_wishes_as_its_model", "ondemand", ondemand, 4096},
    {"stride_wishes_as_its_model", "stride", stride, 12},
    {"amp_wishes_as_its_model", "amp", amp, 400},
    {"leap_wishes_as_its_model", "leap", leap, 12},
};

TEST_ROWS(model, struct model, models)
{
    check_model(row->policy, row->readahead, row->most);
}
