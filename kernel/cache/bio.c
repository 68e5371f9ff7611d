/*
 * The buffers of the cache (bio.h): which block each holds, and its state.
 *
 *   +---------+                    +------+                      +---------+
 *   |  free   | ----- assign ----> |      | ----- prepare -----> | reading |
 *   +---------+                    |      | <---- biodone ------ +---------+
 *        ^ evict                   |      |
 *   +---------+                    |      |
 *   |  clean  | ---- buf_take ---> |      |
 *   +---------+ <-- buf_let_go --- |      |
 *                                  | busy |
 *   +---------+                    |      |
 *   |  dirty  | ---- buf_take ---> |      |
 *   +---------+ <-- buf_let_go --- |      |
 *        | make_due                |      |  buf_prepare_write   +---------+
 *        v                         |      | -------------------> | writing |
 *   +---------+                    |      | <---- biodone ------ +---------+
 *   | pending | ---- buf_take ---> |      |
 *   +---------+ <-- buf_let_go --- +------+
 *
 *   free     holds no block: never used, or evict has just taken it
 *   busy     one process has it; those who wait for it have it next
 *   reading  in transfer from the disk; writing: to the disk. At the end it is
 *            busy again, and with B_ASYNC biodone lets it go at once
 *   clean    equal to the disk, or its contents are not valid
 *   dirty    newer than the disk: a delayed write (make_dirty), or a write that
 *            failed. A dirty buffer that a process takes and lets go is as
 *            dirty, and as old, as before
 *   pending  dirty, and a flush has found it due (make_due in flush.c)
 *
 * Invariants. An assertion of one of them cites its number; bio_test checks all
 * of them after random steps.
 * 1. A block has at most one buffer, which the hash finds at a cost that does
 *    not grow with the cache.
 * 2. A buffer is B_BUSY exactly while one process has it, or it is in transfer;
 *    B_READ or B_WRITE says which way, and both are never set.
 * 3. A buffer that was let go with B_DELWRI is on the delayed-write list, or
 *    with B_PENDING on the pending list, and on its owner's list, once on each,
 *    until it is written or dropped; ndirty of them are. Its dirtied_ns is when
 *    it was let go dirty for the first time; that of a clean one is 0.
 * 4. The delayed-write list is in the order of dirtied_ns, so a scan for what
 *    is due stops at the first buffer that is not.
 * 5. A buffer is B_EVICTABLE exactly while it is not busy, and clean (or dirty
 *    and not failed, if the policy takes those). Exactly then the replace
 *    policy has it, and only then it may be a victim. A dirty one is written
 *    first.
 * 6. A buffer is B_AHEAD exactly while its block was prefetched and not asked
 *    for yet. Then it is on the list of those, in the order in which the reads
 *    were started, which has at most ahead_most.
 * 7. A buffer in transfer to the disk is on the writing list, which is in the
 *    order of write_number; nwriting of them are.
 * 8. A process may take its first buffer only while the cache has BUFFERS_HELD
 *    for it and for each process that holds some. So each of them gets all that
 *    it needs, and as transfers end by themselves, there is no deadlock.
 *
 * bcache.lock guards all of it but a busy buffer's data.
 */
#include "kernel/cache/bcache.h"
#include "kernel/cache/lost.h"
#include "kernel/machine/args.h"
#include "kernel/measure/hist.h"
#include "kernel/proc/proc.h"
#include "kernel/policy/registry.h"
#include "kernel/base/stat.h"
#include "kernel/measure/trace.h"

struct bcache bcache;
static bool claim_offer(struct io *, const struct disk *);

COUNTER(hits, "bio.hits", "blocks", "found in the cache");
COUNTER(misses, "bio.misses", "blocks", "not found in the cache");
COUNTER(evictions, "bio.evictions", "blocks", "clean blocks that gave way");
COUNTER(ahead, "bio.ahead", "blocks", "prefetched: reads started");
COUNTER(ahead_used, "bio.ahead_used", "blocks", "of them asked for");
COUNTER(ahead_late, "bio.ahead_late", "blocks",
        "of those, while the read was under way");
COUNTER(ahead_wasted, "bio.ahead_wasted", "blocks",
        "prefetched and never asked for");
