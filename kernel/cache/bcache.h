/*
 * The inside of the buffer cache, which the files of this room share; other
 * rooms see bio.h, except depend, which says when pinned buffers are written.
 * The head of bio.c has the states of a buffer and the invariants.
 *
 *   bio.c      the state of a buffer, its transfers, the interface
 *   ahead.c    reads that are started before they are waited for
 *   delayed.c  dirty buffers, candidate writes, how writes begin and end
 *   flush.c    which dirty buffers are written now
 *   pinned.c   buffers that may not be written yet
 *   lost.c     which programs learn of a delayed write that was given up
 *   replace.c  which buffer a block has or gets: asks the replace policy
 *   write.c    asks the write policy how a write goes on
 *   updated.c  asks the update policy when dirty blocks are written
 *
 * Not shared: prefetch.c asks the prefetch policy about the streams of open
 * files, and readers.c counts those of each disk (stream.h).
 *
 * bcache.lock guards all of this but a busy buffer's data.
 */
#pragma once

#include "kernel/cache/bio.h"
#include "kernel/base/stat.h"
#include "kernel/measure/trace.h"
#include "kernel/policy/registry.h"
#include "kernel/proc/proc.h"

/* The number of lists of dirty buffers, one for each hash of an owner; a power
 * of two. It is for the files that are written at one time, whatever the
 * cache's size. */
#ifndef OWNER_LISTS
#define OWNER_LISTS 1024
#endif

/* A flush that waits for its writes. */
struct flush {
    u64 started, outstanding;
    int error;
};

extern struct bcache {
    struct spinlock lock;
    u32 block_bytes;
    /* Buffers; buffers that have held a block; transfers ever used. */
    u64 nbufs, used, ios_used;
    struct buf *bufs;
    u8 *data; /* nbufs * block_bytes */
    /* As many transfers as buffers, so there is one for each. Transfers that
     * were given back are in a chain, the last one first. */
    struct io *ios, *free_ios;
    struct buf **buckets; /* nbuckets, a power of two */
    u64 nbuckets;
    struct list delayed, pending, writing;
    struct list pinned[MAX_DISKS];
    struct list ahead; /* prefetched, not asked for yet: the oldest first */
    struct list owned[OWNER_LISTS];
    u64 ndirty, nheld_back, nwriting, nbusy;
    u64 nfailed;             /* buffers whose last write failed: failed_ns */
    u64 npending[MAX_DISKS]; /* of each disk's, on the pending list */
    u64 npinned[MAX_DISKS];  /* on its list of pinned buffers */
    u64 nevictable;          /* buffers that are evictable and clean */
    u64 uses;                /* of buffers, by processes, ever */
    u64 nahead, ahead_most;  /* how many are on that list, and may be */
    u64 write_number;        /* of the last write started */
    /* Blocks that the policy's scan found due; write_number when it began. */
    u64 scan_started, scan_number;
    bool scanning;  /* a policy is scanning; write.c's lock guards it, too */
    bool releasing; /* it is the write policy, which now holds nothing back */
    struct wait_queue may_hold; /* processes that wait to become one */
    /* Processes that hold buffers; that wait for an evictable one. */
    u32 holders, waiting;
} bcache;

/* Every buffer that has ever held a block. */
#define BUF_EACH(b) \
    for (struct buf *b = bcache.bufs; b < bcache.bufs + bcache.used; b++)

static inline struct buf *buf_of(struct block *b)
{
    return CONTAINER(b, struct buf, block);
}

/* True if b is this disk's (NULL: any disk) and this owner's (0: any owner). */
static inline bool concerns(const struct buf *b, const struct disk *d,
                            u64 owner)
{
    return (!d || b->disk == d) && (!owner || b->block.owner == owner);
}

/* Return the state of the block whose buffer is b; NULL: no buffer has it. */
static inline enum found found_of(const struct buf *b)
{
    if (!b || !(b->flags & (B_VALID | B_READ)))
        return MISSING;
    return b->flags & B_READ ? COMING : CACHED;
}

