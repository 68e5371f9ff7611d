/*
 * The buffer cache: the one copy in memory of each disk block in use.
 * Names and meanings are the classical ones (Bach, "The Design of the UNIX
 * Operating System", chapter 3; Leffler et al., 4.3BSD, section 7.3).
 *
 * - A block has at most one buffer. getblk, bread, breada and bcached return it
 *   busy: the caller alone may touch it, until brelse, bwrite, bawrite or
 *   bdwrite lets it go and hands it to the process that has waited longest. A
 *   process holds at most BUFFERS_HELD at once.
 * - Dirty (delayed) means: on the delayed-write list exactly once, which is
 *   in the order of first dirtying. The timestamp is set when a clean buffer
 *   becomes dirty and not refreshed by further writes.
 * - A write error keeps the data dirty, is counted, and reaches the next
 *   bwrite, bflush_owner or bflush that waits for it. The block is tried again
 *   until there is no other room: lost.h says when it is given up, and who is
 *   told.
 * - All may sleep, none may be called with a spin lock held, except biodone.
 */
#pragma once

#include "kernel/disk/disk.h"
#include "kernel/proc/sleep.h"

#ifndef BUFFERS_HELD
#define BUFFERS_HELD 4 /* most a process may hold at once */
#endif
#define BUFFERS_MIN 16

/* A prefetched block that no program has asked for after this time is stale: it
 * may give way to another one. */
#define AHEAD_STALE_NS (10 * NS_PER_S)

/* The flags of a buffer; bcache.lock guards them. */
#define B_BUSY      0x01   /* held by a process, or in transfer */
#define B_ASKED     0x02   /* missed in a call for several; not yet used */
#define B_VALID     0x04   /* holds the block's contents */
#define B_DELWRI    0x08   /* dirty: to be written later */
#define B_PENDING   0x10   /* dirty and due: on the pending list */
#define B_READ      0x20   /* in transfer from the disk */
#define B_WRITE     0x40   /* in transfer to the disk */
#define B_ASYNC     0x80   /* released by the end of the transfer */
#define B_ERROR     0x100  /* the last transfer failed */
#define B_NOREUSE   0x200  /* its contents will not be wanted again */
#define B_AHEAD     0x400  /* prefetched, and not asked for yet */
#define B_EVICTABLE 0x800  /* the replace policy has it */
#define B_PINNED    0x1000 /* changed, and may not be written yet (bpin) */

struct flush;

/* Whole lines of the processor's cache, so that each buffer begins one. */
struct buf {
    /* bcache.lock. First what the hash compares, in one line of the
     * processor's cache. */
    struct disk *disk;
    struct buf *hash, **hashed; /* the next of its bucket; the
                                 pointer that leads here */
    u32 flags;
    struct block block;        /* what policies see: disk, blkno, times */
    struct wait_queue waiters; /* for the buffer, while it is busy */
    /* A link in the list of the buffer's state: dirty, in transfer to the disk,
     * or pinned; else, with B_AHEAD, in the list of prefetched blocks. */
    union {
        struct list dirty, ahead;
    };
    struct list owned;   /* while dirty: on its owner's list */
    u64 ahead_ns;        /* with B_AHEAD: when its read was started */
    struct flush *flush; /* the flush that waits for this write, or NULL */
    u64 write_number;    /* of its last write */
    /* The time since which its writes fail (0: they do not), and the time of
     * the next attempt. */
    u64 failed_ns, retry_ns;
    struct io *io; /* its transfer (buf_io), or NULL */
    /* for the process that holds the buffer */
    void *data; /* bio_block_bytes() */
};

/*
 * Make the cache: nbuf= buffers (a quarter of memory by default) of
 * block_bytes each. Stops the boot if memory does not suffice.
 */
void bio_init(u32 block_bytes);
u64 bio_buffers(void); /* in the cache */
u32 bio_block_bytes(void);

/* Return the block's buffer, busy, with contents that may not be valid: for a
 * block that is to be overwritten whole. */
struct buf *getblk(struct disk *, u64 blkno);

/* Return the block's buffer, busy and valid; NULL if the disk failed or blkno
 * is outside the disk (-EIO to the user). */
struct buf *bread(struct disk *, u64 blkno);

/* Further blocks to start reading together with a first one: those that the
 * same call of a program will ask for, and those to be prefetched. */
