/*
 * OAW, opportunistic asynchronous write, with SAPRO, the activity probe. As
 * `async`, but a filled block's write starts only if the disk's queue is no
 * longer than its mean of late; else the block is held back. The probe takes
 * the mean length of the queue over probe_s, at least `floor`, every probe_s,
 * and each second starts writes that are held back, first in first out, until
 * the queue is longer than that. So a burst of writes does not stand before
 * the reads, and an idle moment is used.
 *
 * A block that is held back is a dirty one: the update policy writes it at its
 * age at the latest, a sync or fsync at once. First in is the one first
 * dirtied. Until the first probe the mean is the floor. The paper has a floor
 * whose value we do not know: 5 is ours.
 *
 * Source: "Achieving Predictable Response Time with an Intelligent File System
 * Updater" (for Unix SVR4/MP), the sections on OAW and SAPRO.
 */
#include "kernel/policy.h"

#define NS_PER_S 1000000000UL

static struct tunable tunables[] = {
    {"floor", "requests", 5, 0, 1000, "least mean of the queue's length"},
    {"probe_s", "s", 10, 1, 3600, "over which the mean is taken"},
    {0},
};

static struct policy_counter counters[] = {
    {"at_once", "blocks", "whose writes started when they were filled"},
    {"held_back", "blocks", "that were filled while the queue was long"},
    {"released", "blocks", "held back, whose writes a second started"},
    {0},
};
enum { AT_ONCE, HELD_BACK, RELEASED };

static struct {
    u64 probed_ns;            /* 0: not yet */
    u64 queued_ns[MAX_DISKS]; /* disk_state's, then */
    u64 mean[MAX_DISKS];      /* requests */
    u64 room[MAX_DISKS];      /* how many writes this second may start */
    u64 unseen;               /* blocks held back that are not yet shown */
} state;

static void oaw_start(void)
{
    state.probed_ns = 0;
    for (u32 disk = 0; disk < MAX_DISKS; disk++)
        state.mean[disk] = 0;
}

static u64 queue_limit(u32 disk)
{
    return MAX(tunables[0].value, state.mean[disk]);
}

static enum write_mode oaw_decide(const struct write_info *w)
{
    if (!w->filled)
        return WRITE_DELAYED;
    bool at_once = w->queued <= queue_limit(w->disk);
    counters[at_once ? AT_ONCE : HELD_BACK].value++;
    return at_once ? WRITE_ASYNC : WRITE_HELD_BACK;
}

/* The mean of each disk's queue since the last probe, rounded. The first only
 * begins. */
static void probe(u64 now_ns)
{
    struct disk_state s;
    u64 ns = now_ns - state.probed_ns;
    for (u32 disk = 0; disk_state(disk, &s); disk++) {
        if (state.probed_ns)
            state.mean[disk] =
                (s.queued_ns - state.queued_ns[disk] + ns / 2) / ns;
        state.queued_ns[disk] = s.queued_ns;
    }
    state.probed_ns = now_ns;
}

static enum visit release(struct block *b, u64 now_ns)
{
    (void)now_ns;
    if (!state.unseen)
        return STOP;
    if (!b->held_back)
        return PASS;
    state.unseen--;
    if (!state.room[b->disk])
        return PASS;
    state.room[b->disk]--;
    return FLUSH;
}

/* Start what is held back, until each queue is longer than its mean. */
static void drain(void)
{
    struct disk_state s;
    struct cache_state cache;
    cache_state(&cache);
    if (!cache.held_back)
        return;
    state.unseen = cache.held_back;
    for (u32 disk = 0; disk_state(disk, &s); disk++) {
        u64 queued = s.queued_reads + s.queued_writes;
        u64 most = queue_limit(disk) + 1;
        state.room[disk] = most > queued ? most - queued : 0;
    }
    counters[RELEASED].value += flush_by_age(release);
}

static void oaw_each_second(u64 now_ns)
{
    u64 probe_ns = tunables[1].value * NS_PER_S;
    if (!state.probed_ns || now_ns - state.probed_ns >= probe_ns)
        probe(now_ns);
    drain();
}

static const struct policy oaw = {
    .kind = POLICY_WRITE,
    .name = "oaw",
    .about = "filled blocks start at once unless the disk's queue is long",
    .tunables = tunables,
    .counters = counters,
    .start = oaw_start,
    .write = {.decide = oaw_decide, .each_second = oaw_each_second},
};
POLICY(oaw);
