/*
 * How a write of file data goes on: this file asks the write policy and carries
 * out its answer.
 *
 * - decide: does this write go to the disk now (bwrite_data)?
 * - no_clean: no clean buffer is left, so how many dirty blocks are written
 *   (make_room)?
 * - most_dirty: how much may be dirty before a writer has to wait (throttle)?
 * - each_second: the update daemon calls it.
 *
 * write_lock guards the policy's answers and its swap. It is taken inside
 * bcache.lock.
 */
#include "kernel/cache/bcache.h"
#include "kernel/cache/lost.h"
#include "kernel/policy/registry.h"

static struct spinlock write_lock = SPINLOCK("write policy", RANK_POLICY);

COUNTER(no_clean, "bio.no_clean", "times", "no clean buffer was left");
COUNTER(throttled, "bio.throttled", "times", "a writer waited for writes");
COUNTER(lost, "bio.lost", "blocks", "unwritable blocks given up for room");

/* Return the functions of the write policy in use. */
static const struct write_hooks *hooks(void)
{
    return &policy_in_use[POLICY_WRITE]->write;
}

/* The policy's answer was wrong: the default takes over, or the policy stays.
 * The caller answers this one question. Caller holds write_lock. */
static void fault(u32 disk, u64 blkno, const char *what)
{
    const struct policy *to = policy_fault(POLICY_WRITE, disk, blkno, what);
    if (to)
        policy_switch(to);
}

/* ---- one write ---- */

/* Return the policy's answer for a write that is queued after `before`
 * others. */
static enum write_mode ask_mode(const struct buf *b, bool program, bool filled,
                                u64 before)
{
    struct write_info info = {.disk = b->block.disk,
                              .blkno = b->block.blkno,
                              .program = program,
                              .filled = filled,
                              .dirty = bcache.ndirty,
                              .buffers = bcache.nbufs,
                              .now_ns = clock_ns()};
    struct disk_state at_disk = {0};
    disk_state(info.disk, &at_disk);
    info.queued = at_disk.queued_reads + at_disk.queued_writes + before;
    HOLD(spin, &write_lock);
    enum write_mode mode = hooks()->decide(&info);
    if (!bcache.scanning)
        policy_check(policy_in_use[POLICY_WRITE]);
    if (mode > WRITE_HELD_BACK) {
        fault(info.disk, info.blkno, "decide: no such mode");
        mode = WRITE_DELAYED;
    }
    return mode;
}

/* True if the write policy holds this block of metadata back; asks it once. */
bool write_holds_back(struct buf *b, u64 before)
{
    if (!hooks()->every_origin)
        return false;
    if (!b->block.held_back)
        set_held_back(b, ask_mode(b, false, true, before) == WRITE_HELD_BACK);
    return b->block.held_back;
}

/* ---- when there is no clean victim ---- */

/* Return how many of the oldest dirty blocks to write now. */
static u64 ask_no_clean(u64 dirty)
{
    u64 n = MAX(1, MIN(dirty, bcache.nbufs / 16));
    HOLD(spin, &write_lock);
    if (!hooks()->no_clean)
        return n;
    u64 answer = hooks()->no_clean(dirty, bcache.nbufs);
    if (answer >= 1 && answer <= dirty)
        return answer;
    fault(0, 0, "no_clean: not from 1 to dirty");
    return n;
}

/* Start the writes of up to n buffers, the oldest on the list that are not busy
 * and can be written. The first is not held back, because a process waits for
 * it. Caller holds bcache.lock, which is released meanwhile. */
static u64 start_oldest(struct list *l, u64 n)
{
    struct io *batch = NULL;
    u64 started = 0, tried = 0;
    for (struct list *i = l->next, *next; i != l && tried < n; i = next) {
        struct buf *b = LIST_ITEM(i, struct buf, dirty);
        next = i->next;
        if (b->flags & (B_BUSY | B_ERROR))
            continue;
        if (tried++ && write_holds_back(b, started))
            continue;
        buf_take(b);
        buf_prepare_write(b, false);
        io_set_next(b->io, batch);
        batch = b->io;
        started++;
    }
    spin_unlock(&bcache.lock);
    for (struct io *io = batch, *next; io; io = next) {
        next = io_next(io);
        disk_submit(((struct buf *)io->arg)->disk, io);
    }
    spin_lock(&bcache.lock);
    return started;
}

/* Start as many of the oldest writes as the policy says; false: no dirty block
 * can be written now. Caller holds bcache.lock, which is released meanwhile. */
static bool write_oldest(void)
{
    u64 n = ask_no_clean(bcache.ndirty);
    return start_oldest(&bcache.pending, n) || start_oldest(&bcache.delayed, n);
}

/* Return the oldest block that may be given up (lost.h), or NULL; metadata
 * only if all data that could be is in use by processes. Caller holds
 * bcache.lock. */