/* Record an event of b's block, caused by the current process. */
static inline void trace_block(enum trace_event event, const struct buf *b,
                               u64 arg)
{
    trace(event, b->block.disk, b->block.blkno, myproc()->pid, arg);
}

/* trace_block at a time that the buffer or a histogram stores too, so that the
 * trace agrees with it. Caller holds the lock, and has traced nothing since
 * now_ns. */
static inline void trace_block_at(u64 now_ns, enum trace_event event,
                                  const struct buf *b, u64 arg)
{
    trace_at(now_ns, event, b->block.disk, b->block.blkno, myproc()->pid, arg);
}

/* True if the disk has a block with this number. */
static inline bool on_disk(const struct disk *d, u64 blkno)
{
    return blkno < d->nsectors / (bcache.block_bytes / SECTOR_BYTES);
}

/* ---- bio.c. For all of these the caller holds bcache.lock. ---- */

/* buf_take makes busy a buffer that no process has. buf_get takes any buffer;
 * it may wait in its queue, and the buffer still holds the block after that. */
void buf_take(struct buf *b);
void buf_get(struct buf *b);

/* Let go of a busy buffer: hand it to the first that waits, if any. */
void buf_let_go(struct buf *b);

/* The buffer's transfer, which it has until it is let go clean. */
struct io *buf_io(struct buf *b);

/* buf_set_io describes b's transfer: which block, which way, for which process.
 * buf_prepare also marks the buffer as in transfer; then the caller submits
 * b->io without the lock. */
void buf_set_io(struct buf *b, bool write, bool waited);
void buf_prepare(struct buf *b, u32 direction, bool waited);

void count_misses(u64 n); /* n blocks were not found in the cache */

void buf_unhold(void); /* the process has let go of a buffer */

/* ---- ahead.c ---- */

/* If b was prefetched and not asked for yet: count that it is asked for now, or
 * that it never will be. Caller holds bcache.lock. */
void end_ahead(struct buf *b, bool asked);
/* If b was prefetched, end that: asked says whether the block was asked for. */
static inline void settle_ahead(struct buf *b, bool asked)
{
    if (b->flags & B_AHEAD)
        end_ahead(b, asked);
}

void start_further(struct disk *,
                   const struct further_reads *); /* without the lock */

/* ---- delayed.c. For all of these the caller holds bcache.lock. ---- */

void delayed_state(struct cache_state *); /* what is counted here */
struct list *owner_list(u64 owner); /* where its dirty buffers are, by owned */

/* Set or clear the time since which a buffer is dirty, when it is let go: now,
 * if it was clean before. */
void set_dirtied(struct buf *b);

/* Make a dirty buffer a candidate write of the scheduler's. Prepare the
 * candidate that it has chosen, if the buffer is still dirty and free. */
void buf_add_candidate(struct buf *b);
bool reserve_candidate(struct io *, const struct disk *);

/* Prepare the write of a busy buffer; the caller submits b->io without the
 * lock. End a write. */
u64 buf_prepare_write(struct buf *b, bool waited);
void write_ended(struct buf *b, int error);

/* Make the block this owner's from now on, as metadata or as data. */
void set_owner(struct buf *b, u64 owner, bool meta);

void set_held_back(struct buf *b, bool held_back);

/* Take a dirty buffer off all lists of dirty buffers. */
void undelay(struct buf *b);

/* Note that the buffer's write failed at now_ns; with 0, that it was written or
 * its data dropped. */
void set_failed(struct buf *b, u64 now_ns);

/* True if the last write failed and the pause before the next is not over. */
static inline bool in_pause(const struct buf *b, u64 now_ns)
{
    return b->flags & B_ERROR && b->failed_ns && b->retry_ns > now_ns;
}

/* ---- delayed.c, without the lock ---- */

/* Mark a busy buffer dirty, record its owner, and release it. If it was dirty
 * already, count an absorbed write. */
void make_dirty(struct buf *b, u64 owner, bool meta, bool held_back);

/* ---- pinned.c. Caller holds bcache.lock. ---- */

