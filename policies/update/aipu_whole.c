/*
 * AIPU as Mogul's kernel had it: every scan_ms, all dirty blocks are looked at,
 * and those that have been dirty for at least age_ms are written.
 *
 * Mogul's list of delayed writes was not in the order of age, so a scan had to
 * go to the list's end. Here the list is in the order of age, and aipu.c stops
 * at the first block that is too young. Both write the same blocks at the same
 * times. What differs is the CPU time: a dirty block is looked at in each scan
 * of its life, so 30 times with the values below, where periodic update (PU,
 * pu.c) looks at it once.
 *
 * Source: bflush_smooth in Mogul, "A Better Update Policy", USENIX Summer 1994,
 * section 3.2; its costs are in section 4.4.
 */
#include "kernel/policy/update.h"

enum { SCAN_MS, AGE_MS };

static struct tunable tunables[] = {
    {"scan_ms", "ms", 1000, 1, 3600000, "time between two scans"},
    {"age_ms", "ms", 30000, 0, 3600000, "age at which a dirty block is due"},
    {0},
};

enum { SCANS, WRITTEN, SCANNED };

static struct policy_counter counters[] = {
    {"scans", "scans", "times it looked at all dirty blocks"},
    {"written", "blocks", "blocks whose writing a scan started"},
    {"scanned", "blocks", "looked at, in each scan anew"},
    {0},
};

static u64 aipu_whole_next_ns(u64 last_ns)
{
    return last_ns + tunables[SCAN_MS].value * NS_PER_MS;
}

static enum visit of_age(struct block *b, u64 now_ns)
{
    counters[SCANNED].value++;
    u64 due_ns = b->dirtied_ns + tunables[AGE_MS].value * NS_PER_MS;
    return due_ns <= now_ns ? FLUSH : PASS;
}

static void aipu_whole_scan(u64 now_ns)
{
    (void)now_ns;
    counters[SCANS].value++;
    counters[WRITTEN].value += flush_by_age(of_age);
}

static const struct policy aipu_whole = {
    .kind = POLICY_UPDATE,
    .name = "aipu_whole",
    .about = "AIPU that looks at every dirty block in each scan",
    .tunables = tunables,
    .counters = counters,
    .update = {.next_ns = aipu_whole_next_ns, .scan = aipu_whole_scan},
};
POLICY(aipu_whole);