COUNTER(dirtied, "bio.dirtied", "blocks", "clean to dirty");
COUNTER(absorbed, "bio.absorbed", "blocks", "dirty blocks modified again");
COUNTER(cancelled, "bio.cancelled", "blocks", "dirty blocks freed unwritten");
COUNTER(written, "bio.written", "blocks", "writes started");
COUNTER(dirty_victims, "bio.dirty_victims", "blocks", "written to give way");
COUNTER(write_errors, "bio.write_errors", "blocks", "writes that failed");

HISTOGRAM(age_written, "bio.age_written", "ns",
          "age of a dirty block when its writing starts");

u64 bio_buffers(void)
{
    return bcache.nbufs;
}

static u64 gauge_ahead(void)
{
    return bcache.nahead;
}

GAUGE(buffers_gauge, "bio.buffers", "buffers", "in the cache", bio_buffers);
GAUGE(dirty_gauge, "bio.dirty", "buffers", "dirty now", bio_dirty);
GAUGE(ahead_gauge, "bio.ahead_unused", "buffers",
      "prefetched and not asked for yet", gauge_ahead);
GAUGE(busy_gauge, "bio.busy", "buffers", "held or in transfer now", bio_busy);

u64 bio_dirty(void)
{
    return bcache.ndirty;
}

u64 bio_busy(void)
{
    return bcache.nbusy;
}

void cache_state(struct cache_state *s)
{
    *s = (struct cache_state){.buffers = bcache.nbufs,
                              .dirty = bcache.ndirty,
                              .writing = bcache.nwriting,
                              .held_back = bcache.nheld_back,
                              .dirtied = dirtied.value,
                              .written = written.value,
                              .hits = hits.value,
                              .misses = misses.value};
}

u32 bio_block_bytes(void)
{
    return bcache.block_bytes;
}

static void trace_block(enum trace_event event, const struct buf *b, u64 arg)
{
    trace(event, b->block.disk, b->block.blkno, myproc()->pid, arg);
}

/* trace_block at a time that the buffer or a histogram stores too, so that the
 * trace agrees with it. Caller holds the lock, and has traced nothing since. */
static void trace_block_at(u64 now_ns, enum trace_event event,
                           const struct buf *b, u64 arg)
{
    trace_at(now_ns, event, b->block.disk, b->block.blkno, myproc()->pid, arg);
}

/* ---- the hash ---- */

/* Multiplicative hashing (Knuth, volume 3, section 6.4). The disk's number is
 * above every block's, and the factor is odd, so equal blocks of two disks are
 * never in one bucket. */
static struct buf **bucket(u32 disk, u64 blkno)
{
    u64 mixed = (blkno ^ (u64)disk << 32) * 0x9e3779b97f4a7c15UL;
    return &bcache.buckets[(mixed >> 32) & (bcache.nbuckets - 1)];
}

static struct buf *lookup(const struct disk *d, u64 blkno)
{
    struct buf *b = *bucket(d->id, blkno);
    while (b && (b->block.blkno != blkno || b->disk != d))
        b = b->hash;
    return b;
}

static void hash_insert(struct buf *b)
{
    struct buf **head = bucket(b->block.disk, b->block.blkno);
    debug_assert(!lookup(b->disk, b->block.blkno)); /* 1 */
    b->hash = *head;
    *head = b;
}

static void hash_remove(struct buf *b)
{
    struct buf **at = bucket(b->block.disk, b->block.blkno);
    while (*at != b)
        at = &(*at)->hash;
    *at = b->hash;
}

/* ---- prefetched buffers. Caller holds the lock. ---- */

static void mark_ahead(struct buf *b)
{
    assert(!(b->flags & B_AHEAD) && bcache.nahead < bcache.ahead_most); /* 6 */
    b->flags |= B_AHEAD;
    b->ahead_ns = clock_ns();
    list_push_back(&bcache.ahead, &b->ahead);
    bcache.nahead++;
    count(&ahead, 1);
}

/* If b was prefetched and not asked for yet: count that it is asked for now, or
 * that it never will be. */
static void settle_ahead(struct buf *b, bool asked)
{
    if (!(b->flags & B_AHEAD))
        return;
    count(asked ? &ahead_used : &ahead_wasted, 1);
    if (asked && b->flags & B_READ)
        count(&ahead_late, 1);
    b->flags &= ~B_AHEAD;
    list_remove(&b->ahead);
    bcache.nahead--;
}

u64 bio_ahead_most(void)
{
    return bcache.ahead_most;
}

