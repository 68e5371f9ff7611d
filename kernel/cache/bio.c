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
 *   free     holds no block: never used, or buf_evict has just taken it
 *   busy     one process has it; those who wait for it have it next
 *   reading  in transfer from the disk; writing: to the disk. At the end it is
 *            busy again, and with B_ASYNC biodone lets it go at once
 *   clean    equal to the disk, or its contents are not valid
 *   dirty    newer than the disk: a delayed write (make_dirty), or a write that
 *            failed. A dirty buffer that a process takes and lets go is as
 *            dirty, and as old, as before
 *   pending  dirty, and a flush has found it due (make_due in flush.c)
 *   pinned   newer than the disk, but not dirty: it may not be written (bpin)
 *            until a journal lets it become dirty (bunpin), or until what it
 *            waits for has been written (kernel/depend)
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
 * 5. A buffer is B_EVICTABLE exactly while it is not busy nor pinned, and clean
 *    (or dirty and not failed, if the policy takes those). Exactly then the
 *    replace
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
#include "kernel/machine/args.h"

struct bcache bcache = {.lock = SPINLOCK("bcache", RANK_BIO)};

COUNTER(hits, "bio.hits", "blocks", "found in the cache");
COUNTER(misses, "bio.misses", "blocks", "not found in the cache");
COUNTER(sleeps, "biowait.sleeps", "sleeps", "in biowait, for a transfer");
COUNTER(cancelled, "bio.cancelled", "blocks", "dirty blocks freed unwritten");
COUNTER(dirty_victims, "bio.dirty_victims", "blocks", "written to give way");

static bool keep_freed; /* a dirty block stays dirty when it is freed */

/* Return the number of buffers of the cache. */
u64 bio_buffers(void)
{
    return bcache.nbufs;
}

GAUGE(buffers_gauge, "bio.buffers", "buffers", "in the cache", bio_buffers);
GAUGE(dirty_gauge, "bio.dirty", "buffers", "dirty now", bio_dirty);
GAUGE(busy_gauge, "bio.busy", "buffers", "held or in transfer now", bio_busy);

u64 bio_dirty(void)
{
    return bcache.ndirty;
}

u64 bio_busy(void)
{
    return bcache.nbusy;
}

/* Count n more reads that found no block in the cache. */
void count_misses(u64 n)
{
    count(&misses, n);
}

/* Fill in what policies may know of the cache as a whole at this instant. */
void cache_state(struct cache_state *s)
{
    *s = (struct cache_state){.buffers = bcache.nbufs,
                              .dirty = bcache.ndirty,
                              .writing = bcache.nwriting,
                              .held_back = bcache.nheld_back,
                              .hits = hits.value,
                              .misses = misses.value};
    delayed_state(s);
}

u32 bio_block_bytes(void)
{
    return bcache.block_bytes;
}

/* ---- taking and letting go ---- */

/* Make a buffer busy that no process has. Caller holds the lock. */
inline void buf_take(struct buf *b)
{
    debug_assert(spin_held(&bcache.lock));
    assert(!(b->flags & B_BUSY)); /* 2 */
    if (b->flags & B_EVICTABLE)
        make_not_evictable(b);
    b->flags |= B_BUSY;
    b->flags &= ~B_NOREUSE;
    bcache.nbusy++;
}

/* Take b, after waiting in turn if another process has it. */
inline void buf_get(struct buf *b)
{
    if (b->flags & B_BUSY)
        wait_queue_join(&b->waiters, &bcache.lock);
    else
        buf_take(b);
}

/* ---- transfers. Caller holds the lock. ---- */

inline struct io *buf_io(struct buf *b)
{
    if (!b->io && (b->io = bcache.free_ios))
        bcache.free_ios = io_next(b->io);
    else if (!b->io)
        b->io = memset(&bcache.ios[bcache.ios_used++], 0, sizeof *b->io);
    return b->io;
}

inline void buf_set_io(struct buf *b, bool write, bool waited)
{
    u32 sectors = bcache.block_bytes / SECTOR_BYTES;
    *buf_io(b) = (struct io){
        .request = {.sector = b->block.blkno * sectors,
                    .nsectors = sectors,
                    .write = write,
                    .waited = waited,
                    .pid = myproc()->pid},
        .span.data = b->data,
        .done = biodone,
        .reserve = reserve_candidate,
        .arg = b,
    };
}

