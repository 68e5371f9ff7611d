/*
 * What holds in each state, between two steps: the numbered invariants at the
 * head of kernel/cache/bio.c, each checked from scratch; and that nothing is
 * lost, nobody waits for ever, and no dirty block gets too old.
 */
#include "tools/search/machine.h"

#define WATCHED(number, cond, ...)         \
    do {                                   \
        if (!(cond))                       \
            violated(number, __VA_ARGS__); \
    } while (0)

static u64 block_of(const struct buf *b)
{
    return b->block.blkno;
}

/* The task that has a buffer is not known to the kernel: counted instead. */
static u32 buffers_held(void)
{
    u32 n = 0;
    for (u32 i = 0; i < watch->ntasks; i++)
        n += world.tasks[i].proc.buffers_held;
    return n;
}

/* ---- lists ---- */

/* How often a node is on a list, whose links must be whole. */
static u32 times_on(const struct list *l, const struct list *node,
                    const char *name)
{
    u32 times = 0, n = 0;
    for (const struct list *i = l->next; i != l; i = i->next) {
        WATCHED(0, i && i->next && i->next->prev == i && n++ < 64,
                "the %s is broken", name);
        times += i == node;
    }
    return times;
}

static u64 length(const struct list *l, const char *name)
{
    u64 n = 0;
    times_on(l, NULL, name);
    for (const struct list *i = l->next; i != l; i = i->next)
        n++;
    return n;
}

/* A buffer is on just those lists that its flags say. let_go: dirty, and not in
 * a write now; then it waits on the delayed-write list or the pending list. */
static void check_dirty_lists(const struct buf *b)
{
    bool let_go = b->block.dirtied_ns && !(b->flags & B_WRITE);
    bool pending = b->flags & B_PENDING;
    u32 pinned = times_on(&bcache.pinned[0], &b->dirty, "list of pinned ones");
    u32 delayed = times_on(&bcache.delayed, &b->dirty, "delayed-write list");
    u32 due = times_on(&bcache.pending, &b->dirty, "pending list");
    u32 writing = times_on(&bcache.writing, &b->dirty, "writing list");
    u32 owned =
        times_on(owner_list(b->block.owner), &b->owned, "list of an owner");
    WATCHED(3, !let_go || b->flags & B_DELWRI,
            "block %lu has a time of becoming dirty, and is not dirty",
            block_of(b));
    WATCHED(3, !let_go || b->flags & B_BUSY || b->flags & B_DELWRI,
            "block %lu is dirty, and not marked so", block_of(b));
    WATCHED(3, delayed == (let_go && !pending),
            "block %lu is %u times on the delayed-write list", block_of(b),
            delayed);
    WATCHED(3, due == (let_go && pending),
            "block %lu is %u times on the pending list", block_of(b), due);
    WATCHED(3, owned == let_go, "block %lu is %u times on its owner's list",
            block_of(b), owned);
    WATCHED(0, pinned == !!(b->flags & B_PINNED),
            "block %lu is %u times on the list of pinned ones", block_of(b),
            pinned);
    WATCHED(0, !pinned || !(b->flags & (B_DELWRI | B_PENDING | B_WRITE)),
            "block %lu is pinned, and dirty or being written", block_of(b));
    WATCHED(7, writing == !!(b->flags & B_WRITE),
            "block %lu is %u times on the writing list", block_of(b), writing);
    WATCHED(3, b->flags & (B_BUSY | B_DELWRI) || !b->block.dirtied_ns,
            "block %lu is clean, with a time", block_of(b));
    WATCHED(3, !(b->flags & B_DELWRI) || b->flags & B_BUSY || let_go,
            "block %lu is dirty, without a time", block_of(b));
}

