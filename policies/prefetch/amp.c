/*
 * AMP, adaptive multi-stream prefetching: each sequential stream learns how
 * many blocks to read at once, its degree p, and how early, its distance g.
 *
 * Blocks are read ahead in sets of p. From the second sequential read on, a
 * read that must be waited for starts a set behind it. If p is more than
 * `threshold`, the next set is also started when the reader comes to the block
 * g before the last of the set.
 *
 * p begins as the size of a read. When the reader has used a whole set, p grows
 * by the size of the read. When blocks were evicted before the reader came to
 * them, p was too large: p and g shrink by 1. When the reader comes to a set
 * and must wait for its first block, the set was started too late: g grows by
 * 1. When p exceeds the threshold, g is half of that; g is less than p.
 *
 * In the paper p shrinks when the last block of a set comes to the end of the
 * LRU list unused; the block then gets a second chance. Here a prefetch policy
 * is not notified of evictions, and any replace policy may be in use. So p
 * shrinks later: when the reader finds a block of a set missing. The set is
 * then started anew, and counts as lost once. So each loss costs a read that
 * must wait, unlike the paper's second chance: a reader that keeps p at its
 * limit is slower here. Blocks for which prefetching had no room in the cache
 * are missing, too, so p also stays within that share. Nothing is learned from
 * the end of a stream. The paper keeps p and g with the blocks, we keep them
 * with the stream. It has no limit like max_kb.
 *
 * Source: Gill and Bathen, "AMP: Adaptive Multi-stream Prefetching in a Shared
 * Cache", FAST 2007, section III.
 */
#include "kernel/policy/prefetch.h"

enum { THRESHOLD, MAX_KB };

static struct tunable tunables[] = {
    {"threshold", "blocks", 4, 0, 1024,
     "a larger degree has sets started before they are missed"},
    {"max_kb", "KB", 1024, 4, 4096, "of the largest set"},
    {0},
};

enum { GROWN, LOST, LATE };

static struct policy_counter counters[] = {
    {"grown", "sets", "all used, so that p grew"},
    {"lost", "sets", "of which a block was missing, so that p and g shrank"},
    {"late", "sets", "waited for, so that g grew"},
    {0},
};

/* Words: p and g; the first block of the set that the reader comes to next,
 * 0: none; the end of the last set. */
enum { DEGREE, DISTANCE, NEXT_SET, END };

static u64 end_of(const struct access *a)
{
    return a->block + a->nblocks;
}

/* p grows by the size of the read. At first it is 0. */
static void grow(struct stream *s, const struct access *a)
{
    u64 most = MAX(2, tunables[MAX_KB].value * 1024 / a->block_bytes);
    s->word[DEGREE] = MIN(s->word[DEGREE] + a->nblocks, most);
}

static void shrink(struct stream *s)
{
    s->word[DEGREE] -= s->word[DEGREE] > 1;
    s->word[DISTANCE] -= MIN(s->word[DISTANCE], 1);
    counters[LOST].value++;
}

/* The reader has come to the next set, or to the end of the last. */
static void come_to_next(struct stream *s, const struct access *a)
{
    bool late = a->found == COMING;
    grow(s, a);
    s->word[DISTANCE] += late;
    s->word[NEXT_SET] = a->block < s->word[END] ? s->word[END] : 0;
    counters[GROWN].value++;
    counters[LATE].value += late;
}

/* Adapt p and g: p begins or shrinks here, and come_to_next lets p and g grow.
 * While p does not exceed the threshold, g is prepared for when p does. */
static void learn(struct stream *s, const struct access *a)
{
    u64 threshold = tunables[THRESHOLD].value;
    bool was_above = s->word[DEGREE] > threshold;
    if (!s->word[DEGREE]) {
        grow(s, a);
    } else if (a->found == MISSING && a->block >= s->next_block &&
               a->block < s->word[END]) {
        shrink(s);
    } else if (s->word[NEXT_SET] && a->block >= s->word[NEXT_SET]) {
        come_to_next(s, a);
    }
    if (!was_above)
        s->word[DISTANCE] = threshold / 2;
    s->word[DISTANCE] = MIN(s->word[DISTANCE], s->word[DEGREE] - 1);
}

/* True if the read is at the trigger of the last set, or behind it. */
static bool at_trigger(const struct stream *s, const struct access *a)
{
    return s->word[DEGREE] > tunables[THRESHOLD].value &&
           end_of(a) + s->word[DISTANCE] >= s->word[END];
}

/* Ask for the next set, `degree` blocks from `first` on, within the file. */
static void start_set(struct stream *s, const struct access *a, u64 first,
                      struct readahead *w)
{
    u64 end = MIN(first + s->word[DEGREE], a->file_blocks);
    if (first >= end)
        return;
    s->word[END] = end;
    w->first = first;
    w->n = end - first;
}

static void amp_readahead(struct stream *s, const struct access *a,
                          struct readahead *w)
{
    if (!s->next_block || end_of(a) <= s->next_block)
        return;
    learn(s, a);
    if (a->found == MISSING) {
        start_set(s, a, end_of(a), w);
        s->word[NEXT_SET] = s->word[END];
    } else if (at_trigger(s, a)) {
        start_set(s, a, MAX(s->word[END], end_of(a)), w);
        if (w->n)
            s->word[NEXT_SET] = w->first;
    }
}

static const struct policy amp = {
    .kind = POLICY_PREFETCH,
    .name = "amp",
    .about = "learns how much to read ahead of each stream, and how early",
    .tunables = tunables,
    .counters = counters,
    .prefetch = {.readahead = amp_readahead, .takes_hints = true},
};
POLICY(amp);