inline void buf_let_go(struct buf *b)
{
    debug_assert(spin_held(&bcache.lock));
    assert((b->flags & (B_BUSY | B_READ | B_WRITE)) == B_BUSY); /* 2 */
    set_dirtied(b);
    b->flags &= ~B_ASYNC;
    if (wait_queue_hand_off(&b->waiters)) {
        b->flags &= ~B_NOREUSE;
        return;
    }
    b->flags &= ~B_BUSY;
    bcache.nbusy--;
    make_evictable(b);
    if (!(b->flags & B_DELWRI) && b->io) {
        b->io->arg = NULL; /* reserve_candidate may still be asked about it */
        io_set_next(b->io, bcache.free_ios);
        bcache.free_ios = b->io;
        b->io = NULL;
    }
    if ((b->flags & (B_DELWRI | B_ERROR)) == B_DELWRI && !io_queued(buf_io(b)))
        buf_add_candidate(b);
    if (bcache.waiting)
        wakeup(&bcache.nevictable);
}

/* ---- transfers ---- */

inline void buf_prepare(struct buf *b, u32 direction, bool waited)
{
    assert((b->flags & (B_BUSY | B_READ | B_WRITE)) == B_BUSY); /* 2 */
    b->flags &= ~B_ERROR;
    b->flags |= direction | (waited ? 0 : B_ASYNC);
    buf_set_io(b, direction == B_WRITE, waited);
}

