/*
 * Marks (marks.h): a high and a low limit of how many blocks are dirty, which
 * adapt to the rates at which blocks become dirty, d, and clean, c:
 *
 *     high(t) = high(t-1) d(t-1)/d(t)
 *     low(t)  = low(t-1)  d(t-1)/d(t)  c(t)/c(t-1)
 *
 * The faster blocks become dirty, the sooner writing begins; the less the disk
 * keeps up, the longer it goes on. No step more than doubles or halves a mark.
 * The paper leaves these points open: 0/0 counts as 1, so an idle step changes
 * nothing; both marks are at most the cache, and the high mark is at least one
 * block. The limits that a caller sees (`most`, and low no more than high) do
 * not enter the formulas, so they end when their cause ends.
 *
 * Source: Batsakis, Burns, Kanevsky, Lentini and Talpey, "AWOL: An Adaptive
 * Write Optimizations Layer", FAST 2008.
 */
#include "policies/lib/marks.h"

#define ONE   65536UL /* ratios are in parts of this */
#define LARGE (ONE * ONE / 2)
#define PARTS 1024UL /* and exact marks in such parts of a block */

/* a / b in parts of ONE, rounded to the nearest; 0/0 is ONE. */
static u64 ratio(u64 a, u64 b)
{
    if (a == b)
        return ONE;
    return b ? MIN((a * ONE + b / 2) / b, LARGE) : LARGE;
}

/* A mark times `by` parts of ONE, rounded to the nearest. At most it doubles or
 * halves. */
static u64 step(u64 mark, u64 by)
{
    u64 factor = MAX(ONE / 2, MIN(by, ONE * 2));
    return (mark * factor + ONE / 2) / ONE;
}

/* Begin with these marks, in blocks. The exact ones count in PARTS of a
 * block. */
void marks_start(struct marks *m, u64 high, u64 low)
{
    *m = (struct marks){.high = high,
                        .low = low,
                        .exact_high = high * PARTS,
                        .exact_low = low * PARTS};
}

/* Scale the high mark by how much faster or slower blocks become dirty than in
 * the last step, and the low mark also by how they become clean. */
static void adapt(struct marks *m, u64 dirtied, u64 cleaned)
{
    u64 by_dirtied = ratio(m->dirtied, dirtied);
    u64 by_both = by_dirtied * ratio(cleaned, m->cleaned) / ONE;
    m->exact_high = step(m->exact_high, by_dirtied);
    m->exact_low = step(m->exact_low, by_both);
}

/* Keep the high mark from one block to all buffers, the low one up to all. */
static void keep_in_range(struct marks *m, u64 buffers)
{
    m->exact_high = MAX(PARTS, MIN(m->exact_high, buffers * PARTS));
    m->exact_low = MIN(m->exact_low, buffers * PARTS);
}

/* Where `most` lowers the high mark, it lowers the low mark in proportion. */
static void limit(struct marks *m, u64 most)
{
    u64 by = MIN(ONE, ratio(most * PARTS, m->exact_high));
    m->high = MAX(1, MIN(m->exact_high / PARTS, most));
    m->low = MIN(m->exact_low * by / ONE / PARTS, m->high);
}

/* End a step: adapt the marks to what became dirty and clean in it, and limit
 * them. The first two steps only give rates. */
void marks_step(struct marks *m, const struct cache_state *s, u64 most)
{
    u64 all_cleaned = s->written - s->writing;
    u64 dirtied = s->dirtied - m->all_dirtied;
    u64 cleaned = all_cleaned - m->all_cleaned;
    if (m->steps++ > 1)
        adapt(m, dirtied, cleaned);
    keep_in_range(m, s->buffers);
    limit(m, most);
    m->dirtied = dirtied;
    m->cleaned = cleaned;
    m->all_dirtied = s->dirtied;
    m->all_cleaned = all_cleaned;
}

/* ---- the policy ---- */

/* Begin with the marks that the tunables give in per cent. */
void watermarks_start(struct watermarks *w)
{
    const struct tunable *t = w->tunables;
    struct cache_state s;
    cache_state(&s);
    u64 high = s.buffers * t[HIGH_PERCENT].value / 100;
    marks_start(&w->marks, high, high * t[LOW_PERCENT].value / 100);
    w->stepped_ns = 0;
}

/* Return why these tunables do not fit together, or NULL. */
const char *watermarks_refuse(const struct watermarks *w)
{
    const struct tunable *t = w->tunables;
    return t[HIGH_PERCENT].value > t[MOST_PERCENT].value
               ? "high_percent would be more than most_percent"
               : NULL;
}

/* Return what is wrong with the marks, or NULL. */
const char *watermarks_check(const struct watermarks *w)
{
    return w->marks.low > w->marks.high ? "the low mark is above the high one"
                                        : NULL;
}

/* Return when the marks adapt next. A scan also comes once more blocks are
 * dirty than the high mark. */
u64 watermarks_next_ns(const struct watermarks *w)
{
    scan_at_dirty(w->marks.high + 1);
    return w->stepped_ns + w->tunables[STEP_MS].value * NS_PER_MS;
}

/* End a step: adapt the marks, count them, and write the blocks that are of
 * age. */
static void watermarks_step(struct watermarks *w, u64 now_ns)
{
    struct policy_counter *c = w->counters;
    struct cache_state s;
    cache_state(&s);
    w->stepped_ns = now_ns;
    marks_step(&w->marks, &s, w->most(s.buffers));
    c[STEPS].value++;
    c[HIGH_SUM].value += w->marks.high;
    c[LOW_SUM].value += w->marks.low;
    c[DUE].value += flush_older(w->tunables[AGE_MS].value * NS_PER_MS);
}

/* If more is dirty than the high mark allows, write down to the low mark. */
void watermarks_scan(struct watermarks *w, u64 now_ns)
{
    struct cache_state s;
    if (now_ns >= watermarks_next_ns(w))
        watermarks_step(w, now_ns);
    cache_state(&s);
    if (s.dirty <= w->marks.high)
        return;
    w->counters[ABOVE_HIGH].value++;
    w->counters[WRITTEN].value += flush_oldest(s.dirty - w->marks.low);
}