/* A buffer that is evictable loses its block, and is free. */
static struct buf *evict(struct buf *b)
{
    make_not_evictable(b);
    assert(!(b->flags & (B_BUSY | B_DELWRI | B_EVICTABLE))); /* 5 */
    count(&evictions, 1);
    trace_block(TRACE_evicted, b, b->flags & B_AHEAD ? 1 : 0);
    settle_ahead(b, false);
    replace_evicted(b);
    hash_remove(b);
    return b;
}

/* A buffer for a block that is not cached: never used, or a victim; NULL if
 * there is none, or it is *dirty. Caller holds the lock. */
static struct buf *claim(const struct disk *d, u64 blkno, struct buf **dirty)
{
    *dirty = NULL;
    if (bcache.used < bcache.nbufs) {
        struct buf *b = &bcache.bufs[bcache.used];
        memset(b, 0, sizeof *b);
        b->data = bcache.data + bcache.used * bcache.block_bytes;
        bcache.used++;
        return b;
    }
    struct buf *b = replace_victim(d->id, blkno);
    if (b && b->flags & B_DELWRI)
        *dirty = b;
    return b && !*dirty ? evict(b) : NULL;
}

/* claim for a block to be prefetched. When prefetched blocks fill their share,
 * only a stale one gives way. A process that waits for a buffer goes first. */
static struct buf *claim_ahead(const struct disk *d, u64 blkno)
{
    struct buf *dirty;
    if (bcache.waiting)
        return NULL;
    if (bcache.nahead < bcache.ahead_most)
        return claim(d, blkno, &dirty);
    if (!bcache.nahead)
        return NULL;
    struct buf *b = LIST_ITEM(bcache.ahead.next, struct buf, ahead);
    bool stale = clock_ns() - b->ahead_ns >= AHEAD_STALE_NS;
    return stale && b->flags & B_EVICTABLE ? evict(b) : NULL;
}

/* Give a claimed buffer its block, busy. Caller holds the lock. */
static void assign(struct buf *b, struct disk *d, u64 blkno)
{
    b->block =
        (struct block){.disk = d->id, .blkno = blkno, .used = ++bcache.uses};
    b->disk = d;
    b->flags = B_BUSY;
    b->failed_ns = 0;
    turns_init(&b->turns);
    bcache.nbusy++;
    hash_insert(b);
}

/* Make a buffer busy that no process has. Caller holds the lock. */
void buf_take(struct buf *b)
{
    debug_assert(spin_held(&bcache.lock));
    assert(!(b->flags & B_BUSY)); /* 2 */
    if (b->flags & B_EVICTABLE)
        make_not_evictable(b);
    b->flags |= B_BUSY;
    b->flags &= ~B_NOREUSE;
    bcache.nbusy++;
}

void buf_get(struct buf *b)
{
    if (b->flags & B_BUSY)
        turns_wait(&b->turns, &bcache.lock);
    else
        buf_take(b);
}

/* ---- dirty buffers. Caller holds the lock. ---- */

struct list *owner_list(u64 owner)
{
    u64 mixed = owner * 0x9e3779b97f4a7c15UL;
    return &bcache.owned[(mixed >> 32) & (OWNER_LISTS - 1)];
}

/* Put a buffer on the delayed-write list, in the order of dirtied_ns: at the
 * end, but for one whose write has failed, which keeps its old time. */
static void delay(struct buf *b)
{
    struct list *at = &bcache.delayed;
    assert(b->flags & B_DELWRI && b->block.dirtied_ns); /* 3 */
    while (at->prev != &bcache.delayed &&
           LIST_ITEM(at->prev, struct buf, dirty)->block.dirtied_ns >
               b->block.dirtied_ns)
        at = at->prev;
    list_insert_before(at, &b->dirty);
    list_push_back(owner_list(b->block.owner), &b->owned);
    bcache.ndirty++;
    update_dirtied(b);
}

void set_held_back(struct buf *b, bool held_back)
{
    bcache.nheld_back += held_back - b->block.held_back;
    b->block.held_back = held_back;
}

void undelay(struct buf *b)
{
    assert(b->flags & B_BUSY && b->block.dirtied_ns && bcache.ndirty); /* 3 */
    update_leaves(b);
    disk_withdraw(b->disk, &b->io);
    list_remove(&b->dirty);
    list_remove(&b->owned);
    bcache.npending[b->block.disk] -= (b->flags & B_PENDING) != 0;
    b->flags &= ~(B_DELWRI | B_PENDING);
    set_held_back(b, false);
    bcache.ndirty--;
}