void biodone(struct io *io, int error)
{
    struct buf *b = io->arg;
    HOLD(spin, &bcache.lock);
    assert(b && b->flags & B_BUSY && b->flags & (B_READ | B_WRITE)); /* 2 */
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

int biowait(struct buf *b)
{
    HOLD(spin, &bcache.lock);
    while (b->flags & (B_READ | B_WRITE)) {
        count(&sleeps, 1);
        sleep_on(&b->io, &bcache.lock);
    }
    return b->flags & B_ERROR ? -EIO : 0;
}

/* ---- holding ---- */

/* Count one more buffer that the process holds. False, without counting, if it
 * is its first and not all holders together would fit the cache. Caller holds
 * the lock. */
static inline bool hold_at_once(void)
{
    struct proc *p = myproc();
    assert(p->buffers_held < BUFFERS_HELD); /* 8 */
    if (!p->buffers_held && bcache.holders >= bcache.nbufs / BUFFERS_HELD)
        return false;
    bcache.holders += !p->buffers_held++;
    return true;
}

/* Count one more held buffer, once hold_at_once allows it. */
static inline void hold(void)
{
    if (hold_at_once())
        return;
    wait_queue_join(&bcache.may_hold, &bcache.lock);
    myproc()->buffers_held = 1;
}

inline void buf_unhold(void)
{
    struct proc *p = myproc();
    assert(p->buffers_held && bcache.holders); /* 8 */
    if (--p->buffers_held == 0 && !wait_queue_hand_off(&bcache.may_hold))
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
    disk_submit(b->disk, b->io);
    spin_lock(&bcache.lock);
    if (b->flags & B_WRITE)
        sleep_on(&b->io, &bcache.lock);
}

/* ---- the interface ---- */

/* Get the buffer that holds a block. The first use of a block that was missed
 * with others (B_ASKED) is no hit. Caller holds the lock. */
static inline struct buf *hit(struct buf *b, bool asked)
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

/* Return the block's buffer, busy. asked: the block's contents are wanted; else
 * they will be written over. Releases the caller's lock while it waits. */
static struct buf *get(struct disk *d, u64 blkno, bool asked)
{
    struct buf *b, *dirty;
    assert(on_disk(d, blkno));
    hold();
    for (;;) {
        if ((b = buf_lookup(d, blkno)))
            return hit(b, asked);
        if ((b = buf_allocate(d, blkno, &dirty)))
            break;
        if (dirty)
            write_victim(dirty);
        else
            make_room();
    }
    count(&misses, 1);
    buf_assign(b, d, blkno);
    trace_block(TRACE_miss, b, 0);
    return b;
}

/* Return the block's buffer, busy. Its contents may be invalid. */
struct buf *getblk(struct disk *d, u64 blkno)
{
    HOLD(spin, &bcache.lock);
    return get(d, blkno, false);
}

struct buf *bcached(struct disk *d, u64 blkno, enum found *found)
{
    HOLD(spin, &bcache.lock);
    struct buf *b = buf_lookup(d, blkno);
    *found = found_of(b);
    if (*found != CACHED || b->flags & B_BUSY || !hold_at_once())
        return NULL;
    update_wanted(hit(b, true), true);
    return b;
}

struct buf *breada(struct disk *d, u64 blkno,
                   const struct further_reads *further)
{
    if (!on_disk(d, blkno))
        return NULL;
    spin_lock(&bcache.lock);
    struct buf *b = get(d, blkno, true);
    bool valid = b->flags & B_VALID;
    if (!further->internal)
        update_wanted(b, valid);
    if (!valid) {
        buf_prepare(b, B_READ, true);
        b->io->alone = further->separate;
    }
    spin_unlock(&bcache.lock);
    if (valid && !further->nasked && !further->nahead)
        return b;
    disk_plug(d);
    if (!valid)
        disk_submit(d, b->io);
    start_further(d, further);
    disk_unplug(d);
    if (valid || !biowait(b))
        return b;
    brelse(b);
    return NULL;
}

/* Return the block's buffer with valid contents, or NULL if the read failed. */
struct buf *bread(struct disk *d, u64 blkno)
{
    return breada(d, blkno, &(struct further_reads){.internal = true});
}

void brelse(struct buf *b)
{
    HOLD(spin, &bcache.lock);
    buf_let_go(b);
    buf_unhold();
}

/* Write b's block, wait for the end, and let b go. Return 0 or -EIO. */
int bwrite(struct buf *b)
{
    spin_lock(&bcache.lock);
    b->flags |= B_VALID;
    buf_prepare_write(b, true);
    spin_unlock(&bcache.lock);
    disk_submit(b->disk, b->io);
    int error = biowait(b);
    brelse(b);
    return error;
}

/* Start writing b's block. biodone lets the buffer go at the end. */
void bawrite(struct buf *b)
{
    spin_lock(&bcache.lock);
    b->flags |= B_VALID;
    buf_prepare_write(b, false);
    buf_unhold();
    spin_unlock(&bcache.lock);
    disk_submit(b->disk, b->io);
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
    unpin(b);
    b->flags &= ~(B_VALID | B_ERROR);
    b->flags |= B_NOREUSE;
    set_failed(b, 0);
    b->block.owner = 0;
    buf_let_go(b);
}

/* Tell the replace policy that the block will not be used soon. */
void bunwanted(struct disk *d, u64 blkno)
{
    HOLD(spin, &bcache.lock);
    struct buf *b = buf_lookup(d, blkno);
    if (b && b->flags & B_EVICTABLE) {
        make_not_evictable(b);
        b->flags |= B_NOREUSE;
        make_evictable(b);
    }
}

/* Drop the block from the cache: it has been freed. With keep_freed=1 a dirty
 * block stays, and is written. */
void binval(struct disk *d, u64 blkno)
{
    HOLD(spin, &bcache.lock);
    struct buf *b = buf_lookup(d, blkno);
    bool stays = keep_freed && b && b->block.dirtied_ns && !b->failed_ns;
    if (b && !stays)
        invalidate(b);
}

/* Drop all blocks of the disk from the cache, unwritten. */
void binval_disk(struct disk *d)
{
    HOLD(spin, &bcache.lock);
    BUF_EACH (b)
        if (b->disk == d)
            invalidate(b);
}

/* ---- set-up ---- */

/* Take memory for nbufs buffers, their data and the hash; boot_fail if it does
 * not fit. The hash has a power of two of buckets, at least one a buffer. */
static void reserve(u32 block_bytes, u64 nbufs)
{
    for (bcache.nbuckets = 1; bcache.nbuckets < nbufs; bcache.nbuckets *= 2)
        ;
    bcache.buckets = mem_reserve(bcache.nbuckets * sizeof *bcache.buckets);
    bcache.bufs = mem_reserve(nbufs * sizeof *bcache.bufs);
    bcache.ios = mem_reserve(nbufs * sizeof *bcache.ios);
    bcache.data = mem_reserve(nbufs * block_bytes);
    if (!bcache.buckets || !bcache.bufs || !bcache.ios || !bcache.data)
        boot_fail("nbuf=%lu: %lu KiB of buffers do not fit in the memory left",
                  nbufs, nbufs * block_bytes / 1024);
    memset(bcache.buckets, 0, bcache.nbuckets * sizeof *bcache.buckets);
}

/* Make the cache: nbuf= buffers, or as many as fill a quarter of the memory. */
void bio_init(u32 block_bytes)
{
    u64 def = MAX(BUFFERS_MIN, mem_total_pages() * PAGE_SIZE / 4 / block_bytes);
    bcache.nbufs = arg_number("nbuf", def, BUFFERS_MIN, 1UL << 32);
    bcache.block_bytes = block_bytes;
    bcache.ahead_most =
        bcache.nbufs * arg_number("prefetch_percent", 25, 0, 100) / 100;
    keep_freed = arg_number("keep_freed", 0, 0, 1);
    reserve(block_bytes, bcache.nbufs);
    list_init(&bcache.delayed);
    list_init(&bcache.pending);
    list_init(&bcache.writing);
    list_init(&bcache.ahead);
    for (u32 i = 0; i < MAX_DISKS; i++)
        list_init(&bcache.pinned[i]);
    wait_queue_init(&bcache.may_hold);
    for (u32 i = 0; i < OWNER_LISTS; i++)
        list_init(&bcache.owned[i]);
    replace_init();
    write_init();
}