static struct buf *hopeless(void)
{
    u64 now_ns = clock_ns();
    struct buf *metadata = NULL;
    bool data = false;
    ITEM_EACH (struct buf, b, &bcache.delayed, dirty) {
        if (b->flags & B_BUSY)
            continue;
        data |= !b->block.meta;
        if (!in_pause(b, now_ns) || now_ns - b->failed_ns < GIVE_UP_NS)
            continue;
        if (!b->block.meta)
            return b;
        metadata = metadata ?: b;
    }
    return data ? NULL : metadata;
}

/* Give up a block whose writes fail, if there is one. The first loss that a
 * program has not been told of is printed. Caller holds bcache.lock. */
static void give_up_one(void)
{
    struct buf *b = hopeless();
    if (!b)
        return;
    if (lost_add(b->disk, b->block.owner, b->block.meta))
        kprintf("bio: %s: block %lu cannot be written and is lost: fsync, "
                "close and sync will say so\n",
                b->disk->name, b->block.blkno);
    count(&lost, 1);
    buf_take(b);
    undelay(b);
    set_failed(b, 0);
    b->flags &= ~(B_VALID | B_ERROR);
    buf_let_go(b);
}

/* Return once a clean buffer may be left. This wait ends: at least one buffer
 * is held by no process (invariant 8), so it is in transfer; or it is dirty and
 * is written here; or its write failed, and the daemon tries it again until it
 * is written or given up here. */
void make_room(void)
{
    count(&no_clean, 1);
    if (bcache.ndirty && !bcache.nwriting && !write_oldest())
        give_up_one();
    if (bcache.nevictable)
        return;
    bcache.waiting++;
    sleep_on(&bcache.nevictable, &bcache.lock);
    bcache.waiting--;
}

/* ---- when too much is dirty ---- */

/* Return how many blocks may be dirty or being written at most. */
static u64 ask_most_dirty(void)
{
    HOLD(spin, &write_lock);
    u64 most =
        hooks()->most_dirty ? hooks()->most_dirty(bcache.nbufs) : UNLIMITED;
    if (most)
        return most;
    fault(0, 0, "most_dirty: none");
    return UNLIMITED;
}

/* Have a writer wait while more is dirty than the policy allows; if nothing is
 * being written, start writes of the oldest blocks. */
static void throttle(void)
{
    if (!hooks()->most_dirty)
        return;
    HOLD(spin, &bcache.lock);
    while (bcache.ndirty + bcache.nwriting > ask_most_dirty()) {
        count(&throttled, 1);
        if (!bcache.nwriting && !write_oldest())
            break;
        if (bcache.nwriting)
            sleep_on(&bcache.nwriting, &bcache.lock);
    }
}

/* Make b's data survive a power cut, and let b go. In a non-volatile cache a
 * delayed write is enough. Return 0 or -EIO. */
int bwrite_stable(struct buf *b)
{
    if (!write_keeps())
        return bwrite(b);
    make_dirty(b, b->block.owner, b->block.meta, b->block.held_back);
    return 0;
}

/* Write a block of file data as the write policy says, and let b go. Return an
 * error only if the policy waits for the write. */
int bwrite_data(struct buf *b, u64 owner, bool filled)
{
    enum write_mode mode = ask_mode(b, true, filled, 0);
    if (mode == WRITE_DELAYED || mode == WRITE_HELD_BACK) {
        bool held_back = mode == WRITE_HELD_BACK || b->block.held_back;
        make_dirty(b, owner, false, held_back);
        throttle();
        return 0;
    }
    spin_lock(&bcache.lock);
    set_owner(b, owner, false);
    spin_unlock(&bcache.lock);
    if (mode == WRITE_THROUGH)
        return bwrite_stable(b);
    bawrite(b);
    return 0;
}

/* ---- the update daemon's calls ---- */

/* True if dirty blocks survive a power cut (a non-volatile cache). */
bool write_keeps(void)
{
    return hooks()->keeps;
}

/* True if the policy wants to be called each second. */
bool write_wants_seconds(void)
{
    return hooks()->each_second;
}

/* Call the policy's hook of each second, if it has one. */
void write_second(u64 now_ns)
{
    void (*each_second)(u64) = hooks()->each_second;
    bcache.releasing = true;
    if (each_second) /* another policy may be in use by now */
        each_second(now_ns);
    bcache.releasing = false;
}

/* Note that a scan of the update policy begins or ends. */
void write_scan(bool begins)
{
    HOLD(spin, &write_lock);
    bcache.scanning = begins;
    if (!begins)
        policy_check(policy_in_use[POLICY_WRITE]);
}

/* Put another write policy to use. */
static void swap(const struct policy *to)
{
    spin_lock(&write_lock);
    policy_switch(to);
    spin_unlock(&write_lock);
    update_ask_again(); /* it may want each second */
}

void write_init(void)
{
    policy_own(POLICY_WRITE,
               (struct policy_owner){.swap = swap, .buffers = bio_buffers()});
}
