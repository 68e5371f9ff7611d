/*
 * Strides: reads that each begin as many blocks after the one before, or before
 * it, are one stream. When that distance has come `confirm` times in a row, the
 * read expected next is begun; each time it comes again twice as many are begun
 * ahead of the reader, up to `depth`, so that a chance costs one read. A
 * sequential reader is one whose distance is the size of its reads.
 *   Until its distance has come twice a stream takes any read within
 * `reach_blocks` of its last; from then on only the one expected.
 *
 * Source: Chen and Baer, "Effective hardware-based data prefetching for high
 * performance processors" (IEEE Trans. Computers, 1995): the states of their
 * reference prediction table, here by stream instead of by instruction.
 */
#include "kernel/policy/policy.h"

enum { CONFIRM, DEPTH, REACH_BLOCKS };

static struct tunable tunables[] = {
    {"confirm", "times", 2, 1, 16, "a distance must come"},
    {"depth", "reads", 4, 1, 64, "begun ahead"},
    {"reach_blocks", "blocks", 256, 1, 1 << 20, "longest distance"},
    {0},
};

/* Words: the last read's block; the distance to it, signed; how often that has
 * come in a row; how many of the reads expected have been begun. */
enum { LAST, STEP, TIMES, BEGUN };

static i64 distance(const struct stream *s, const struct access *a)
{
    return (i64)(a->block - s->word[LAST]);
}

static bool stride_follows(const struct stream *s, const struct access *a)
{
    i64 d = distance(s, a);
    if (d && s->word[TIMES] >= 2)
        return d == (i64)s->word[STEP];
    return (u64)(d < 0 ? -d : d) <= tunables[REACH_BLOCKS].value;
}

/* Note what this read says of the stream's distance. */
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

/* How many reads `step` apart, the first of them at `first`, lie in the file,
 * up to most? */
static u64 in_file(const struct access *a, i64 first, i64 step, u64 most)
{
    u64 n = 0;
    for (; n < most; n++, first += step)
        if (first < 0 || first + a->nblocks > a->file_blocks)
            break;
    return n;
}

/* How many reads may be begun ahead of the reader? */
static u64 depth(const struct stream *s)
{
    u64 times = s->word[TIMES], confirm = tunables[CONFIRM].value;
    if (times < confirm)
        return 0;
    return MIN(1UL << MIN(times - confirm, 6), tunables[DEPTH].value);
}

static void stride_ahead(struct stream *s, const struct access *a,
                         struct wish *w)
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
    .prefetch = {.ahead = stride_ahead,
                 .follows = stride_follows,
                 .takes_hints = true},
};
POLICY(stride);
