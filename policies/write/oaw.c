/*
 * OAW, opportunistic asynchronous write, with SAPRO, its activity probe: an
 * asynchronous write starts at once only if the disk's queue is no longer than
 * its recent mean; else the block is held back until the queue is short.
 *
 * Asynchronous writes are those for which no process waits: of a write that
 * fills its block, of a block that is due by the update policy, and of one that
 * must make room. As under `async`, a block that is filled only in part is
 * delayed. With delay 1 a program's write is always delayed, as under
 * `delayed`. Then the asynchronous writes are those of the update policy and
 * those that make room.
 *
 * Every probe_s the probe takes the mean length of each queue since the last
 * probe, or `floor` if that is more. Each second it starts writes that were
 * held back, first in first out, until the queue is longer than the mean. So a
 * burst of writes does not stand before the reads, and idle moments are used.
 *
 * A block that is held back is dirty, and a sync or fsync writes it at once.
 * It stays held back when it is modified again. The first in is the block that
 * became dirty first. Until the first probe the mean is `floor`.
 *
 * A second starts at most one write more than the mean or the floor. If more
 * are held back each second, blocks become older than the update policy has
 * it, until the cache is full of them. So the floor must be as many writes as
 * a second holds back on average. The paper has a floor but does not give its
 * value; 32 is ours, which a disk of its time writes in a third of a second.
 *
 * Source: "Achieving Predictable Response Time with an Intelligent File System
 * Updater" (for Unix SVR4/MP), the sections on OAW and SAPRO.
 */
#include "kernel/policy/write.h"

enum { FLOOR, PROBE_S, DELAY };

static struct tunable tunables[] = {
    {"floor", "requests", 32, 0, 1000, "least mean of the queue's length"},
    {"probe_s", "s", 10, 1, 3600, "over which the mean is taken"},
    {"delay", "0|1", 0, 0, 1, "1: delay all that programs write"},
    {0},
};

enum { AT_ONCE, HELD_BACK, RELEASED };

static struct policy_counter counters[] = {
    {"at_once", "blocks", "whose writes started when they were asked for"},
    {"held_back", "blocks", "whose writes were asked for at a long queue"},
    {"released", "blocks", "held back, whose writes a second started"},
    {0},
};

/* Of each disk, at the last probe: the sum of disk_state, and the mean. In the
 * last second: the most requests that may queue, how many were queued, and how
 * many writes were started. */
static struct {
    u64 queued_ns, mean;
    u64 most, queued, started;
} disks[MAX_DISKS];
static u64 probed_ns; /* 0: not yet */
static u64 unseen;    /* blocks held back that this second has not shown yet */

static void oaw_start(void)
{
    probed_ns = 0;
    for (u32 disk = 0; disk < MAX_DISKS; disk++)
        disks[disk].mean = disks[disk].started = 0;
}

static u64 queue_limit(u32 disk)
{
    return MAX(tunables[FLOOR].value, disks[disk].mean);
}

/* Write a filled block at once if the disk's queue is short enough; else hold
 * it back. Delay one that is not filled. */
static enum write_mode oaw_decide(const struct write_info *w)
{
    if (!w->filled)
        return WRITE_DELAYED;
    bool at_once = w->queued <= queue_limit(w->disk);
    counters[at_once ? AT_ONCE : HELD_BACK].value++;
    return at_once ? WRITE_ASYNC : WRITE_HELD_BACK;
}

/* Each asynchronous write is asked about here, whatever its origin. */
static enum write_mode oaw_ask(const struct write_info *w)
{
    bool delayed = w->program && tunables[DELAY].value;
    return delayed ? WRITE_DELAYED : oaw_decide(w);
}

/* Take the mean of each disk's queue since the last probe, rounded. The first
 * probe has no mean yet. */
static void probe(u64 now_ns)
{
    struct disk_state s;
    u64 ns = now_ns - probed_ns;
    for (u32 disk = 0; disk_state(disk, &s); disk++) {
        if (probed_ns)
            disks[disk].mean =
                (s.queued_ns - disks[disk].queued_ns + ns / 2) / ns;
        disks[disk].queued_ns = s.queued_ns;
    }
    probed_ns = now_ns;
}

/* Start the write of a block that is held back, unless its disk's queue has no
 * room. Stop when all blocks that are held back have been shown. */
static enum visit release(struct block *b, u64 now_ns)
{
    (void)now_ns;
    u32 disk = b->disk;
    if (!unseen)
        return STOP;
    if (!b->held_back)
        return PASS;
    unseen--;
    if (disks[disk].queued + disks[disk].started >= disks[disk].most)
        return PASS;
    disks[disk].started++;
    return FLUSH;
}

/* Start writes that are held back, until each queue is longer than its mean. */
static void drain(void)
{
    struct disk_state s;
    struct cache_state cache;
    cache_state(&cache);
    if (!cache.held_back)
        return;
    unseen = cache.held_back;
    for (u32 disk = 0; disk_state(disk, &s); disk++) {
        disks[disk].most = queue_limit(disk) + 1;
        disks[disk].queued = s.queued_reads + s.queued_writes;
        disks[disk].started = 0;
    }
    counters[RELEASED].value += flush_by_age(release);
}

static void oaw_each_second(u64 now_ns)
{
    u64 probe_ns = tunables[PROBE_S].value * NS_PER_S;
    if (!probed_ns || now_ns - probed_ns >= probe_ns)
        probe(now_ns);
    drain();
}

/* No second makes a queue longer than it may be, and no more blocks were
 * released than were held back. */
static const char *oaw_check(void)
{
    for (u32 disk = 0; disk < MAX_DISKS; disk++) {
        u64 started = disks[disk].started;
        if (started && disks[disk].queued + started > disks[disk].most)
            return "a queue was made longer than it may be";
    }
    return counters[RELEASED].value > counters[HELD_BACK].value
               ? "more was released than held back"
               : NULL;
}

static const struct policy oaw = {
    .kind = POLICY_WRITE,
    .name = "oaw",
    .about = "writes start at once unless the disk's queue is long",
    .tunables = tunables,
    .counters = counters,
    .start = oaw_start,
    .check = oaw_check,
    .write = {.decide = oaw_ask,
              .each_second = oaw_each_second,
              .every_origin = true},
};
POLICY(oaw);
