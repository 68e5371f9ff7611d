/*
 * AWOL, an adaptive write optimizations layer, its memory manager: adaptive
 * high and low watermarks (AHLW, ahlw.c), and ghost caches that bound the high
 * mark. With sched=opportunistic, which writes dirty blocks near the head's
 * way, it is the whole of AWOL. With another scheduler it is the paper's
 * AHLW+ghost.
 *
 * Two ghost caches hold names of blocks without their data, and forget the
 * least recently used first.
 *
 * - `full` is as large as the cache, and gets the names of blocks that are
 *   read or made dirty: it shows what would be cached if dirty blocks could be
 *   evicted as clean ones are. A read that misses although `full` has the name
 *   is a ghost miss (GM): the block was evicted only because of write
 *   buffering.
 * - `least` is as large as the cache without most_percent of it, and gets the
 *   names of blocks that are read, or are written and so become clean: it shows
 *   what would still be cached with the most write buffering. A read that hits
 *   a clean block whose name `least` does not have is a ghost hit (GH): more
 *   write buffering would take its place.
 *
 * At each step the high mark is bounded by the reads since the last step, of
 * which C hit. The tunable `reading` chooses the formula:
 *
 *     most_percent of the cache * (1 - (C - GH + GM) / reads)    reading 0
 *     most_percent of the cache * (1 - (C + GH + GM) / reads)    reading 1
 *     most_percent of the cache * (1 - (GH + GM) / reads)        reading 2
 *
 * Reading 0 is the formula as printed. The paper's text implies that GH and GM
 * both argue for less write buffering: reading 1. Under both, a reader's hits
 * lower the mark even if write buffering would lose none of them; reading 2
 * leaves C out. A negative bound counts as 0. Without reads the bound is
 * most_percent of the cache.
 *
 * The ghost caches have room for NAMES names each. In a larger cache they
 * follow only every second, third, ... block number, and are smaller by as
 * much. The formulas need only shares of reads, which such a sample estimates:
 * with 4,096 names or more, to about 1 / sqrt(4096), 1.6 %. The other tunables
 * are those of AHLW.
 *
 * Source: Batsakis, Burns, Kanevsky, Lentini and Talpey, "AWOL: An Adaptive
 * Write Optimizations Layer", FAST 2008.
 */
#include "kernel/policy/update.h"
#include "policies/lib/ghost.h"
#include "policies/lib/marks.h"

#define NAMES 8192

/* The first rows are those that marks.h names, in its order. */
static struct tunable tunables[] = {
    {"step_ms", "ms", 5000, 1, 3600000, "time between two steps"},
    {"age_ms", "ms", 30000, 0, 3600000, "age at which a block is due"},
    {"high_percent", "% of the cache", 10, 1, 100, "high mark at first"},
    {"low_percent", "% of the high mark", 50, 0, 100, "low mark at first"},
    {"most_percent", "% of the cache", 40, 1, 99, "most of the high mark"},
    {"reading", "0, 1 or 2", 0, 0, 2, "which formula bounds the high mark"},
    {0},
};
enum { READING = WATERMARK_TUNABLES };

static struct policy_counter counters[] = {
    {"steps", "steps", "of the marks"},
    {"high_sum", "blocks", "high marks of all steps; over steps: the mean"},
    {"low_sum", "blocks", "low marks of all steps; over steps: the mean"},
    {"due", "blocks", "written because of their age"},
    {"above_high", "times", "more was dirty than the high mark"},
    {"written", "blocks", "written because of that mark"},
    {"most_sum", "blocks", "bounds of the high mark, of all steps"},
    {"reads", "blocks", "wanted by reads, of those followed"},
    {"hits", "blocks", "of the reads, those that were cached"},
    {"ghost_hits", "blocks", "of the hits, lost with more write buffering"},
    {"ghost_misses", "blocks", "of the reads, lost by write buffering"},
    {0},
};
enum {
    MOST_SUM = WATERMARK_COUNTERS,
    WANTED,
    HITS,
    GHOST_HITS,
    GHOST_MISSES,
    COUNTERS,
};