/* The pause is as long as the writes have been failing, so it doubles. Times
 * are rounded up, so that one look of the daemon serves many blocks. */
void set_failed(struct buf *b, u64 now_ns)
{
    bcache.nfailed += (now_ns != 0) - (b->failed_ns != 0);
    if (!now_ns || !b->failed_ns)
        b->failed_ns = now_ns;
    if (!now_ns)
        return;
    u64 pause_ns = MIN(now_ns - b->failed_ns, RETRY_MOST_NS);
    b->retry_ns = (now_ns + pause_ns) / RETRY_NS * RETRY_NS + RETRY_NS;
    update_ask_again();
}

/* Describe b's transfer: which block, which way, for which process. */
static void set_io(struct buf *b, bool write, bool waited)
{
    u32 sectors = bcache.block_bytes / SECTOR_BYTES;
    b->io = (struct io){
        .request = {.sector = b->block.blkno * sectors,
                    .nsectors = sectors,
                    .write = write,
                    .waited = waited,
                    .pid = myproc()->pid},
        .span.data = b->data,
        .done = biodone,
        .claim = claim_offer,
    };
}

/* Offer a dirty buffer to the scheduler, as a candidate write. */
static void offer(struct buf *b)
{
    set_io(b, true, false);
    b->io.request.queued_ns = b->block.dirtied_ns;
    disk_offer(b->disk, &b->io);
}

/* A buffer that is let go dirty has been dirty since now, if it was clean. */
static void set_dirtied(struct buf *b)
{
    if (!(b->flags & B_DELWRI)) {
        b->block.dirtied_ns = 0;
    } else if (!b->block.dirtied_ns) {
        b->block.dirtied_ns = clock_ns();
        trace_block_at(b->block.dirtied_ns, TRACE_dirtied, b, b->block.owner);
        count(&dirtied, 1);
        delay(b);
    }
}

void buf_let_go(struct buf *b)
{
    debug_assert(spin_held(&bcache.lock));
    assert((b->flags & (B_BUSY | B_READ | B_WRITE)) == B_BUSY); /* 2 */
    set_dirtied(b);
    b->flags &= ~B_ASYNC;
    if (turns_give(&b->turns)) {
        b->flags &= ~B_NOREUSE;
        return;
    }
    b->flags &= ~B_BUSY;
    bcache.nbusy--;
    make_evictable(b);
    if (b->flags & B_DELWRI && !io_queued(&b->io) && !(b->flags & B_ERROR))
        offer(b);
    if (bcache.waiting)
        wakeup(&bcache.nevictable);
}

/* ---- transfers ---- */

/* Prepare b's transfer; the caller submits it, without the lock. */
static void prepare(struct buf *b, u32 direction, bool waited)
{
    assert((b->flags & (B_BUSY | B_READ | B_WRITE)) == B_BUSY); /* 2 */
    b->flags &= ~B_ERROR;
    b->flags |= direction | (waited ? 0 : B_ASYNC);
    set_io(b, direction == B_WRITE, waited);
}

void buf_prepare_write(struct buf *b, bool waited)
{
    u64 now_ns = clock_ns();
    u64 age_ns = b->block.dirtied_ns ? now_ns - b->block.dirtied_ns : 0;
    trace_block_at(now_ns, TRACE_writing, b, age_ns);
    if (b->block.dirtied_ns) {
        hist_add(&age_written, age_ns);
        undelay(b);
    }
    b->flags &= ~B_DELWRI;
    b->write_number = ++bcache.write_number;
    list_push_back(&bcache.writing, &b->dirty);
    bcache.nwriting++;
    count(&written, 1);
    prepare(b, B_WRITE, waited);
}

/* The scheduler has chosen a candidate write: prepare it, if the buffer is
 * still dirty and free. By now the buffer may even hold another block. */
static bool claim_offer(struct io *io, const struct disk *d)
{
    struct buf *b = CONTAINER(io, struct buf, io);
    HOLD(spin, &bcache.lock);
    bool free = (b->flags & (B_DELWRI | B_BUSY)) == B_DELWRI;
    if (!free || b->disk != d || io_queued(io))
        return false;
    buf_take(b);
    buf_prepare_write(b, false);
    io->request.pid = 0;
    return true;
}

/* The write of b failed: it is dirty again, as old as it was; if it was clean,
 * since the write began, so that a flush since then tries it. */