static void check_orders(void)
{
    u64 last = 0;
    ITEM_EACH (struct buf, b, &bcache.delayed, dirty) {
        WATCHED(4, b->block.dirtied_ns >= last,
                "block %lu is behind a younger one", block_of(b));
        last = b->block.dirtied_ns;
    }
    last = 0;
    ITEM_EACH (struct buf, b, &bcache.writing, dirty) {
        WATCHED(7, b->write_number > last,
                "block %lu is out of order on the writing list", block_of(b));
        last = b->write_number;
    }
    last = 0;
    ITEM_EACH (struct buf, b, &bcache.ahead, ahead) {
        WATCHED(6, b->ahead_ns >= last && b->flags & B_AHEAD,
                "block %lu is out of order on the list of prefetched ones",
                block_of(b));
        last = b->ahead_ns;
    }
}

/* ---- buffers ---- */

static void check_buffer(struct buf *b, u32 i)
{
    bool busy = b->flags & B_BUSY;
    bool evictable = b->flags & B_EVICTABLE;
    WATCHED(1, b->block.blkno < watch->nblocks && b->disk == the_disk(),
            "buffer %u holds a block of no disk", i);
    WATCHED(1, buf_lookup(b->disk, block_of(b)) == b,
            "the hash does not find the buffer of block %lu", block_of(b));
    WATCHED(2, (b->flags & (B_READ | B_WRITE)) != (B_READ | B_WRITE),
            "block %lu is read and written at once", block_of(b));
    WATCHED(2, busy || !(b->flags & (B_READ | B_WRITE)),
            "block %lu is in transfer, and not busy", block_of(b));
    WATCHED(5, evictable == (!busy && may_go(b)),
            "block %lu is%s evictable, and should%s be", block_of(b),
            evictable ? "" : " not", evictable ? " not" : "");
    WATCHED(6,
            times_on(&bcache.ahead, &b->ahead, "list of prefetched blocks") ==
                !!(b->flags & B_AHEAD),
            "block %lu is prefetched, or on that list, but not both",
            block_of(b));
    check_dirty_lists(b);
    bool candidate = b->io && b->io->request.queue && b->io->request.candidate;
    WATCHED(0, !candidate || b->flags & B_DELWRI,
            "block %lu is a candidate write, and clean", block_of(b));
    WATCHED(0,
            busy || b->flags & B_ERROR || candidate == !!(b->flags & B_DELWRI),
            "block %lu is dirty and free, and no candidate write", block_of(b));
    WATCHED(0, list_on(&b->waiters.waiters) ? busy : true,
            "somebody waits for the buffer of block %lu, which is free",
            block_of(b));
}

/* The cache's counts are those that the buffers give when they are counted. */
static void check_counts(void)
{
    u64 dirty = 0, busy = 0, evictable = 0, writing = 0, ahead = 0, back = 0;
    u64 transfers = 0, failed = 0;
    BUF_EACH (b) {
        dirty += b->block.dirtied_ns && !(b->flags & B_WRITE);
        busy += !!(b->flags & B_BUSY);
        transfers += (b->flags & (B_READ | B_WRITE)) && b->flags & B_ASYNC;
        evictable += (b->flags & (B_EVICTABLE | B_DELWRI)) == B_EVICTABLE;
        writing += !!(b->flags & B_WRITE);
        ahead += !!(b->flags & B_AHEAD);
        back += b->block.held_back;
        failed += b->failed_ns != 0;
    }
    WATCHED(3, dirty == bcache.ndirty, "%lu buffers are dirty, not %lu", dirty,
            bcache.ndirty);
    WATCHED(2, busy == bcache.nbusy, "%lu buffers are busy, not %lu", busy,
            bcache.nbusy);
    WATCHED(5, evictable == bcache.nevictable,
            "%lu buffers are evictable and clean, not %lu", evictable,
            bcache.nevictable);
    WATCHED(7,
            writing == bcache.nwriting &&
                writing == length(&bcache.writing, "writing list"),
            "%lu buffers are being written, not %lu", writing, bcache.nwriting);
    WATCHED(6, ahead == bcache.nahead && ahead <= bcache.ahead_most,
            "%lu buffers are prefetched, not %lu, of %lu", ahead, bcache.nahead,
            bcache.ahead_most);
    WATCHED(0, back == bcache.nheld_back, "%lu are held back, not %lu", back,
            bcache.nheld_back);
    WATCHED(0, failed == bcache.nfailed, "%lu have failed, not %lu", failed,
            bcache.nfailed);
    WATCHED(
        0,
        length(&bcache.pinned[0], "list of pinned ones") == bcache.npinned[0],
        "%lu are pinned, not %lu",
        length(&bcache.pinned[0], "list of pinned ones"), bcache.npinned[0]);
    WATCHED(3, length(&bcache.pending, "pending list") == bcache.npending[0],
            "%lu are pending, not %lu", length(&bcache.pending, "pending list"),
            bcache.npending[0]);
}