/* Take the pin from a buffer that the calling process has. */
void unpin(struct buf *b);

/* ---- replace.c. For all of these the caller holds bcache.lock. ---- */

/* Return the block's bucket, by multiplicative hashing (Knuth, volume 3,
 * section 6.4). The disk's number is above every block's, and the factor is
 * odd, so equal blocks of two disks are never in one bucket. */
static inline struct buf **buf_bucket(u32 disk, u64 blkno)
{
    u64 mixed = (blkno ^ (u64)disk << 32) * 0x9e3779b97f4a7c15UL;
    return &bcache.buckets[(mixed >> 32) & (bcache.nbuckets - 1)];
}

/* Return the block's buffer, or NULL if none has the block. */
static inline struct buf *buf_lookup(const struct disk *d, u64 blkno)
{
    struct buf *b = *buf_bucket(d->id, blkno);
    while (b && (b->block.blkno != blkno || b->disk != d))
        b = b->hash;
    return b;
}

/* buf_allocate returns a buffer for a block that is not cached: one that was
 * never used, or a victim's. NULL: there is none, or the victim is *dirty.
 * buf_assign gives the buffer its block, busy. */
struct buf *buf_allocate(const struct disk *, u64 blkno, struct buf **dirty);
void buf_assign(struct buf *b, struct disk *, u64 blkno);

struct buf *buf_evict(struct buf *b); /* an evictable buffer loses its block */

void replace_init(void); /* without the lock: owns the replace kind */

/* True if the policy has this buffer while it is not busy: it is not pinned,
 * and clean, unless the policy takes dirty ones whose write has not failed. */
static inline bool may_go(const struct buf *b)
{
    const struct policy *p = policy_in_use[POLICY_REPLACE];
    bool takes = p->replace.takes_dirty && !(b->flags & B_ERROR);
    return !(b->flags & B_PINNED) && (takes || !(b->flags & B_DELWRI));
}

/* Give a buffer that is not busy any more to the policy, if the policy may have
 * it. Take a buffer that the policy has from it. */
void make_evictable(struct buf *b);
void make_not_evictable(struct buf *b);

/* ---- write.c ---- */

void write_init(void); /* owns the write kind */

/* Start writing the oldest dirty blocks, and wait until a buffer may have
 * become evictable. Caller holds bcache.lock, which is released meanwhile. */
void make_room(void);

/* True if the policy holds back this dirty buffer's asynchronous write, which
 * the update policy starts or which makes room. `before` writes are about to be
 * queued ahead of it. Caller holds bcache.lock. */
bool write_holds_back(struct buf *b, u64 before);

/* True if the cache is non-volatile. */
bool write_keeps(void);

/* True if the policy wants a call of write_second each second. write_second
 * may sleep. */
bool write_wants_seconds(void);
void write_second(u64 now_ns);

/* Note that a scan begins or ends: the policy is checked only outside scans.
 * Caller holds bcache.lock. */
void write_scan(bool begins);

/* ---- updated.c ---- */

/* Have the daemon ask its policies again when to scan. */
void update_ask_again(void);

/* Tell the policy that b has become dirty; that dirty b is about to be written
 * or dropped; that a program reads b, whose contents were cached (hit) or not.
 * Caller holds bcache.lock. */
void update_dirtied(struct buf *b);
void update_leaves(struct buf *b);
/* Notify the update policy that a read wants b; hit: it was in the cache. */
static inline void update_wanted(const struct buf *b, bool hit)
{
    const struct policy *p = policy_in_use[POLICY_UPDATE];
    if (p && p->update.wanted)
        p->update.wanted(&b->block, hit);
}

/* Put an update policy to use, with the dirty blocks handed to it. */
void update_switch(const struct policy *to);

/* Enclose a policy's scan by these two: its flush_ calls try no block twice,
 * and policies are checked when the scan ends. scan_ends returns how many
 * writes the scan has started. */
void scan_begins(void);
u64 scan_ends(void);

/* ---- flush.c ---- */

/* Count a burst of writes that have been started at once. */
void bio_burst(const struct disk *, u64 blocks);
