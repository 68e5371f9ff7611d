/*
 * The update policy of Linux: every writeback_ms, the blocks that have been
 * dirty for expire_ms are written. Besides, as soon as more than
 * background_percent of the cache is dirty, the oldest blocks are written
 * until no more than that is dirty, but at least `chunk` blocks.
 *
 * Linux has a third limit, at which writers wait: here that is the write
 * policy `throttled`. Linux writes in chunks of 1024 pages; 32 are the same
 * part of 8192 buffers as 1024 pages are of 1 GiB. Linux writes inode by
 * inode, this policy block by block. Linux also begins to slow writers down
 * half-way between the two limits; that is left out.
 *
 * Source: Linux, Documentation/admin-guide/sysctl/vm.rst,
 * dirty_background_ratio, dirty_expire_centisecs, dirty_writeback_centisecs.
 * The "default" of Batsakis et al., "AWOL", FAST 2008.
 */
#include "kernel/policy/update.h"

enum { WRITEBACK_MS, EXPIRE_MS, BACKGROUND_PERCENT, CHUNK };

static struct tunable tunables[] = {
    {"writeback_ms", "ms", 5000, 1, 3600000, "time between two looks"},
    {"expire_ms", "ms", 30000, 0, 3600000, "age at which a block is due"},
    {"background_percent", "% of the cache", 10, 0, 100,
     "dirty share above which the oldest are written at once"},
    {"chunk", "blocks", 32, 1, 1000000,
     "fewest to write because of that share"},
    {0},
};

enum { SCANS, EXPIRED, BACKGROUND };

static struct policy_counter counters[] = {
    {"looks", "looks", "times it looked for what is due"},
    {"expired", "blocks", "written because of their age"},
    {"background", "blocks", "written because of the limit"},
    {0},
};

/* Of the last scan: how many blocks were above the limit, the fewest to write
 * then, and how many were written because of the limit. */
static struct {
    u64 above, chunk, written;
} last;

static u64 background_blocks(void)
{
    struct cache_state s;
    cache_state(&s);
    return s.buffers * tunables[BACKGROUND_PERCENT].value / 100;
}

/* The kernel calls this at the start, after each scan and when a tunable is
 * set, so it also tells the kernel the limit. */
static u64 linux_next_ns(u64 last_ns)
{
    scan_at_dirty(background_blocks() + 1);
    return last_ns + tunables[WRITEBACK_MS].value * NS_PER_MS;
}

static void linux_scan(u64 now_ns)
{
    (void)now_ns;
    struct cache_state s;
    u64 limit = background_blocks();
    counters[SCANS].value++;
    counters[EXPIRED].value +=
        flush_older(tunables[EXPIRE_MS].value * NS_PER_MS);
    cache_state(&s);
    last.above = s.dirty > limit ? s.dirty - limit : 0;
    last.chunk = tunables[CHUNK].value;
    last.written = last.above ? flush_oldest(MAX(last.above, last.chunk)) : 0;
    counters[BACKGROUND].value += last.written;
}

/* Because of the limit, a scan writes no more than was above it, or a chunk. */
static const char *linux_check(void)
{
    u64 most = last.above ? MAX(last.above, last.chunk) : 0;
    return last.written > most ? "more was written than above the limit" : NULL;
}

static const struct policy linux_like = {
    .kind = POLICY_UPDATE,
    .name = "linux",
    .about = "what is of age every 5 s, and the oldest above a share",
    .tunables = tunables,
    .counters = counters,
    .check = linux_check,
    .update = {.next_ns = linux_next_ns, .scan = linux_scan},
};
POLICY(linux_like);