/* Each queue by age has as many requests as the queue counts in its set. */
static void check_queue(void)
{
    const struct queue *q = &the_disk()->queue;
    for (u32 i = 0; i < NELEM(q->arrived); i++)
        WATCHED(0, length(&q->arrived[i], "queue by age") == q->length[i],
                "%lu requests are in a queue by age, not %lu",
                length(&q->arrived[i], "queue by age"), q->length[i]);
}

/* The cache counts the processes that hold buffers, and those that were just
 * given the right to take one. Those are ready, but not each ready one is. */
static void check_holders(void)
{
    u32 least = 0, most = 0;
    for (u32 i = 0; i < watch->ntasks; i++) {
        const struct task *t = &world.tasks[i];
        least += t->proc.buffers_held != 0;
        most += t->proc.buffers_held != 0 || t->state == TASK_READY;
        WATCHED(8, t->proc.buffers_held <= BUFFERS_HELD, "%s holds %u buffers",
                t->proc.name, t->proc.buffers_held);
        WATCHED(8, t->state != TASK_DONE || !t->proc.buffers_held,
                "%s has ended, and holds a buffer", t->proc.name);
    }
    WATCHED(8, least <= bcache.holders && bcache.holders <= most,
            "%u to %u processes hold buffers, not %u", least, most,
            bcache.holders);
    WATCHED(8, bcache.holders <= MAX(1, bcache.nbufs / BUFFERS_HELD),
            "%u processes hold buffers, which are too few", bcache.holders);
}

/* ---- nothing is lost ---- */

/* The data last written to a block are in its buffer, and on the disk if the
 * buffer is clean or there is none. */
static void check_contents(u64 block)
{
    const struct buf *b = buf_lookup(the_disk(), block);
    u64 wanted = world.wanted[block], on_disk = world.disk[block];
    bool valid = b && b->flags & B_VALID;
    bool has = b && *(u64 *)b->data == wanted;
    bool safe = on_disk == wanted;
    if (valid) {
        WATCHED(0, has, "the buffer of block %lu has lost the last write",
                block);
        WATCHED(0, safe || b->flags & (B_BUSY | B_DELWRI | B_PINNED),
                "the last write of block %lu is nowhere but in a clean buffer",
                block);
    } else {
        WATCHED(0, safe || (b && b->flags & B_BUSY && has),
                "the last write of block %lu is lost", block);
    }
}

/* A block that was given up has what the disk has. */
static void forget_lost(void)
{
    extern struct stat_row __start_stats[], __stop_stats[];
    static struct stat_row *lost;
    static u64 known;
    for (struct stat_row *s = __start_stats; !lost && s < __stop_stats; s++)
        if (!strcmp(s->name, "bio.lost"))
            lost = s;
    if (lost->value == known)
        return;
    known = lost->value;
    for (u64 block = 0; block < watch->nblocks; block++) {
        const struct buf *b = buf_lookup(the_disk(), block);
        if (b && b->flags & B_VALID)
            continue;
        world.wanted[block] = world.disk[block];
        for (u32 i = 0; i < TASKS_MOST; i++)
            world.tasks[i].owed[block] = 0;
    }
}

/* The task is owed, on the disk, what all dirty blocks of the owner (0: any)
 * hold now. */
