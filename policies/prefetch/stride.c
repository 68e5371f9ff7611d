/*
 * Strides: reads that each begin at the same distance from the one before,
 * forward or backward, are one stream, whose next reads can be predicted.
 *
 * When a distance has come `confirm` times in a row, the read expected next is
 * started. Each time it comes again, twice as many reads are started ahead of
 * the reader, up to `depth`; so a distance that came by chance costs one read.
 * For a sequential reader the distance is the size of its reads. Until its
 * distance has come twice, a stream takes any read within reach_blocks of its
 * last one; from then on only the read that is expected.
 *
 * Source: Chen and Baer, "Effective hardware-based data prefetching for high
 * performance processors" (IEEE Trans. Computers, 1995): the states of their
 * reference prediction table, here by stream instead of by instruction.
 */
#include "kernel/policy/prefetch.h"

enum { CONFIRM, DEPTH, REACH_BLOCKS };

static struct tunable tunables[] = {
    {"confirm", "times", 2, 1, 16, "a distance must come in a row"},
    {"depth", "reads", 4, 1, 64, "started ahead of the reader"},
    {"reach_blocks", "blocks", 256, 1, 1 << 20, "longest distance"},
    {0},
};

/* Words: the last read's block; its signed distance from the read before; how
 * often this distance has come in a row; how many expected reads are started.
 */
enum { LAST, STEP, TIMES, BEGUN };

static i64 distance(const struct stream *s, const struct access *a)
{
    return (i64)(a->block - s->word[LAST]);
}

/* True if the read goes on with the stream's step; before a step is known, if
 * it is near enough. */
static bool stride_follows(const struct stream *s, const struct access *a)
{
    i64 d = distance(s, a);
    if (d && s->word[TIMES] >= 2)
        return d == (i64)s->word[STEP];
    return (u64)(d < 0 ? -d : d) <= tunables[REACH_BLOCKS].value;
}

/* Update the stream's distance by this read. */
static void learn(struct stream *s, const struct access *a)
{
    i64 d = distance(s, a);
    bool again = s->word[TIMES] && d == (i64)s->word[STEP];
    s->word[TIMES] = again ? s->word[TIMES] + 1 : 1;
    if (s->word[BEGUN])
        s->word[BEGUN]--; /* this one was */
    s->word[STEP] = d;
    s->word[LAST] = a->block;
}

/* How many reads `step` apart, the first at `first`, lie in the file; at most
 * `most`. */
static u64 in_file(const struct access *a, i64 first, i64 step, u64 most)
{
    u64 n = 0;
    for (; n < most; n++, first += step)
        if (first < 0 || first + a->nblocks > a->file_blocks)
            break;
    return n;
}

/* How many reads may be started ahead of the reader. */
static u64 depth(const struct stream *s)
{
    u64 times = s->word[TIMES], confirm = tunables[CONFIRM].value;
    if (times < confirm)
        return 0;
    return MIN(1UL << MIN(times - confirm, 6), tunables[DEPTH].value);
}

/* Ask for the reads ahead, up to depth(), that have not begun yet. */
static void stride_readahead(struct stream *s, const struct access *a,
                             struct readahead *w)
{
    if (!s->next_block) {
        s->word[LAST] = a->block;
        return;
    }
    if (distance(s, a) == 0)
        return;
    learn(s, a);
    u64 most = depth(s);
    if (s->word[BEGUN] >= most)
        return;
    i64 step = s->word[STEP];
    w->first = a->block + step * (i64)(s->word[BEGUN] + 1);
    w->step = step;
    w->times = in_file(a, w->first, step, most - s->word[BEGUN]);
    w->n = w->times ? a->nblocks : 0;
    s->word[BEGUN] += w->times;
}

static const struct policy stride = {
    .kind = POLICY_PREFETCH,
    .name = "stride",
    .about = "reads at equal distances, some ahead",
    .tunables = tunables,
    .prefetch = {.readahead = stride_readahead,
                 .follows = stride_follows,
                 .takes_hints = true},
};
POLICY(stride);
