/*
 * AHLW, adaptive high and low watermarks: as soon as more blocks are dirty
 * than the high mark, the oldest are written until only as many as the low
 * mark are dirty.
 *
 * Every step_ms the marks adapt to the rates at which blocks became dirty and
 * clean (policies/lib/marks.c): fast writers lower the high mark, a slow disk
 * lowers the low mark. At each step, blocks that have been dirty for age_ms
 * are written too. The marks begin at high_percent and low_percent, and the
 * high mark never exceeds most_percent of the cache.
 *
 * The text of the paper that we have does not say how long a step is and where
 * the marks begin. Here a step is the time between two scans of the paper's
 * "default" system (linux.c). The experiments of the paper begin the marks at
 * the two limits of that system, which is our reading: the high mark at 40 % of
 * the cache, where writers wait, the low mark at 10 %, where writing begins.
 *
 * Source: Batsakis, Burns, Kanevsky, Lentini and Talpey, "AWOL: An Adaptive
 * Write Optimizations Layer", FAST 2008.
 */
#include "kernel/policy/update.h"
#include "policies/lib/marks.h"

/* The rows that marks.h names, in its order. */
static struct tunable tunables[] = {
    {"step_ms", "ms", 5000, 1, 3600000, "time between two steps"},
    {"age_ms", "ms", 30000, 0, 3600000, "age at which a block is due"},
    {"high_percent", "% of the cache", 10, 1, 100, "high mark at first"},
    {"low_percent", "% of the high mark", 50, 0, 100, "low mark at first"},
    {"most_percent", "% of the cache", 40, 1, 100, "most of the high mark"},
    {0},
};

static struct policy_counter counters[] = {
    {"steps", "steps", "of the marks"},
    {"high_sum", "blocks", "high marks of all steps; over steps: the mean"},
    {"low_sum", "blocks", "low marks of all steps; over steps: the mean"},
    {"due", "blocks", "written because of their age"},
    {"above_high", "times", "more was dirty than the high mark"},
    {"written", "blocks", "written because of that mark"},
    {0},
};

static u64 most(u64 buffers)
{
    return buffers * tunables[MOST_PERCENT].value / 100;
}

static struct watermarks watermarks = {
    .tunables = tunables, .counters = counters, .most = most};

static void ahlw_start(void)
{
    watermarks_start(&watermarks);
}

WATERMARKS_HOOKS(ahlw)

static const struct policy ahlw = {
    .kind = POLICY_UPDATE,
    .name = "ahlw",
    .about = "down to a low mark at a high mark; both adapt to the load",
    .tunables = tunables,
    .counters = counters,
    .refuses = ahlw_refuses,
    .check = ahlw_check,
    .start = ahlw_start,
    .update = {.next_ns = ahlw_next_ns, .scan = ahlw_scan},
};
POLICY(ahlw);
