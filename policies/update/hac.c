/*
 * Hac's update policy: dirty blocks are written while the disk's queue is
 * short, and a longer queue is accepted when more blocks are dirty.
 *
 * Every look_ms, the queue of each disk may have
 *
 *     queue * dirty / (share_percent of the cache)
 *
 * requests, rounded down: `queue` requests when share_percent of the cache is
 * dirty. A shorter queue is filled up to that length with the disk's oldest
 * dirty blocks. So a disk that is busy with reads is left
 * alone, an idle disk is used, and when writers are ahead of the disk their
 * blocks are written however long its queue is.
 *
 * The paper describes concepts; the formula is our reading of it. The paper
 * has no bound on age; here a block that has been dirty for age_ms is written
 * in any case.
 *
 * Source: A. Hac, "Design Algorithms for Asynchronous Write Operations in
 * Disk-Buffer-Cache Memory", J. of Systems and Software 16, 1991; as
 * summarised by Mogul, "A Better Update Policy", USENIX Summer 1994.
 */
#include "kernel/policy/update.h"

enum { LOOK_MS, QUEUE, SHARE_PERCENT, AGE_MS };

static struct tunable tunables[] = {
    {"look_ms", "ms", 100, 1, 3600000, "time between two looks"},
    {"queue", "requests", 8, 1, 100000, "in a queue at share_percent dirty"},
    {"share_percent", "% of the cache", 10, 1, 100, "dirty, at that queue"},
    {"age_ms", "ms", 30000, 0, 3600000, "age at which a block is due"},
    {0},
};

enum { SCANS, BUSY_SCANS, MOVED, DUE };

static struct policy_counter counters[] = {
    {"looks", "looks", "times it looked at the queues"},
    {"busy_looks", "looks", "of the looks, those when some queue had no room"},
    {"moved", "blocks", "written because a queue had room"},
    {"due", "blocks", "written because of their age"},
    {0},
};

/* Of the last scan: the queue that was accepted, the length of each disk's
 * queue and the writes added to it, and how much room is left in all. */
static struct {
    u64 accepted, rooms;
    u32 disks;
    u64 length[MAX_DISKS], added[MAX_DISKS];
} last;

static u64 room(u32 disk)
{
    u64 queue = last.length[disk] + last.added[disk];
    return queue < last.accepted ? last.accepted - queue : 0;
}

static u64 hac_next_ns(u64 last_ns)
{
    return last_ns + tunables[LOOK_MS].value * NS_PER_MS;
}

/* Return how long a disk's queue may be: `queue` requests when share_percent of
 * the buffers are dirty, and in proportion. */
static u64 accepted_queue(void)
{
    struct cache_state s;
    cache_state(&s);
    return tunables[QUEUE].value * s.dirty * 100 /
           (s.buffers * tunables[SHARE_PERCENT].value);
}

/* Note how many requests each disk can still take. */
static void find_room(void)
{
    struct disk_state s;
    bool busy = false;
    last.accepted = accepted_queue();
    last.rooms = 0;
    for (last.disks = 0; disk_state(last.disks, &s); last.disks++) {
        u32 disk = last.disks;
        last.length[disk] = s.queued_reads + s.queued_writes + s.in_flight;
        last.added[disk] = 0;
        last.rooms += room(disk);
        busy |= last.length[disk] && !room(disk);
    }
    counters[SCANS].value++;
    counters[BUSY_SCANS].value += busy;
}

static enum visit hac_visit(struct block *b, u64 now_ns)
{
    (void)now_ns;
    if (!last.rooms)
        return STOP;
    if (!room(b->disk))
        return PASS;
    last.added[b->disk]++;
    last.rooms--;
    return FLUSH;
}

static void hac_scan(u64 now_ns)
{
    (void)now_ns;
    counters[DUE].value += flush_older(tunables[AGE_MS].value * NS_PER_MS);
    find_room();
    if (last.rooms)
        counters[MOVED].value += flush_by_age(hac_visit);
}

/* No scan makes a queue longer than it accepted, and the room left is counted
 * correctly. */
static const char *hac_check(void)
{
    u64 rooms = 0;
    for (u32 disk = 0; disk < last.disks; disk++) {
        u64 added = last.added[disk];
        if (added && last.length[disk] + added > last.accepted)
            return "more was added to a queue than it had room for";
        rooms += room(disk);
    }
    return rooms != last.rooms ? "room at a disk was not counted" : NULL;
}

static const struct policy hac = {
    .kind = POLICY_UPDATE,
    .name = "hac",
    .about = "as many as the disk's queue has room for, by how much is dirty",
    .tunables = tunables,
    .counters = counters,
    .check = hac_check,
    .update = {.next_ns = hac_next_ns, .scan = hac_scan},
};
POLICY(hac);
