/*
 * On-demand window, the read-ahead of Linux: a sequential read that misses
 * opens a window, which has the blocks asked for and some after them.
 *
 * The first block after those asked for is the mark, or the middle of the
 * window if that ends with the call. When the reader comes to the mark, the
 * next window is read, at least twice as large and at most max_kb; the mark is
 * then its first block. A larger call lets the window grow to its own length,
 * up to io_kb. A read that misses inside a window shows that the cache cannot
 * hold so much: the window is halved, and that becomes the limit. From then
 * on, the limit grows by one block with every 16 windows.
 *
 * - A read is sequential that begins where the last one ended, in its last
 *   block, or one block further: Linux compares with where the last one ended,
 *   and takes a distance of one page for sequential.
 * - Linux keeps the mark with the page: any reader that meets it goes on. Here
 *   a read inside what was read ahead for a stream belongs to that stream, so a
 *   reader that skips blocks can meet the mark, too. A reader that skips the
 *   mark opens a new window where it misses.
 * - A program that says it reads sequentially doubles max_kb, and no more.
 *
 * Differences from Linux: here streams distinguish two readers of one
 * descriptor, and each gets windows that grow; in Linux they share one state,
 * and windows grow later. The limit after a miss inside a window is the
 * papers'; Linux 6.12 has none. The kernel reads the first missing block of a
 * call by a command of its own, if it is not at the call's beginning. And
 * blocks that are never asked for fill prefetching's share of the cache until
 * they are evicted, where Linux has no share: to a reader of every second
 * block, half of each window is such blocks, so soon there is no room for the
 * other half.
 *
 * Source: Wu, Xi, Li, Zou, "Linux readahead: less tricks for more" (OLS 2007);
 * Wu, Xi, Xu, "On the design of a new Linux readahead framework" (2008).
 * Linux 6.12 of Debian 13 was measured (sluice bench --linux-policies).
 */
#include "kernel/policy/prefetch.h"

enum { MAX_KB, IO_KB };

static struct tunable tunables[] = {
    {"max_kb", "KB", 128, 4, 4096, "of the largest window"},
    {"io_kb", "KB", 1280, 4, 4096, "of the largest one that a call makes grow"},
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

/* Return the largest window: max_kb, twice that for a program that reads
 * sequentially, or one command if the program asks for more. The limit is in
 * sixteenths of a block. */
static u64 most_blocks(const struct stream *s, const struct access *a)
{
    u64 kb = tunables[MAX_KB].value << (a->hint == HINT_SEQUENTIAL);
    u64 most = MAX(2, kb * 1024 / a->block_bytes);
    u64 command = tunables[IO_KB].value * 1024 / a->block_bytes;
    most = MAX(most, MIN(a->nblocks, command));
    return s->word[LIMIT] ? MIN(most, s->word[LIMIT] / 16) : most;
}

/* Small reads open a window four times their size, larger ones twice, and
 * those above a quarter of the largest window that. */
static u64 first_size(u64 asked, u64 most)
{
    u64 size = 1;
    while (size < asked)
        size *= 2;
    return size <= most / 32 ? 4 * size : size <= most / 4 ? 2 * size : most;
}

static u64 next_size(u64 size, u64 most)
{
    return MIN(size < most / 16 ? 4 * size : 2 * size, most);
}

static u64 window_end(const struct stream *s)
{
    return s->word[START] + s->word[SIZE];
}

static u64 end_of(const struct access *a)
{
    return a->block + a->nblocks;
}

/* Go on to the window after the last one, or after the blocks asked for. */
static void push_window(struct stream *s, const struct access *a)
{
    if (s->word[LIMIT])
        s->word[LIMIT]++;
    s->word[START] = s->word[MARK] = MAX(window_end(s), end_of(a));
    s->word[SIZE] = next_size(s->word[SIZE], most_blocks(s, a));
    counters[PUSHED].value++;
}

/* Open a window at this read. If the whole window is within the call, the call
 * itself reaches the mark: the next window is opened at once. */
static void open_window(struct stream *s, const struct access *a)
{
    s->word[START] = a->block;
    s->word[SIZE] = first_size(a->nblocks, most_blocks(s, a));
    s->word[MARK] = end_of(a);
    counters[OPENED].value++;
    if (s->word[SIZE] <= a->nblocks)
        push_window(s, a);
}

/* A block of the window was evicted before it was used: halve the window, and
 * keep it from growing. */
static void shrink_window(struct stream *s, const struct access *a)
{
    u64 half = MAX(2, s->word[SIZE] / 2);
    s->word[LIMIT] = 16 * half;
    s->word[START] = a->block;
    s->word[SIZE] = MAX(half, a->nblocks + 1);
    s->word[MARK] = end_of(a);
    counters[SHRUNK].value++;
}

/* A stream that begins is at the file's first block. */
static bool is_sequential(const struct stream *s, const struct access *a)
{
    return goes_on(s, a) || (s->next_block && a->block == s->next_block + 1);
}

/* True if the read goes on, or lies inside what was read ahead. */
static bool ondemand_follows(const struct stream *s, const struct access *a)
{
    bool inside = a->block > s->next_block && a->block < window_end(s);
    return is_sequential(s, a) || (s->word[SIZE] && inside);
}

/* Move the window as this read demands. True if there is something to read. */
static bool move_window(struct stream *s, const struct access *a)
{
    bool inside = s->word[SIZE] && a->block < window_end(s);
    bool missing = a->found == MISSING;
    if (missing && inside && a->block >= s->next_block) {
        shrink_window(s, a); /* it was evicted before it was asked for */
    } else if (missing && !inside && is_sequential(s, a)) {
        open_window(s, a);
    } else if (inside && end_of(a) > s->word[MARK] &&
               (a->block <= s->word[MARK] || end_of(a) > window_end(s))) {
        push_window(s, a);
    } else {
        return false;
    }
    return true;
}

static void ondemand_readahead(struct stream *s, const struct access *a,
                               struct readahead *w)
{
    if (!move_window(s, a))
        return;
    u64 from = MAX(s->word[START], end_of(a));
    u64 to = MIN(window_end(s), a->file_blocks);
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
    .prefetch = {.readahead = ondemand_readahead,
                 .follows = ondemand_follows,
                 .takes_hints = true},
};
POLICY(ondemand);