struct further_reads {
    const u64 *asked, *ahead;
    u32 nasked, nahead;
    bool separate; /* no command reads one of them and the first block */
    bool internal; /* the read is the file system's own, as bread's are */
};

/* Like bread, for a program that reads a file: the update policy is notified,
 * and the reads of the further blocks are started, too. */
struct buf *breada(struct disk *, u64 blkno, const struct further_reads *);

/* Return the buffer if the block is cached and no process has it; else NULL,
 * and the caller must call breada. Does not wait. *found is the state of the
 * block before this call. */
struct buf *bcached(struct disk *, u64 blkno, enum found *found);

/* Start reading the further blocks only; holds no buffer on return. */
void bstart(struct disk *, const struct further_reads *);

/* Prefetch these blocks, except those that are cached or for which no buffer is
 * free without writing one. Blocks that were prefetched and not asked for yet
 * fill bio_ahead_most() buffers at most: then a further one is prefetched only
 * in the place of one that is stale (AHEAD_STALE_NS). */
void bprefetch(struct disk *, const u64 *blkno, u32 n);
u64 bio_ahead_most(void);

/* Release a buffer that was not changed. If it was dirty, it stays dirty. */
void brelse(struct buf *);

/* Write the buffer's block, wait, and let the buffer go. Return 0 or -EIO. */
int bwrite(struct buf *);

/* Make the contents safe from a power cut, and let go: bwrite, or, if the write
 * policy says that the cache itself keeps them (keeps), bdwrite. 0 or -EIO. */
int bwrite_stable(struct buf *);

/* Start writing the buffer's block. Its end lets the buffer go. */
void bawrite(struct buf *);

/* Make the buffer dirty and let it go. bflush_owner flushes all blocks with an
 * equal owner; owner 0: the block belongs to no file. */
void bdwrite(struct buf *, u64 owner);

/* Let go of a changed buffer, which is not to be written yet: it is pinned
 * until bunpin, which makes all pinned buffers of a disk dirty, or binval. (A
 * buffer that waits for data is written from there: kernel/depend.) A
 * delayed write of it is cancelled, and it is changed by bpin only. Between
 * calls of them, bpinned_each shows blocks whose contents only their holders
 * change. bpinned: how many there are.
 */
void bpin(struct buf *, u64 owner);
void bunpin(struct disk *);
u64 bpinned(const struct disk *);
void bpinned_each(const struct disk *,
                  void (*fn)(void *arg, u64 blkno, const void *data),
                  void *arg);

/* Let go of a buffer of file data that was changed up to (not necessarily
 * from) its end if `filled`, as the write policy decides. 0 or -EIO. */
int bwrite_data(struct buf *, u64 owner, bool filled);

/* Make a block one of the next to be evicted, if it is cached and clean and no
 * process has it: it will not be read again soon. */
void bunwanted(struct disk *, u64 blkno);

/* Drop the contents of a block that belongs to nothing any more, and any
 * delayed write of them, unless the boot argument keep_freed keeps it. Waits
 * for a transfer under way. */
void binval(struct disk *, u64 blkno);

/* Drop every buffer of the disk; none may be dirty or held. For umount. */
void binval_disk(struct disk *);

/* biowait: wait for the end of a buffer's transfer. Return 0 or -EIO.
 * biodone: end a transfer, with 0 or -EIO. */
int biowait(struct buf *);
void biodone(struct io *, int error);

/* Write all that is dirty now, on one disk or (NULL) all, and wait. Return 0 or
 * -EIO. Then the disk has the data, and disk_flush makes them durable. */
int bflush(struct disk *);

/* Like bflush, for one owner's blocks; for metadata, or for all other blocks.
 */
int bflush_owner(struct disk *, u64 owner);
int bflush_kind(struct disk *, bool metadata);

/* Start writing blocks that have been dirty for at least age_ns, the oldest
 * first: move them to the pending list, then write that list. Takes time in
 * proportion to the blocks that are due. Returns their number. */
u64 bflush_smooth(struct disk *, u64 age_ns);

/* Start writing again the blocks whose writes failed and whose pauses have
 * ended. Returns when the next pause ends, or NEVER_NS. For the daemon. */
u64 bflush_retry(void);

/* Start the update daemon: it asks the update policy when to scan again, sleeps
 * until then, and has the policy scan. */
void updated_init(void);    /* owns the update kind */
void update_daemon(void *); /* the thread's function */

/* Counts for leak checks and the write policy. */
u64 bio_dirty(void);
u64 bio_busy(void);