static u64 seen[COUNTERS]; /* the counters at the last step */

static u64 percent(u64 of, u64 tunable)
{
    return of * tunables[tunable].value / 100;
}

/* ---- the ghost caches; the cache's lock guards them ---- */

static _Alignas(struct ghost) u8 full_names[GHOSTS_BYTES(NAMES)];
static _Alignas(struct ghost) u8 least_names[GHOSTS_BYTES(NAMES)];
static struct ghosts full, least;
static u64 every; /* one in so many block numbers is followed */

static void size_ghosts(u64 buffers)
{
    every = (buffers + NAMES - 1) / NAMES;
    ghosts_init(&full, full_names, buffers / every);
    ghosts_init(&least, least_names, buffers / every);
}

/* Note a block's name: in `full`, what a cache would hold without write
 * buffering, and if it was read also in `least`, what would be left with the
 * most of it. */
static void remember(u32 disk, u64 blkno, bool read)
{
    ghosts_remember(&full, disk, blkno);
    if (!read)
        return;
    ghosts_remember(&least, disk, blkno);
    ghosts_shrink(&least, full.most - percent(full.most, MOST_PERCENT));
}

/* Count, for a sample of all blocks, hits, misses, and those that write
 * buffering took or would take. */
static void awol_wanted(const struct block *b, bool hit)
{
    if (b->blkno % every)
        return;
    counters[WANTED].value++;
    counters[HITS].value += hit;
    if (!hit && ghosts_have(&full, b->disk, b->blkno))
        counters[GHOST_MISSES].value++;
    if (hit && !b->dirtied_ns && !ghosts_have(&least, b->disk, b->blkno))
        counters[GHOST_HITS].value++;
    remember(b->disk, b->blkno, true);
}

static void awol_dirtied(struct block *b, u64 now_ns)
{
    (void)now_ns;
    if (b->blkno % every == 0)
        remember(b->disk, b->blkno, false);
}

/* A block that is written is clean then, and was just used. */
static void awol_leaves(struct block *b)
{
    if (b->blkno % every)
        return;
    ghosts_remember(&least, b->disk, b->blkno);
    ghosts_shrink(&least, full.most - percent(full.most, MOST_PERCENT));
}

/* ---- the marks ---- */

/* How much a counter grew since this was last asked. */
static u64 growth(u64 counter)
{
    u64 *last = &seen[counter], old = *last;
    *last = counters[counter].value;
    return *last - old;
}

/* The upper limit of the high mark, from what became of the reads since the
 * last step: the formulas at the head of this file. */
static u64 bound(u64 buffers)
{
    u64 reads = growth(WANTED), c = growth(HITS);
    u64 gh = growth(GHOST_HITS), gm = growth(GHOST_MISSES);
    u64 against[] = {c - gh + gm, c + gh + gm, gh + gm};
    u64 n = against[tunables[READING].value];
    u64 max = percent(buffers, MOST_PERCENT);
    if (!reads)
        return max;
    return n < reads ? max * (reads - n) / reads : 0;
}

static u64 most(u64 buffers)
{
    u64 blocks = bound(buffers);
    counters[MOST_SUM].value += blocks;
    return blocks;
}

static struct watermarks watermarks = {
    .tunables = tunables, .counters = counters, .most = most};

static void awol_start(void)
{
    struct cache_state s;
    cache_state(&s);
    watermarks_start(&watermarks);
    size_ghosts(s.buffers);
}

WATERMARKS_HOOKS(awol)

static const struct policy awol = {
    .kind = POLICY_UPDATE,
    .name = "awol",
    .about = "like ahlw, with ghost caches that bound the high mark",
    .tunables = tunables,
    .counters = counters,
    .refuses = awol_refuses,
    .check = awol_check,
    .start = awol_start,
    .update = {.next_ns = awol_next_ns,
               .scan = awol_scan,
               .dirtied = awol_dirtied,
               .leaves = awol_leaves,
               .wanted = awol_wanted},
};
POLICY(awol);