void owe_dirty(struct task *t, u64 owner)
{
    BUF_EACH (b)
        if ((b->block.dirtied_ns || b->flags & B_WRITE) &&
            (!owner || b->block.owner == owner) && b->flags & B_VALID)
            t->owed[block_of(b)] = *(u64 *)b->data;
}

void check_owed(struct task *t, const char *by)
{
    for (u64 block = 0; block < watch->nblocks; block++)
        WATCHED(0, world.disk[block] >= t->owed[block] || !t->owed[block],
                "%s has returned success, and block %lu is not on the disk", by,
                block);
}

/* ---- nothing stands still ---- */

static bool any_slot(void)
{
    for (u32 i = 0; i < SLOTS_MOST; i++)
        if (world.slots[i].first)
            return true;
    return false;
}

/* If nothing can happen any more, then nothing may be left to do. */
static void check_progress(void)
{
    const struct task *waits = NULL; /* a process that sleeps without limit */
    for (u32 i = 0; i < watch->ntasks; i++) {
        const struct task *t = &world.tasks[i];
        if (t->state == TASK_READY)
            return;
        if (t->state == TASK_ASLEEP && i != DAEMON && !t->deadline_ns)
            waits = t;
    }
    for (u32 i = 0; i < TIMERS_MOST; i++)
        if (world.timers[i])
            return;
    if (any_slot())
        return;
    const struct queue *q = &the_disk()->queue;
    WATCHED(0, !q->length[SET_READS] && !q->length[SET_WRITES],
            "requests are queued, and the drive is idle for ever");
    BUF_EACH (b)
        WATCHED(0, !(b->flags & (B_READ | B_WRITE)),
                "the transfer of block %lu is with nobody: it was lost",
                block_of(b));
    WATCHED(0, !the_disk()->in_flight && !the_disk()->plugged,
            "the disk has %u commands in flight that nobody has, %u plugs",
            the_disk()->in_flight, the_disk()->plugged);
    WATCHED(0, world.tasks[DAEMON].state != TASK_DONE,
            "the update daemon has ended");
    const struct task *daemon = &world.tasks[DAEMON];
    bool tries_again = daemon->deadline_ns && bcache.nfailed;
    WATCHED(0, !waits || tries_again,
            "%s waits for ever: no transfer, timer or process is left",
            waits->proc.name);
    WATCHED(2, buffers_held() || bcache.nbusy == 0 || waits,
            "a buffer is busy for ever");
}

/* True if the update policy must write the block at its age. */
static bool ages(const struct buf *b)
{
    return !(b->flags & B_BUSY) && b->flags & B_DELWRI && !b->failed_ns &&
           !b->block.held_back && b->block.dirtied_ns;
}

/* While the update daemon sleeps, no dirty block is older than the update
 * policy promises. If it waits for a busy buffer, it may be late. */
static void check_age(void)
{
    const struct task *daemon = &world.tasks[DAEMON];
    if (!watch->age_most_ns || daemon->state != TASK_ASLEEP)
        return;
    bool waits_for_lock = !daemon->deadline_ns && bcache.nbusy;
    BUF_EACH (b)
        WATCHED(0, !ages(b) || daemon->deadline_ns || waits_for_lock,
                "block %lu is dirty, and the update daemon sleeps for ever",
                block_of(b));
    BUF_EACH (b)
        WATCHED(0,
                !ages(b) || waits_for_lock ||
                    world.now_ns - b->block.dirtied_ns <= watch->age_most_ns,
                "block %lu has been dirty for %lu ms; the update policy "
                "promises %lu ms",
                block_of(b), (world.now_ns - b->block.dirtied_ns) / NS_PER_MS,
                watch->age_most_ns / NS_PER_MS);
}

void check_state(void)
{
    forget_lost();
    WATCHED(0, !world.nheld, "a step ends with a spin lock held");
    check_orders();
    for (u32 i = 0; i < bcache.used; i++)
        check_buffer(&bcache.bufs[i], i);
    check_counts();
    check_queue();
    check_holders();
    for (u64 block = 0; block < watch->nblocks; block++)
        check_contents(block);
    check_progress();
    check_age();
}