static void write_failed(struct buf *b)
{
    count(&write_errors, 1);
    if (!bcache.nfailed)
        kprintf("bio: %s: block %lu cannot be written now: trying again\n",
                b->disk->name, b->block.blkno);
    set_failed(b, clock_ns());
    b->flags |= B_DELWRI | B_VALID;
    if (!b->block.dirtied_ns)
        b->block.dirtied_ns = b->io.request.queued_ns;
    delay(b);
}

static void write_ended(struct buf *b, int error)
{
    assert(bcache.nwriting); /* 7 */
    list_remove(&b->dirty);
    bcache.nwriting--;
    wakeup(&bcache.nwriting);
    if (error) {
        write_failed(b);
    } else {
        b->block.dirtied_ns = 0;
        set_failed(b, 0);
    }
    if (!b->flush)
        return;
    if (error)
        b->flush->error = error;
    if (--b->flush->outstanding == 0)
        wakeup(b->flush);
    b->flush = NULL;
}

void biodone(struct io *io, int error)
{
    struct buf *b = CONTAINER(io, struct buf, io);
    HOLD(spin, &bcache.lock);
    assert(b->flags & B_BUSY && b->flags & (B_READ | B_WRITE)); /* 2 */
    if (b->flags & B_WRITE)
        write_ended(b, error);
    else if (!error)
        b->flags |= B_VALID;
    b->flags &= ~(B_READ | B_WRITE);
    if (error)
        b->flags |= B_ERROR;
    wakeup(&b->io);
    if (b->flags & B_ASYNC)
        buf_let_go(b);
}

/* Caller holds the lock. */
static int wait_transfer(struct buf *b)
{
    while (b->flags & (B_READ | B_WRITE))
        sleep_on(&b->io, &bcache.lock);
    return b->flags & B_ERROR ? -EIO : 0;
}

int biowait(struct buf *b)
{
    HOLD(spin, &bcache.lock);
    return wait_transfer(b);
}

/* ---- holding ---- */

static bool on_disk(const struct disk *d, u64 blkno)
{
    return blkno < d->nsectors / (bcache.block_bytes / SECTOR_BYTES);
}

/* The current process is about to hold one more buffer. False if it is the
 * first one and not all holders together would fit the cache. Caller holds the
 * lock. */
static bool hold_at_once(void)
{
    struct proc *p = myproc();
    assert(p->buffers_held < BUFFERS_HELD); /* 8 */
    if (!p->buffers_held && bcache.holders >= bcache.nbufs / BUFFERS_HELD)
        return false;
    bcache.holders += !p->buffers_held++;
    return true;
}

/* hold_at_once, but waits until it may. */
static void hold(void)
{
    if (hold_at_once())
        return;
    turns_wait(&bcache.may_hold, &bcache.lock);
    myproc()->buffers_held = 1;
}

static void unhold(void)
{
    struct proc *p = myproc();
    assert(p->buffers_held && bcache.holders); /* 8 */
    if (--p->buffers_held == 0 && !turns_give(&bcache.may_hold))
        bcache.holders--;
}

/* ---- when there is no clean victim ---- */

/* Write a dirty victim, so that it is clean when the policy is asked again.
 * Caller holds the lock, which is released meanwhile. */
static void write_victim(struct buf *b)
{
    count(&dirty_victims, 1);
    buf_take(b);
    buf_prepare_write(b, false);
    spin_unlock(&bcache.lock);
    disk_submit(b->disk, &b->io);
    spin_lock(&bcache.lock);
    if (b->flags & B_WRITE)
        sleep_on(&b->io, &bcache.lock);
}

/* ---- the interface ---- */

/* Get the buffer that holds a block. The first use of a block that was missed
 * with others (B_ASKED) is no hit. Caller holds the lock. */
static struct buf *hit(struct buf *b, bool asked)
{
    bool missed = b->flags & B_ASKED, first = missed || b->flags & B_AHEAD;
    settle_ahead(b, asked);
    b->flags &= ~B_ASKED;
    buf_get(b);
    b->block.used = ++bcache.uses;
    b->block.first = first;
    count(&hits, !missed);
    trace_block(TRACE_hit, b, 0);
    return b;
}

/* getblk of a block whose contents are asked for, or not: to be overwritten.
 * Caller holds the lock, which is released while it waits. */
