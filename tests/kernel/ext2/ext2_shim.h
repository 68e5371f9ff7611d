/*
 * The kernel beneath ext2, on the host: what ext2_shim.c provides to the
 * program that drives it (ext2_tool.c), besides the kernel's own interfaces.
 *
 * - Processes are fibres. One runs till it waits for a lock, or now and then
 *   where a transfer would take time; all waiting at once is a deadlock.
 * - A buffer's data is fresh memory each time it is held, so a use after its
 *   release is a use of freed memory. bdwrite delays; dirty buffers are
 *   written at random times, clean ones forgotten when there are too many.
 * - Every completed write can be kept in a log, to cut the power later.
 * - The n-th transfer to or from a disk, or the n-th page, can be refused.
 */
#ifndef SLUICE_EXT2_SHIM_H
#define SLUICE_EXT2_SHIM_H

#include "kernel/disk/disk.h"
#include "kernel/ext2/ext2.h"

struct shim_options {
    u64 seed;
    u32 block_bytes;    /* the cache's; 0: as the first image's superblock */
    u32 buffers;        /* kept when clean */
    u32 flush_permille; /* chance at a getblk that a dirty one is written */
    u32 far;            /* 1: indirect=far */
    u32 read_errors_permyriad, write_errors_permyriad;
    u32 through_permille; /* chance that file data is written through */
    u32 now_s;            /* the time; 0: it moves by itself */
    u32 ahead_most;       /* what bio_ahead_most says */
    u32 delays;           /* the order policy at first, of enum shim_order */
    /* The prefetch policy: */
    bool no_hints;                     /* it takes no hints */
    bool by_block;                     /* it wants a call's blocks one by one */
    const struct readahead *readahead; /* what it answers; NULL: at random */
    bool volatile_cache;               /* of the disks: see shim_cut */
    bool spin_switches; /* a turn may also end where a spin lock is taken */
    bool log;
    bool quiet; /* kprintf prints nothing */
};

extern struct shim_options shim;

u64 shim_random(u64 below);
/* The text that kprintf has printed since the last call: the first 4 KB. */
const char *shim_printed(void);
struct disk *shim_disk(const char *image); /* read into memory */
/* A disk whose contents are these bytes, which the disk owns from now on. */
struct disk *shim_disk_of(u8 *data, u64 bytes);
u8 *shim_bytes(struct disk *); /* what is on it */
/* Forget its buffers, dirty or not. */
void shim_forget(struct disk *);
/* Give the disk these contents. Its old contents are freed, and its buffers are
 * forgotten. */
void shim_insert(struct disk *, u8 *data, u64 bytes);
/* Give the disk a copy of these contents. The copy is made in the memory of the
 * old contents, because new memory costs more than the copy. */
void shim_refill(struct disk *, const u8 *data, u64 bytes);
void shim_save(struct disk *, const char *image);
/* The image after the first n writes of the log, and these sectors (a bit each)
 * of the next one. */
void shim_save_prefix(struct disk *, const char *image, u64 n, u32 sectors);
u64 shim_log_length(void);
u64 shim_writes_waited(void); /* bwrites so far */
/* Blocks that fill confirmed holes, so far; the last one, and the block of
 * metadata that waits for it. */
struct shim_wait {
    u64 blkno, meta;
};
u64 shim_waiting_blocks(void);
struct shim_wait shim_last_wait(void);
u64 shim_flushes(void);                  /* that succeeded so far */
u64 shim_looks(void);                    /* buffers that were asked for */
u64 shim_unflushed(const struct disk *); /* writes since its last disk_flush */

/* From now on, the n-th call of this kind fails; n 0: none. If `on`, all calls
 * after it fail, too. Only the disk's transfers and flushes count. */
enum shim_fault { FAULT_READ, FAULT_WRITE, FAULT_FLUSH, FAULT_PAGE, FAULTS };
void shim_fail(enum shim_fault, struct disk *, u64 n, bool on);
bool shim_failed(void); /* has the n-th call been made? */

/* The disk as a power cut would leave it now. Pending is each dirty block,
 * which may just have been written; and with volatile_cache, before those, each
 * write since the last flush, which may not be on the platters. Of a block that
 * was written several times the last write that is there counts. which 0:
 * nothing pending is there, 1: all; else chosen at random. */
void shim_cut(struct disk *, u8 *out, u32 which);
u32 shim_pending(struct disk *);
/* As shim_cut, but bit i of the mask says whether the i-th pending write is
 * there. At most 64 may be pending. */
void shim_cut_to(struct disk *, u8 *out, u64 mask);
/* As shim_cut, but in the midst of the last completed write: of the sectors
 * that it changed (shim_last_sectors, a bit each) only these are there. A
 * pending write that is chosen at random may be torn, too. */
u32 shim_last_sectors(struct disk *);
void shim_cut_torn(struct disk *, u8 *out, u32 sectors, u32 which);
/* Call fn for ways to tear the last completed write, if it changed more than
 * one sector: after each sector in ascending order, as a drive writes a
 * command's sectors; and SHIM_TEARS ways at random, for a drive that begins
 * where the platter happens to be. */
#define SHIM_TEARS 4
void shim_each_tear(struct disk *, void (*fn)(struct disk *, u32 sectors));
/* Called after every write that is waited for, and at every change. */
extern void (*shim_on_write)(struct disk *);
extern void (*shim_on_change)(struct disk *, u64 blkno);
bool shim_holds(const char *lock); /* does the process hold one so named? */

/* The calls of the cache about blocks, in order: a letter (a asked for with
 * another, w requested with another, p prefetched, u unwanted) and a number
 * each. The text is emptied by the call. */
const char *shim_told(void);
u64 shim_begun(void);             /* calls of readers_go_on */
u64 shim_ended(void);             /* calls of readers_end */
extern struct access shim_access; /* what the prefetch policy was shown */
/* Nothing may be held by the running fibre; panics with the place. */
void shim_check_idle(const char *where);
/* Run n fibres of fn(i) to their ends. If first_stops_at is 0, they take turns
 * at random. Else the first fibre runs up to its lock, buffer or write of that
 * number, then the others run, then the first again. False: the first has fewer
 * locks, buffers and writes. */
bool shim_fibres(u32 n, void (*fn)(u32 i), u64 first_stops_at);
/* User memory: reads and writes of it fail from this address on. */
#define SHIM_FAULT_NEVER (~0UL)
extern u64 shim_fault_at;

/* Put another order policy to use, as the registry would. From now on the one
 * in use answers wrongly. */
enum shim_order { ORDERS_NOW, ORDERS_NONE, ORDERS_LOGGED };
void shim_use_order(enum shim_order);
void shim_wrong_order(void);

#endif
