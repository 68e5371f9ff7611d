/*
 * PU, periodic update: every interval_ms, all dirty blocks are written.
 *
 * This is the Unix classic: /etc/update called sync() every 30 seconds. A
 * block waits half the interval on average, and all blocks that became dirty
 * in one interval reach the disk's queue at once.
 *
 * Source: Ritchie and Thompson, "The UNIX Time-Sharing System", 1974; named
 * and measured by Mogul, "A Better Update Policy", USENIX Summer 1994, section
 * 2.
 */
#include "kernel/policy/update.h"

enum { INTERVAL_MS };

static struct tunable tunables[] = {
    {"interval_ms", "ms", 30000, 1, 3600000, "time between two updates"},
    {0},
};

enum { UPDATES, WRITTEN };

static struct policy_counter counters[] = {
    {"updates", "updates", "times all dirty blocks were written"},
    {"written", "blocks", "blocks whose writing an update started"},
    {0},
};

static u64 pu_next_ns(u64 last_ns)
{
    return last_ns + tunables[INTERVAL_MS].value * NS_PER_MS;
}

static void pu_scan(u64 now_ns)
{
    (void)now_ns;
    counters[UPDATES].value++;
    counters[WRITTEN].value += flush_all();
}

static const struct policy pu = {
    .kind = POLICY_UPDATE,
    .name = "pu",
    .about = "periodic update: everything dirty, every interval",
    .tunables = tunables,
    .counters = counters,
    .update = {.next_ns = pu_next_ns, .scan = pu_scan},
};
POLICY(pu);
