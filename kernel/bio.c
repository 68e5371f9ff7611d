/*
 * The buffer cache (bio.h). A buffer's life:
 *
 *   free      holds no block                       (at boot; claim)
 *   busy      one process has it, or a transfer    (getblk)
 *   clean     let go, equal to the disk            (brelse, biodone)
 *   dirty     let go, newer than the disk: delayed (bdwrite)
 *   pending   dirty and due                        (bflush_smooth)
 *   writing   in transfer, off both lists          (start_write)
 *   clean     or dirty again if the write failed   (biodone)
 *
 * Invariants
 * - A block has at most one buffer, found by the hash; its cost does not grow
 *   with the cache.
 * - B_DELWRI: on the delayed-write list, or with B_PENDING on the pending
 *   list, exactly once. dirtied_ns is set when the buffer is let go dirty for
 *   the first time, so the delayed-write list is in the order of age and a
 *   scan for what is due stops at the first that is not.
 * - B_EVICTABLE: clean, nobody has it, not in transfer; exactly then it is
 *   with the replace policy, and only then may it be a victim.
 * - No deadlock: a process begins to hold buffers only while holders times
 *   BUFFERS_HELD fit the cache, and transfers end by themselves.
 *
 * bcache.lock guards all of it but a busy buffer's data.
 */
#include "kernel/bio.h"
#include "kernel/abi.h"
#include "kernel/args.h"
#include "kernel/hist.h"
#include "kernel/mem.h"
#include "kernel/place.h"
#include "kernel/print.h"
#include "kernel/proc.h"
#include "kernel/registry.h"
#include "kernel/stat.h"
#include "kernel/string.h"
#include "kernel/trace.h"

#define OWNER_LISTS 1024 /* of dirty buffers, by owner; a power of two */
#define BATCH       64   /* writes started under one plug */

/* Somebody who waits for a set of writes. */
struct flush {
    u64 started, outstanding;
    int error;
};

static struct {
    struct spinlock lock;
    u32 block_bytes;
    u64 nbufs, used; /* buffers; of them, that have ever held a block */
    struct buf *bufs;
    u8 *data;             /* nbufs * block_bytes */
    struct buf **buckets; /* nbuckets, a power of two */
    u64 nbuckets;
    struct list delayed, pending, writing;
    struct list owned[OWNER_LISTS];
    u64 ndirty, nwriting, nbusy, nevictable;
    u64 write_number; /* of the last write started */
    u32 holders;      /* processes that hold buffers */
    u32 waiting;      /* processes that wait for an evictable buffer */
} bcache;

static struct spinlock write_lock; /* the write policy's answers and swap */

COUNTER(hits, "bio.hits", "blocks", "found in the cache");
COUNTER(misses, "bio.misses", "blocks", "not found in the cache");
COUNTER(evictions, "bio.evictions", "blocks", "clean blocks that gave way");
COUNTER(ahead, "bio.ahead", "blocks", "reads started ahead");
COUNTER(dirtied, "bio.dirtied", "blocks", "clean to dirty");
COUNTER(absorbed, "bio.absorbed", "blocks", "dirty blocks modified again");
COUNTER(cancelled, "bio.cancelled", "blocks", "dirty blocks freed unwritten");
COUNTER(written, "bio.written", "blocks", "writes started");
COUNTER(smooth, "bio.smooth_due", "blocks", "found due by bflush_smooth");
COUNTER(no_clean, "bio.no_clean", "times", "no clean buffer was left");
COUNTER(write_errors, "bio.write_errors", "blocks", "writes that failed");
COUNTER(lost, "bio.lost", "blocks", "unwritable blocks given up for room");

HISTOGRAM(age_written, "bio.age_written", "ns",
          "age of a dirty block when its writing starts");
HISTOGRAM(burst, "bio.burst", "blocks", "that a flush or tick started");

static u64 gauge_buffers(void)
{
    return bcache.nbufs;
}

