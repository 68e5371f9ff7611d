/*
 * IPU, interval periodic update: a block is written when it has been dirty for
 * age_ms, at that time exactly and not at the next tick.
 *
 * The daemon sleeps until the oldest dirty block has that age. While nothing
 * is dirty it scans every age_ms, because a block that becomes dirty meanwhile
 * is not due before then. Approximate interval periodic update (AIPU, aipu.c)
 * comes near to this with fewer wake-ups.
 *
 * Source: Carson and Setia, "Analysis of the Periodic Update Write Policy for
 * Disk Cache", IEEE Transactions on Software Engineering 18(1), 1992; named
 * IPU by Mogul, "A Better Update Policy", USENIX Summer 1994, section 2.
 */
#include "kernel/policy/update.h"

#define RETRY_NS (1000 * NS_PER_MS) /* after a write that failed */

enum { AGE_MS };

static struct tunable tunables[] = {
    {"age_ms", "ms", 30000, 1, 3600000, "age at which a block is written"},
    {0},
};

enum { WAKEUPS, WRITTEN, EMPTY_WAKEUPS };

static struct policy_counter counters[] = {
    {"wakeups", "wakeups", "times the daemon woke to write"},
    {"written", "blocks", "blocks whose writing it started"},
    {"empty_wakeups", "wakeups", "of the wake-ups, those with nothing due"},
    {0},
};

static u64 age_ns(void)
{
    return tunables[AGE_MS].value * NS_PER_MS;
}

/* A block that was due at the last scan and is still dirty could not be written
 * then. */
static u64 ipu_next_ns(u64 last_ns)
{
    u64 oldest_ns = oldest_dirty_ns();
    if (oldest_ns == NEVER_NS)
        return last_ns + age_ns();
    u64 due_ns = oldest_ns + age_ns();
    return due_ns > last_ns ? due_ns : last_ns + RETRY_NS;
}

static void ipu_scan(u64 now_ns)
{
    (void)now_ns;
    u64 n = flush_older(age_ns());
    counters[WAKEUPS].value++;
    counters[WRITTEN].value += n;
    counters[EMPTY_WAKEUPS].value += !n;
}

static const struct policy ipu = {
    .kind = POLICY_UPDATE,
    .name = "ipu",
    .about = "interval periodic update: each block at its age, exactly",
    .tunables = tunables,
    .counters = counters,
    .update = {.next_ns = ipu_next_ns, .scan = ipu_scan},
};
POLICY(ipu);
