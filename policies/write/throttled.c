/*
 * Throttled: all writes are delayed, as under `delayed`, but at most
 * dirty_percent of the cache may be dirty or being written. A writer that
 * exceeds the limit waits for the disk, and so writes at the disk's speed and
 * not at the memory's.
 *
 * The limit is meant to stand above the share at which the update policy
 * begins to write: with update=linux, above linux.background_percent, so that
 * writers meet it only when the disk cannot keep up. A lower limit holds too,
 * because a writer that waits has the oldest blocks written; then the update
 * policy finds little to do. With dirty_percent 100 no writer waits.
 *
 * Source: Linux, Documentation/admin-guide/sysctl/vm.rst, dirty_ratio.
 */
#include "kernel/policy/write.h"

enum { DIRTY_PERCENT };

static struct tunable tunables[] = {
    {"dirty_percent", "% of the cache", 20, 1, 100, "limit for writers"},
    {0},
};

static enum write_mode throttled_decide(const struct write_info *w)
{
    (void)w;
    return WRITE_DELAYED;
}

/* Rounded up: at least one block. */
static u64 throttled_most_dirty(u64 buffers)
{
    return (buffers * tunables[DIRTY_PERCENT].value + 99) / 100;
}

static const struct policy throttled = {
    .kind = POLICY_WRITE,
    .name = "throttled",
    .about = "all data writes are delayed; writers wait at a limit",
    .tunables = tunables,
    .write = {.decide = throttled_decide, .most_dirty = throttled_most_dirty},
};
POLICY(throttled);
