/*
 * The update policy of Linux: every writeback_ms, the files that have been
 * dirty for expire_ms are written. Besides, as soon as more than
 * background_percent of the cache is dirty, the oldest blocks are written
 * until no more than that is dirty, but at least `chunk` blocks.
 *
 * - A file's age is that of its oldest dirty block, and all its dirty blocks
 *   are written together. Inodes, bitmaps and descriptors belong to one inode
 *   in Linux, the device's, so all of them are written together, too.
 * - The time to the next look runs from the last one, or from when the first
 *   block became dirty. While all is clean there is no look.
 * - The disks divide the background limit in the ratio of their recent writes.
 *   A disk's count of these is halved every PERIOD_NS. So a disk that has
 *   written nothing for long has a part of 0, and the next look writes all of
 *   its blocks, however young.
 *
 * Linux has a third limit, at which writers wait: here the write policies
 * `throttled` and `balanced` have it. Linux writes in chunks of 1024 pages; 32
 * are the same part of 8192 buffers as 1024 pages are of 1 GiB.
 *
 * Differences from Linux: Linux writes a file in the order of its offsets, this
 * policy in the order of age; a scheduler that sorts hides the difference.
 * Above the background limit Linux writes file by file, and this policy block
 * by block; the oldest blocks belong to the oldest files. Linux counts all
 * writes that have ended, approximately, so that its counts may not fall below
 * 1 and a disk's part may stay; here each block that leaves the cache's list of
 * dirty blocks counts.
 *
 * Source: Linux, Documentation/admin-guide/sysctl/vm.rst,
 * dirty_background_ratio, dirty_expire_centisecs, dirty_writeback_centisecs.
 * The "default" of Batsakis et al., "AWOL", FAST 2008, is pdflush of Linux 2.6,
 * which kept ages by inode, too (dirtied_when in fs/fs-writeback.c, 2002). It
 * looked on a fixed grid, and disks had no parts. Linux 6.12 of Debian 13
 * was measured for the three points above (sluice bench --linux-policies).
 */
#include "kernel/policy/update.h"

#define PERIOD_NS (3 * NS_PER_S)

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

enum { SCANS, EXPIRED, BACKGROUND, SHARE };

static struct policy_counter counters[] = {
    {"looks", "looks", "times it looked for what is due"},
    {"expired", "blocks", "written because of their file's age"},
    {"background", "blocks", "written because of the limit"},
    {"share", "blocks", "written because of their disk's part of the limit"},
    {0},
};

/* Of each disk: its dirty blocks, its recent writes, and how many blocks a scan
 * has still to write because of the disk's part of the limit. The hooks that
 * change them hold the cache's lock. */
static struct disk_share {
    u64 dirty, recent, above;
} disks[MAX_DISKS];

static u64 periods;     /* since power-on, for which `recent` has been halved */
static struct list due; /* blocks whose files are of age, until written */
static bool clean;      /* nothing was dirty after the last scan */

/* Blocks that belong to no file. shown: this scan has shown one. due: the
 * oldest, which was shown first, is of age. */
static struct {
    bool shown, due;
} system;

static void linux_start(void)
{
    for (u32 i = 0; i < MAX_DISKS; i++)
        disks[i] = (struct disk_share){0};
    list_init(&due);
    periods = 0;
    clean = false;
}

/* Halve what disks wrote recently once for each period that has passed. */
static void halve_recent(u64 now_ns)
{
    u64 halvings = MIN(now_ns / PERIOD_NS - periods, 63);
    periods = now_ns / PERIOD_NS;
    for (u32 i = 0; i < MAX_DISKS; i++)
        disks[i].recent >>= halvings;
}

static void linux_dirtied(struct block *b, u64 now_ns)
{
    halve_recent(now_ns);
    list_init(&b->owing);
    disks[b->disk].dirty++;
}

static void linux_leaves(struct block *b)
{
    list_remove(&b->owing);
    disks[b->disk].dirty--;
    disks[b->disk].recent++;
}

static u64 background_blocks(void)
{
    struct cache_state s;
    cache_state(&s);
    return s.buffers * tunables[BACKGROUND_PERCENT].value / 100;
}

static u64 dirty_blocks(void)
{
    struct cache_state s;
    cache_state(&s);
    return s.dirty;
}

/* The kernel calls this at the start, after each scan and when a tunable is
 * set, so it also tells the kernel the limit: of one block while all is clean,
 * which starts the time to the next look. */
static u64 linux_next_ns(u64 last_ns)
{
    scan_at_dirty(1);
    if (!dirty_blocks()) {
        clean = true;
        return NEVER_NS;
    }
    scan_at_dirty(background_blocks() + 1);
    return last_ns + tunables[WRITEBACK_MS].value * NS_PER_MS;
}

static bool is_old(const struct block *b, u64 now_ns)
{
    return b->dirtied_ns + tunables[EXPIRE_MS].value * NS_PER_MS <= now_ns;
}

/* The blocks of no file go together: the first one shown is the oldest. */
static enum visit of_age(struct block *b, u64 now_ns)
{
    bool old = is_old(b, now_ns);
    halve_recent(now_ns);
    if (!b->owner && !system.shown)
        system.due = old;
    system.shown |= !b->owner;
    if (!old && !system.due)
        return system.shown ? STOP : PASS;
    if ((b->owner ? old : system.due) && !list_on(&b->owing))
        list_push_back(&due, &b->owing);
    return PASS;
}

/* Divide the limit among the disks, in the ratio of their recent writes. */
static void share_out(u64 limit)
{
    u64 all = 0;
    for (u32 i = 0; i < MAX_DISKS; i++)
        all += disks[i].recent;
    for (u32 i = 0; i < MAX_DISKS; i++) {
        u64 part = all ? limit * disks[i].recent / all : 0;
        disks[i].above = disks[i].dirty > part ? disks[i].dirty - part : 0;
    }
}

static enum visit above_share(struct block *b, u64 now_ns)
{
    (void)now_ns;
    if (!disks[b->disk].above)
        return PASS;
    disks[b->disk].above--;
    return FLUSH;
}

/* Write what exceeds the limit: the oldest of all, and each disk's part above
 * its share. */
static void flush_background(u64 limit)
{
    u64 dirty = dirty_blocks();
    if (dirty > limit)
        counters[BACKGROUND].value +=
            flush_oldest(MAX(dirty - limit, tunables[CHUNK].value));
    share_out(limit);
    counters[SHARE].value += flush_by_age(above_share);
}

/* If all was clean, this is the first block, and no look. */
static void linux_scan(u64 now_ns)
{
    (void)now_ns;
    u64 limit = background_blocks();
    bool first = clean && dirty_blocks() <= limit;
    clean = false;
    if (first)
        return;
    counters[SCANS].value++;
    system.shown = system.due = false;
    flush_by_age(of_age);
    counters[EXPIRED].value += flush_files(&due);
    flush_background(limit);
}

static const char *linux_check(void)
{
    struct cache_state s;
    u64 dirty = 0;
    cache_state(&s);
    for (u32 i = 0; i < MAX_DISKS; i++)
        dirty += disks[i].dirty;
    return dirty == s.dirty ? NULL : "dirty blocks are not all counted";
}

static const struct policy linux_like = {
    .kind = POLICY_UPDATE,
    .name = "linux",
    .about = "files of age every 5 s, and the oldest above a share",
    .tunables = tunables,
    .counters = counters,
    .start = linux_start,
    .check = linux_check,
    .update = {.next_ns = linux_next_ns,
               .scan = linux_scan,
               .dirtied = linux_dirtied,
               .leaves = linux_leaves},
};
POLICY(linux_like);