static struct buf *get(struct disk *d, u64 blkno, bool asked)
{
    struct buf *b, *dirty;
    assert(on_disk(d, blkno));
    hold();
    for (;;) {
        if ((b = lookup(d, blkno)))
            return hit(b, asked);
        if ((b = claim(d, blkno, &dirty)))
            break;
        if (dirty)
            write_victim(dirty);
        else
            make_room();
    }
    count(&misses, 1);
    assign(b, d, blkno);
    trace_block(TRACE_miss, b, 0);
    return b;
}

struct buf *getblk(struct disk *d, u64 blkno)
{
    HOLD(spin, &bcache.lock);
    return get(d, blkno, false);
}

struct buf *bcached(struct disk *d, u64 blkno, enum found *found)
{
    HOLD(spin, &bcache.lock);
    struct buf *b = lookup(d, blkno);
    *found = found_of(b);
    if (*found != CACHED || b->flags & B_BUSY || !hold_at_once())
        return NULL;
    update_wanted(hit(b, true), true);
    return b;
}

/* A buffer for reading a block, with its transfer prepared; NULL if it is
 * cached or being read, or there is no room. */
static struct buf *claim_to_read(struct disk *d, u64 blkno, bool asked)
{
    HOLD(spin, &bcache.lock);
    struct buf *b = lookup(d, blkno), *dirty;
    bool may = asked || bcache.nahead < bcache.ahead_most;
    if (b) { /* it may have lost its contents */
        if (!may || b->flags & B_VALID || !(b->flags & B_EVICTABLE))
            return NULL;
        settle_ahead(b, asked);
        buf_take(b);
    } else {
        b = asked ? claim(d, blkno, &dirty) : claim_ahead(d, blkno);
        if (!b)
            return NULL;
        assign(b, d, blkno);
    }
    trace_block(TRACE_ahead, b, asked);
    count(&misses, asked);
    if (asked)
        b->flags |= B_ASKED;
    else
        mark_ahead(b);
    prepare(b, B_READ, false);
    return b;
}

/* Start reading a block unless it is cached or there is no room. */
static void start_read(struct disk *d, u64 blkno, bool asked)
{
    struct buf *b = on_disk(d, blkno) ? claim_to_read(d, blkno, asked) : NULL;
    if (b)
        disk_submit(d, &b->io);
}

static void start_also(struct disk *d, const struct also *also)
{
    for (u32 i = 0; i < also->nasked; i++)
        start_read(d, also->asked[i], true);
    for (u32 i = 0; i < also->nahead; i++)
        start_read(d, also->ahead[i], false);
}

/* bread, with further reads started; told: the update policy is told. */
static struct buf *read(struct disk *d, u64 blkno, const struct also *also,
                        bool told)
{
    if (!on_disk(d, blkno))
        return NULL;
    spin_lock(&bcache.lock);
    struct buf *b = get(d, blkno, true);
    bool valid = b->flags & B_VALID;
    if (told)
        update_wanted(b, valid);
    spin_unlock(&bcache.lock);
    if (valid && !also->nasked && !also->nahead)
        return b;
    disk_plug(d);
    if (!valid) {
        spin_lock(&bcache.lock);
        prepare(b, B_READ, true);
        b->io.alone = also->apart;
        spin_unlock(&bcache.lock);
        disk_submit(d, &b->io);
    }
    start_also(d, also);
    disk_unplug(d);
    if (valid || !biowait(b))
        return b;
    brelse(b);
    return NULL;
}

struct buf *breada(struct disk *d, u64 blkno, const struct also *also)
{
    return read(d, blkno, also, true);
}

struct buf *bread(struct disk *d, u64 blkno)
{
    return read(d, blkno, &(struct also){0}, false);
}

void bstart(struct disk *d, const struct also *also)
{
    if (!also->nasked && !also->nahead)
        return;
    disk_plug(d);
    start_also(d, also);
    disk_unplug(d);
}

void bprefetch(struct disk *d, const u64 *blkno, u32 n)
{
    bstart(d, &(struct also){.ahead = blkno, .nahead = n});
}

void brelse(struct buf *b)
{
    HOLD(spin, &bcache.lock);
    buf_let_go(b);
    unhold();
}

int bwrite(struct buf *b)
{
    if (write_keeps()) {
        make_dirty(b, b->block.owner, b->block.meta, b->block.held_back);
        return 0;
    }
    spin_lock(&bcache.lock);
    b->flags |= B_VALID;
    buf_prepare_write(b, true);
    spin_unlock(&bcache.lock);
    disk_submit(b->disk, &b->io);
    int error = biowait(b);
    brelse(b);
    return error;
}

