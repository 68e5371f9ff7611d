/*
 * AIPU, approximate interval periodic update: every scan_ms, the blocks that
 * have been dirty for at least age_ms are written, oldest first.
 *
 * Each block is written when it is age_ms old, or up to scan_ms later. So
 * blocks that became dirty over some time are written over as long a time, and
 * not all at once as under periodic update (pu.c). The kernel's list is in the
 * order of age, so a scan that finds nothing due costs nothing. scan_ms 1000
 * is the paper's AIPU-1. scan_ms 30000 is its AIPU-30, which writes a block at
 * an age of 30 to 60 s.
 *
 * With meta_ms, the first scan after each meta_ms also writes all dirty
 * metadata of the file system, whatever its age. The paper's system did so
 * every 30 s, because its inodes reached the cache only then. Here a changed
 * inode is in the cache at once and ages like any other block, so meta_ms is
 * 0: off.
 *
 * Source: Mogul, "A Better Update Policy", USENIX Summer 1994, section 3.
 */
#include "kernel/policy/update.h"

enum { SCAN_MS, AGE_MS, META_MS };

static struct tunable tunables[] = {
    {"scan_ms", "ms", 1000, 1, 3600000, "time between two scans"},
    {"age_ms", "ms", 30000, 0, 3600000, "age at which a dirty block is due"},
    {"meta_ms", "ms", 0, 0, 3600000, "time between writes of metadata; 0: off"},
    {0},
};

enum { SCANS, WRITTEN, EMPTY_SCANS, FORCED };

static struct policy_counter counters[] = {
    {"scans", "scans", "times it looked for what is due"},
    {"written", "blocks", "blocks whose writing a scan started"},
    {"empty_scans", "scans", "of the scans, those that found nothing due"},
    {"forced", "blocks", "of those written, metadata not of age"},
    {0},
};

static u64 forced_ns; /* when metadata was last written */

static u64 aipu_next_ns(u64 last_ns)
{
    return last_ns + tunables[SCAN_MS].value * NS_PER_MS;
}

static enum visit metadata(struct block *b, u64 now_ns)
{
    (void)now_ns;
    return b->meta ? FLUSH : PASS;
}

/* Write metadata, if it is time to. Returns how many blocks. */
static u64 force_structure(u64 now_ns)
{
    u64 meta_ns = tunables[META_MS].value * NS_PER_MS;
    if (!meta_ns || now_ns < forced_ns + meta_ns)
        return 0;
    forced_ns = now_ns;
    u64 n = flush_by_age(metadata);
    counters[FORCED].value += n;
    return n;
}

static void aipu_scan(u64 now_ns)
{
    u64 n = flush_older(tunables[AGE_MS].value * NS_PER_MS);
    n += force_structure(now_ns);
    counters[SCANS].value++;
    counters[WRITTEN].value += n;
    counters[EMPTY_SCANS].value += !n;
}

static const struct policy aipu = {
    .kind = POLICY_UPDATE,
    .name = "aipu",
    .about = "approximate interval periodic update: each block at its age",
    .tunables = tunables,
    .counters = counters,
    .update = {.next_ns = aipu_next_ns, .scan = aipu_scan},
};
POLICY(aipu);
