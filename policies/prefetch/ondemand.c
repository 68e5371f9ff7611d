/*
 * On-demand window, the read-ahead of Linux: a sequential read that misses
 * opens a window, which has the blocks asked for and some after them.
 *
 * The first block after those asked for is the mark. When the reader comes to
 * it, the next window is read, at least twice as large and at most max_kb; the
 * mark is then its first block. A read that misses inside a window shows that
 * the cache cannot hold so much: the window is halved, and that becomes the
 * limit. From then on, the limit grows by one block with every 16 windows.
 *
 * Source: Wu, Xi, Li, Zou, "Linux readahead: less tricks for more" (OLS 2007);
 * Wu, Xi, Xu, "On the design of a new Linux readahead framework" (2008).
 */
#include "kernel/policy/prefetch.h"

enum { MAX_KB };

static struct tunable tunables[] = {
    {"max_kb", "KB", 128, 4, 4096, "of the largest window"},
    {0},
};

enum { OPENED, PUSHED, SHRUNK };

static struct policy_counter counters[] = {
    {"opened", "windows", "by a sequential read that missed"},
    {"pushed", "windows", "read because the mark was reached"},
    {"shrunk", "windows",
     "halved: blocks that they had read were evicted unused"},
    {0},
};

/* Words: the window's first block, its number of blocks, the mark; and the
 * limit in sixteenths of a block, or 0 if there was no miss inside a window. */
enum { START, SIZE, MARK, LIMIT };

static u64 most_blocks(const struct stream *s, const struct access *a)
{
    u64 most = MAX(2, tunables[MAX_KB].value * 1024 / a->block_bytes);
    return s->word[LIMIT] ? MIN(most, s->word[LIMIT] / 16) : most;
}

/* Small reads open a window four times their size, larger ones twice. */
static u64 first_size(u64 asked, u64 most)
{
    u64 size = 1;
    while (size < asked)
        size *= 2;
    return MIN(size <= most / 32 ? 4 * size : 2 * size, most);
}

static u64 next_size(u64 size, u64 most)
{
    return MIN(size < most / 16 ? 4 * size : 2 * size, most);
}

/* A window from this read on. */
static void open_window(struct stream *s, const struct access *a, u64 size)
{
    s->word[START] = a->block;
    s->word[SIZE] = MAX(size, a->nblocks + 1);
    s->word[MARK] = a->block + a->nblocks;
}

/* Go on to the window after the last one, or after the blocks asked for. */
static void push_window(struct stream *s, const struct access *a)
{
    u64 start = s->word[START] + s->word[SIZE], end = a->block + a->nblocks;
    if (s->word[LIMIT])
        s->word[LIMIT]++;
    s->word[START] = s->word[MARK] = MAX(start, end);
    s->word[SIZE] = next_size(s->word[SIZE], most_blocks(s, a));
    counters[PUSHED].value++;
}

static void shrink_window(struct stream *s, const struct access *a)
{
    u64 half = MAX(2, s->word[SIZE] / 2);
    s->word[LIMIT] = 16 * half;
    open_window(s, a, half);
    counters[SHRUNK].value++;
}

/* Was this block read ahead, and evicted before it was asked for? */
static bool has_lost(const struct stream *s, const struct access *a)
{
    return a->found == MISSING && a->block >= s->next_block &&
           a->block < s->word[START] + s->word[SIZE];
}

/* Move the window as this read demands. True if there is something to read. */
static bool move_window(struct stream *s, const struct access *a)
{
    if (!s->word[SIZE]) {
        bool sequential = goes_on(s, a) || a->hint == HINT_SEQUENTIAL;
        if (!sequential || a->found != MISSING)
            return false;
        open_window(s, a, first_size(a->nblocks, most_blocks(s, a)));
        counters[OPENED].value++;
        return true;
    }
    if (has_lost(s, a))
        shrink_window(s, a);
    else if (a->block + a->nblocks > s->word[MARK])
        push_window(s, a);
    else
        return false;
    return true;
}

static void ondemand_readahead(struct stream *s, const struct access *a,
                               struct readahead *w)
{
    if (!move_window(s, a))
        return;
    u64 from = s->word[MARK];
    u64 to = MIN(s->word[START] + s->word[SIZE], a->file_blocks);
    if (from >= to)
        return;
    w->first = from;
    w->n = to - from;
}

static const struct policy ondemand = {
    .kind = POLICY_PREFETCH,
    .name = "ondemand",
    .about = "a window that grows as the reader comes to its mark",
    .tunables = tunables,
    .counters = counters,
    .prefetch = {.readahead = ondemand_readahead, .takes_hints = true},
};
POLICY(ondemand);