void bawrite(struct buf *b)
{
    spin_lock(&bcache.lock);
    b->flags |= B_VALID;
    buf_prepare_write(b, false);
    unhold();
    spin_unlock(&bcache.lock);
    disk_submit(b->disk, &b->io);
}

void set_owner(struct buf *b, u64 owner, bool meta)
{
    b->block.meta = meta;
    if (b->block.owner == owner)
        return;
    b->block.owner = owner;
    if (b->block.dirtied_ns) {
        list_remove(&b->owned);
        list_push_back(owner_list(owner), &b->owned);
    }
}

void make_dirty(struct buf *b, u64 owner, bool meta, bool held_back)
{
    struct disk *d = b->disk;
    spin_lock(&bcache.lock);
    set_owner(b, owner, meta);
    set_held_back(b, held_back);
    if (b->flags & B_DELWRI) {
        count(&absorbed, 1);
        trace_block(TRACE_absorbed, b, owner);
        b->io.request.again = true;
    }
    b->flags |= B_DELWRI | B_VALID;
    buf_let_go(b);
    unhold();
    spin_unlock(&bcache.lock);
    disk_poke(d);
}

void bdwrite(struct buf *b, u64 owner)
{
    make_dirty(b, owner, true, b->block.held_back);
}

/* Wait for a buffer and drop its contents. Caller holds the lock. */
static void invalidate(struct buf *b)
{
    buf_get(b);
    settle_ahead(b, false);
    if (b->block.dirtied_ns) {
        undelay(b);
        count(&cancelled, 1);
        trace_block(TRACE_cancelled, b, 0);
    }
    b->flags &= ~(B_VALID | B_ERROR);
    b->flags |= B_NOREUSE;
    set_failed(b, 0);
    b->block.owner = 0;
    buf_let_go(b);
}

void bunwanted(struct disk *d, u64 blkno)
{
    HOLD(spin, &bcache.lock);
    struct buf *b = lookup(d, blkno);
    if (b && b->flags & B_EVICTABLE) {
        make_not_evictable(b);
        b->flags |= B_NOREUSE;
        make_evictable(b);
    }
}

void binval(struct disk *d, u64 blkno)
{
    HOLD(spin, &bcache.lock);
    struct buf *b = lookup(d, blkno);
    if (b)
        invalidate(b);
}

void binval_disk(struct disk *d)
{
    HOLD(spin, &bcache.lock);
    BUF_EACH (b)
        if (b->disk == d)
            invalidate(b);
}

/* ---- set-up ---- */

static void reserve(u32 block_bytes, u64 nbufs)
{
    for (bcache.nbuckets = 1; bcache.nbuckets < nbufs;)
        bcache.nbuckets *= 2;
    bcache.buckets = mem_reserve(bcache.nbuckets * sizeof *bcache.buckets);
    bcache.bufs = mem_reserve(nbufs * sizeof *bcache.bufs);
    bcache.data = mem_reserve(nbufs * block_bytes);
    if (!bcache.buckets || !bcache.bufs || !bcache.data)
        boot_fail("nbuf=%lu: %lu KiB of buffers do not fit in the memory left",
                  nbufs, nbufs * block_bytes / 1024);
    memset(bcache.buckets, 0, bcache.nbuckets * sizeof *bcache.buckets);
}

void bio_init(u32 block_bytes)
{
    u64 quarter = mem_total_pages() * PAGE_SIZE / 4;
    u64 def = MAX(BUFFERS_MIN, quarter / block_bytes);
    bcache.nbufs = arg_number("nbuf", def, BUFFERS_MIN, 1UL << 32);
    bcache.block_bytes = block_bytes;
    bcache.ahead_most =
        bcache.nbufs * arg_number("prefetch_percent", 25, 0, 100) / 100;
    reserve(block_bytes, bcache.nbufs);
    bcache.lock = SPINLOCK("bcache", RANK_BIO);
    list_init(&bcache.delayed);
    list_init(&bcache.pending);
    list_init(&bcache.writing);
    list_init(&bcache.ahead);
    turns_init(&bcache.may_hold);
    for (u32 i = 0; i < OWNER_LISTS; i++)
        list_init(&bcache.owned[i]);
    replace_init();
    write_init();
}