GAUGE(buffers_gauge, "bio.buffers", "buffers", "in the cache", gauge_buffers);
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

u32 bio_block_bytes(void)
{
    return bcache.block_bytes;
}

static struct buf *buf_of(struct block *b)
{
    return CONTAINER(b, struct buf, block);
}

static void trace_block(enum trace_event event, const struct buf *b, u64 arg)
{
    trace(event, b->block.disk, b->block.blkno, myproc()->pid, arg);
}

/* Is b one of this disk's (NULL: any) and this owner's (0: any)? */
static bool concerns(const struct buf *b, const struct disk *d, u64 owner)
{
    return (!d || b->disk == d) && (!owner || b->block.owner == owner);
}

/* ---- the hash ---- */

static struct buf **bucket(u32 disk, u64 blkno)
{
    u64 mixed = (blkno ^ (u64)disk << 56) * 0x9e3779b97f4a7c15UL;
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

/* ---- the replace policy ---- */

static const struct replace_hooks *replace(void)
{
    return &policy_in_use[POLICY_REPLACE]->replace;
}

static void make_evictable(struct buf *b)
{
    b->flags |= B_EVICTABLE;
    bcache.nevictable++;
    replace()->insert(&b->block, !(b->flags & B_NOREUSE));
}

static void make_not_evictable(struct buf *b)
{
    b->flags &= ~B_EVICTABLE;
    bcache.nevictable--;
    replace()->remove(&b->block);
}

/* Is this pointer, which a policy gave, an evictable buffer's? */
static bool is_evictable(const struct block *v)
{
    u64 offset = (u64)v - (u64)bcache.bufs;
    return (u64)v >= (u64)bcache.bufs &&
           offset % sizeof *bcache.bufs == offsetof(struct buf, block) &&
           offset / sizeof *bcache.bufs < bcache.used &&
           bcache.bufs[offset / sizeof *bcache.bufs].flags & B_EVICTABLE;
}

/* Hand an evictable buffer to a policy that has just started. */
static void hand_over(struct block *v)
{
    buf_of(v)->flags |= B_EVICTABLE;
    replace()->insert(v, true);
}

/* Take every evictable buffer from the policy in use, in its order as long as
 * its answers are good (if it is trusted), and hand all to the next; those it
 * did not give come first. Caller holds the lock. */
static void replace_switch(const struct policy *to, bool trust)
{
    struct list order, *n;
    struct block *v;
    list_init(&order);
    while (trust && (v = replace()->victim()) && is_evictable(v)) {
        replace()->remove(v);
        buf_of(v)->flags &= ~B_EVICTABLE;
        list_push_back(&order, &v->link);
    }
    policy_switch(to);
    for (u64 i = 0; i < bcache.used; i++) {
        struct block *b = &bcache.bufs[i].block;
        b->word[0] = b->word[1] = 0;
        if (bcache.bufs[i].flags & B_EVICTABLE)
            hand_over(b);
    }
    while ((n = list_pop_front(&order)))
        hand_over(LIST_ITEM(n, struct block, link));
}

static void replace_swap(const struct policy *to)
{
    spin_lock(&bcache.lock);
    replace_switch(to, policy_in_use[POLICY_REPLACE] != NULL);
    spin_unlock(&bcache.lock);
}

static struct buf *victim(void)
{
    if (!bcache.nevictable)
        return NULL;
    struct block *v = replace()->victim();
    if (!is_evictable(v)) {
        replace_switch(
            policy_fault(POLICY_REPLACE, "victim returned no evictable buffer"),
            false);
        v = replace()->victim();
    }
    make_not_evictable(buf_of(v));
    return buf_of(v);
}

/* A buffer that holds no block: never used, or a victim; NULL if there is
 * none. Caller holds the lock. */
static struct buf *claim(void)
{
    if (bcache.used < bcache.nbufs) {
        struct buf *b = &bcache.bufs[bcache.used];
        memset(b, 0, sizeof *b);
        b->data = bcache.data + bcache.used * bcache.block_bytes;
        bcache.used++;
        return b;
    }
    struct buf *b = victim();
    if (!b)
        return NULL;
    count(&evictions, 1);
    trace_block(TRACE_evicted, b, 0);
    if (replace()->evicted)
        replace()->evicted(&b->block);
    hash_remove(b);
    return b;
}

/* Give a claimed buffer its block, busy. Caller holds the lock. */
static void assign(struct buf *b, struct disk *d, u64 blkno)
{
    b->block = (struct block){.disk = d->id, .blkno = blkno};
    b->disk = d;
    b->flags = B_BUSY;
    bcache.nbusy++;
    hash_insert(b);
}

/* Make a buffer that nobody has busy. Caller holds the lock. */
static void take(struct buf *b)
{
    if (b->flags & B_EVICTABLE)
        make_not_evictable(b);
    b->flags |= B_BUSY;
    b->flags &= ~B_NOREUSE;
    bcache.nbusy++;
}

/* Sleep until somebody lets go of b, which may then hold another block. */
static void wait_not_busy(struct buf *b)
{
    b->flags |= B_WANTED;
    sleep_on(b, &bcache.lock);
}

/* ---- dirty buffers. Caller holds the lock. ---- */

static struct list *owner_list(u64 owner)
{
    u64 mixed = owner * 0x9e3779b97f4a7c15UL;
    return &bcache.owned[(mixed >> 32) & (OWNER_LISTS - 1)];
}

/* Put a buffer on the delayed-write list, in the order of dirtied_ns: at the
 * end, but for one whose write has failed, which keeps its old time. */
static void delay(struct buf *b)
{
    struct list *at = &bcache.delayed;
    while (at->prev != &bcache.delayed &&
           LIST_ITEM(at->prev, struct buf, dirty)->block.dirtied_ns >
               b->block.dirtied_ns)
        at = at->prev;
    list_insert_before(at, &b->dirty);
    list_push_back(owner_list(b->block.owner), &b->owned);
    bcache.ndirty++;
}

static void undelay(struct buf *b)
{
    list_remove(&b->dirty);
    list_remove(&b->owned);
    b->flags &= ~(B_DELWRI | B_PENDING);
    bcache.ndirty--;
}

static void let_go(struct buf *b)
{
    if (!(b->flags & B_DELWRI)) {
        b->block.dirtied_ns = 0;
    } else if (!b->block.dirtied_ns) {
        b->block.dirtied_ns = clock_ns();
        count(&dirtied, 1);
        trace_block(TRACE_dirtied, b, b->block.owner);
        delay(b);
    }
    if (b->flags & B_WANTED)
        wakeup(b);
    b->flags &= ~(B_BUSY | B_WANTED | B_ASYNC);
    bcache.nbusy--;
    if (!(b->flags & B_DELWRI))
        make_evictable(b);
    if (bcache.waiting)
        wakeup(&bcache.nevictable);
}

/* ---- transfers ---- */

/* Make b's transfer ready: the caller submits it, without the lock. */
static void prepare(struct buf *b, u32 direction, bool waited)
{
    u32 sectors = bcache.block_bytes / SECTOR_BYTES;
    bool write = direction == B_WRITE;
    u64 physical =
        place_physical(b->disk, b->block.blkno, bcache.block_bytes, write);
    b->flags &= ~B_ERROR;
    b->flags |= direction | (waited ? 0 : B_ASYNC);
    b->io = (struct io){
        .request = {.sector = physical * sectors,
                    .nsectors = sectors,
                    .write = write,
                    .waited = waited,
                    .pid = myproc()->pid},
        .data = b->data,
        .done = biodone,
    };
}

static void prepare_write(struct buf *b, bool waited)
{
    if (b->block.dirtied_ns) {
        hist_add(&age_written, 0, clock_ns() - b->block.dirtied_ns);
        undelay(b);
    }
    b->flags &= ~B_DELWRI;
    b->write_number = ++bcache.write_number;
    list_push_back(&bcache.writing, &b->dirty);
    bcache.nwriting++;
    count(&written, 1);
    prepare(b, B_WRITE, waited);
}

/* The write of b failed: it is dirty again, as old as it was. */
static void write_failed(struct buf *b)
{
    count(&write_errors, 1);
    b->flags |= B_DELWRI | B_VALID;
    if (!b->block.dirtied_ns)
        b->block.dirtied_ns = clock_ns();
    delay(b);
}

static void write_ended(struct buf *b, int error)
{
    list_remove(&b->dirty);
    bcache.nwriting--;
    if (error)
        write_failed(b);
    else
        b->block.dirtied_ns = 0;
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
    spin_lock(&bcache.lock);
    if (b->flags & B_WRITE)
        write_ended(b, error);
    else if (!error)
        b->flags |= B_VALID;
    b->flags &= ~(B_READ | B_WRITE);
    if (error)
        b->flags |= B_ERROR;
    wakeup(&b->io);
    if (b->flags & B_ASYNC)
        let_go(b);
    spin_unlock(&bcache.lock);
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
    spin_lock(&bcache.lock);
    int error = wait_transfer(b);
    spin_unlock(&bcache.lock);
    return error;
}

/* ---- holding ---- */

static bool on_disk(const struct disk *d, u64 blkno)
{
    return blkno < d->nsectors / (bcache.block_bytes / SECTOR_BYTES);
}

/* The current process is about to hold one more buffer. A first one waits
 * until all holders together fit the cache. Caller holds the lock. */
static void hold(void)
{
    struct proc *p = myproc();
    while (!p->buffers_held && bcache.holders >= bcache.nbufs / BUFFERS_HELD)
        sleep_on(&bcache.holders, &bcache.lock);
    assert(p->buffers_held < BUFFERS_HELD);
    if (!p->buffers_held++)
        bcache.holders++;
}

static void unhold(void)
{
    struct proc *p = myproc();
    assert(p->buffers_held);
    if (--p->buffers_held)
        return;
    bcache.holders--;
    wakeup(&bcache.holders);
}

/* ---- when no clean buffer is left ---- */

/* How many of the oldest dirty blocks to write now. */
static u64 ask_no_clean(u64 dirty)
{
    u64 n = MAX(1, MIN(dirty, bcache.nbufs / 16));
    spin_lock(&write_lock);
    const struct policy *p = policy_in_use[POLICY_WRITE];
    if (p->write.no_clean) {
        u64 answer = p->write.no_clean(dirty, bcache.nbufs);
        if (answer >= 1 && answer <= dirty)
            n = answer;
        else
            policy_switch(
                policy_fault(POLICY_WRITE, "no_clean: not from 1 to dirty"));
    }
    spin_unlock(&write_lock);
    return n;
}

/* Start up to n writes of the oldest on the list that are not busy and can be
 * written. Caller holds the lock, which is released meanwhile. */
static u64 start_oldest(struct list *l, u64 n)
{
    struct io *batch = NULL;
    u64 started = 0;
    for (struct list *i = l->next, *next; i != l && started < n; i = next) {
        struct buf *b = LIST_ITEM(i, struct buf, dirty);
        next = i->next;
        if (b->flags & (B_BUSY | B_ERROR))
            continue;
        take(b);
        prepare_write(b, false);
        b->io.joined = batch;
        batch = &b->io;
        started++;
    }
    spin_unlock(&bcache.lock);
    for (struct io *io = batch, *next; io; io = next) {
        next = io->joined;
        disk_submit(CONTAINER(io, struct buf, io)->disk, io);
    }
    spin_lock(&bcache.lock);
    return started;
}

/* Only unwritable blocks are left: give up the oldest, if it is so. */
static void give_up_one(void)
{
    LIST_EACH (n, &bcache.delayed) {
        struct buf *b = LIST_ITEM(n, struct buf, dirty);
        if (b->flags & B_BUSY || !(b->flags & B_ERROR))
            continue;
        kprintf("bio: %s: block %lu cannot be written and is lost\n",
                b->disk->name, b->block.blkno);
        count(&lost, 1);
        take(b);
        undelay(b);
        b->flags &= ~B_VALID;
        let_go(b);
        return;
    }
}

/*
 * Have a buffer become evictable: the oldest dirty ones are written, or
 * somebody lets go of one. Of all buffers at least one is not held by a
 * process (see hold), so it is in transfer, or dirty and can be written here,
 * or given up: the wait is for something that happens. Caller holds the lock.
 */
static void make_room(void)
{
    count(&no_clean, 1);
    if (bcache.ndirty && !bcache.nwriting) {
        u64 n = ask_no_clean(bcache.ndirty);
        if (!start_oldest(&bcache.pending, n) &&
            !start_oldest(&bcache.delayed, n))
            give_up_one();
    }
    if (bcache.nevictable)
        return;
    bcache.waiting++;
    sleep_on(&bcache.nevictable, &bcache.lock);
    bcache.waiting--;
}

/* ---- the interface ---- */

struct buf *getblk(struct disk *d, u64 blkno)
{
    struct buf *b;
    assert(on_disk(d, blkno));
    spin_lock(&bcache.lock);
    hold();
    for (;;) {
        if ((b = lookup(d, blkno))) {
            if (!(b->flags & B_BUSY)) {
                count(&hits, 1);
                trace_block(TRACE_hit, b, 0);
                take(b);
                break;
            }
            wait_not_busy(b);
        } else if ((b = claim())) {
            count(&misses, 1);
            assign(b, d, blkno);
            trace_block(TRACE_miss, b, 0);
            break;
        } else {
            make_room();
        }
    }
    b->flags &= ~B_AHEAD;
    spin_unlock(&bcache.lock);
    return b;
}

struct buf *breada(struct disk *d, u64 blkno, const u64 *more, u32 n)
{
    if (!on_disk(d, blkno))
        return NULL;
    struct buf *b = getblk(d, blkno);
    bool valid = b->flags & B_VALID;
    if (valid && !n)
        return b;
    disk_plug(d);
    if (!valid) {
        spin_lock(&bcache.lock);
        prepare(b, B_READ, true);
        spin_unlock(&bcache.lock);
        disk_submit(d, &b->io);
    }
    for (u32 i = 0; i < n; i++)
        bprefetch(d, more[i]);
    disk_unplug(d);
    if (valid || !biowait(b))
        return b;
    brelse(b);
    return NULL;
}

struct buf *bread(struct disk *d, u64 blkno)
{
    return breada(d, blkno, NULL, 0);
}

void bprefetch(struct disk *d, u64 blkno)
{
    struct buf *b = NULL;
    spin_lock(&bcache.lock);
    if (on_disk(d, blkno) && !lookup(d, blkno) && (b = claim())) {
        assign(b, d, blkno);
        count(&ahead, 1);
        trace_block(TRACE_ahead, b, 0);
        b->flags |= B_AHEAD;
        prepare(b, B_READ, false);
    }
    spin_unlock(&bcache.lock);
    if (b)
        disk_submit(d, &b->io);
}

void brelse(struct buf *b)
{
    spin_lock(&bcache.lock);
    let_go(b);
    unhold();
    spin_unlock(&bcache.lock);
}

int bwrite(struct buf *b)
{
    spin_lock(&bcache.lock);
    b->flags |= B_VALID;
    prepare_write(b, true);
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
    prepare_write(b, false);
    unhold();
    spin_unlock(&bcache.lock);
    disk_submit(b->disk, &b->io);
}

/* The block belongs to this owner from now on. Caller holds the lock. */
static void set_owner(struct buf *b, u64 owner, bool meta)
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

void bdwrite(struct buf *b, u64 owner)
{
    spin_lock(&bcache.lock);
    set_owner(b, owner, true);
    if (b->flags & B_DELWRI) {
        count(&absorbed, 1);
        trace_block(TRACE_absorbed, b, owner);
    }
    b->flags |= B_DELWRI | B_VALID;
    let_go(b);
    unhold();
    spin_unlock(&bcache.lock);
}

int bwrite_data(struct buf *b, u64 owner, bool filled)
{
    struct write_info info = {.disk = b->block.disk,
                              .blkno = b->block.blkno,
                              .filled = filled,
                              .dirty = bcache.ndirty,
                              .buffers = bcache.nbufs,
                              .now_ns = clock_ns()};
    spin_lock(&write_lock);
    enum write_mode mode = policy_in_use[POLICY_WRITE]->write.decide(&info);
    if (mode > WRITE_DELAYED) {
        policy_switch(policy_fault(POLICY_WRITE, "decide: no such mode"));
        mode = WRITE_DELAYED;
    }
    spin_unlock(&write_lock);
    if (mode == WRITE_DELAYED) {
        bdwrite(b, owner);
        return 0;
    }
    spin_lock(&bcache.lock);
    set_owner(b, owner, false);
    spin_unlock(&bcache.lock);
    if (mode == WRITE_THROUGH)
        return bwrite(b);
    bawrite(b);
    return 0;
}

/* Drop what a buffer that nobody has holds. Caller holds the lock. */
static void invalidate(struct buf *b)
{
    take(b);
    if (b->block.dirtied_ns) {
        undelay(b);
        count(&cancelled, 1);
        trace_block(TRACE_cancelled, b, 0);
    }
    b->flags &= ~(B_VALID | B_ERROR);
    b->flags |= B_NOREUSE;
    b->block.owner = 0;
    let_go(b);
}

void binval(struct disk *d, u64 blkno)
{
    struct buf *b;
    spin_lock(&bcache.lock);
    while ((b = lookup(d, blkno)) && b->flags & B_BUSY)
        wait_not_busy(b);
    if (b)
        invalidate(b);
    spin_unlock(&bcache.lock);
}

void binval_disk(struct disk *d)
{
    spin_lock(&bcache.lock);
    for (u64 i = 0; i < bcache.used; i++) {
        struct buf *b = &bcache.bufs[i];
        while (b->disk == d && b->flags & B_BUSY)
            wait_not_busy(b);
        if (b->disk == d)
            invalidate(b);
    }
    spin_unlock(&bcache.lock);
}

/* ---- flushing ---- */

/* Wait for the writes that others had started by now. Caller holds the
 * lock. */
static void wait_writing(struct disk *d, u64 owner)
{
    u64 last = bcache.write_number;
    for (struct list *n = bcache.writing.next; n != &bcache.writing;) {
        struct buf *b = LIST_ITEM(n, struct buf, dirty);
        if (b->write_number > last)
            return;
        n = n->next;
        if (concerns(b, d, owner)) {
            sleep_on(&b->io, &bcache.lock);
            n = bcache.writing.next;
        }
    }
}

/* Which dirty buffers a flush is about. */
struct wanted {
    struct disk *disk;   /* NULL: any */
    u64 owner;           /* 0: any */
    u64 before_ns;       /* dirty at that time */
    u64 last_write;      /* and not tried by a later write than this */
    struct flush *flush; /* who waits for them, or NULL */
};

static bool is_wanted(const struct buf *b, const struct wanted *w)
{
    return concerns(b, w->disk, w->owner) &&
           b->block.dirtied_ns <= w->before_ns &&
           b->write_number <= w->last_write;
}

/* Submit the transfers of n prepared buffers, each disk's together. */
static void submit(struct buf **batch, u32 n)
{
    for (u32 i = 0; i < n; i++) {
        struct disk *d = batch[i]->disk;
        if (!i || batch[i - 1]->disk != d)
            disk_plug(d);
        bool last = i + 1 == n || batch[i + 1]->disk != d;
        disk_submit(d, &batch[i]->io);
        if (last)
            disk_unplug(d);
    }
}

/* Start, up to a batch of them, the writes of those on the list that are
 * wanted; one that is busy is waited for. False when there are none left.
 * Caller holds the lock, which is released meanwhile. */
static bool start_batch(struct list *l, bool by_owner, const struct wanted *w)
{
    struct buf *batch[BATCH];
    u32 n = 0;
    for (struct list *i = l->next, *next; i != l && n < BATCH; i = next) {
        struct buf *b = by_owner ? LIST_ITEM(i, struct buf, owned)
                                 : LIST_ITEM(i, struct buf, dirty);
        next = i->next;
        if (!is_wanted(b, w))
            continue;
        if (b->flags & B_BUSY) {
            if (n)
                break;
            wait_not_busy(b);
            return true;
        }
        take(b);
        prepare_write(b, false);
        b->flush = w->flush;
        if (w->flush) {
            w->flush->started++;
            w->flush->outstanding++;
        }
        batch[n++] = b;
    }
    if (!n)
        return false;
    spin_unlock(&bcache.lock);
    submit(batch, n);
    spin_lock(&bcache.lock);
    return true;
}

static void count_burst(const struct disk *d, u64 blocks)
{
    if (!blocks)
        return;
    hist_add(&burst, 0, blocks);
    trace(TRACE_flush, d ? d->id : 0, 0, myproc()->pid, blocks);
}

static int flush(struct disk *d, u64 owner)
{
    struct flush f = {0};
    struct wanted w = {d, owner, clock_ns(), 0, &f};
    spin_lock(&bcache.lock);
    w.last_write = bcache.write_number;
    wait_writing(d, owner);
    if (owner) {
        while (start_batch(owner_list(owner), true, &w))
            ;
    } else {
        while (start_batch(&bcache.pending, false, &w) ||
               start_batch(&bcache.delayed, false, &w))
            ;
    }
    while (f.outstanding)
        sleep_on(&f, &bcache.lock);
    spin_unlock(&bcache.lock);
    count_burst(d, f.started);
    return f.error;
}

int bflush(struct disk *d)
{
    return flush(d, 0);
}

int bflush_owner(struct disk *d, u64 owner)
{
    return flush(d, owner);
}

u64 bflush_smooth(struct disk *d, u64 age)
{
    u64 now_ns = clock_ns(), n = 0;
    struct wanted due = {d, 0, now_ns > age ? now_ns - age : 0, 0, NULL};
    spin_lock(&bcache.lock);
    due.last_write = bcache.write_number;
    for (struct list *i = bcache.delayed.next, *next; i != &bcache.delayed;
         i = next) {
        struct buf *b = LIST_ITEM(i, struct buf, dirty);
        next = i->next;
        if (b->block.dirtied_ns > due.before_ns)
            break;
        if (!concerns(b, d, 0))
            continue;
        b->flags |= B_PENDING;
        list_remove(i);
        list_push_back(&bcache.pending, i);
        n++;
    }
    while (start_batch(&bcache.pending, false, &due))
        ;
    spin_unlock(&bcache.lock);
    count(&smooth, n);
    count_burst(d, n);
    return n;
}

/* ---- set-up ---- */

static void write_swap(const struct policy *to)
{
    spin_lock(&write_lock);
    policy_switch(to);
    spin_unlock(&write_lock);
}

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
    reserve(block_bytes, bcache.nbufs);
    hist_init(&age_written, 1);
    hist_init(&burst, 1);
    bcache.lock = SPINLOCK("bcache", RANK_BIO);
    write_lock = SPINLOCK("write policy", RANK_POLICY);
    list_init(&bcache.delayed);
    list_init(&bcache.pending);
    list_init(&bcache.writing);
    for (u32 i = 0; i < OWNER_LISTS; i++)
        list_init(&bcache.owned[i]);
    policy_own(POLICY_REPLACE, replace_swap);
    policy_own(POLICY_WRITE, write_swap);
}
