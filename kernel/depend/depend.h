/*
 * Metadata that waits for data: a block of metadata with a pointer to a new
 * block is not written before the new block has been, at first as zeros.
 *
 * It is the first rule of soft updates: never point to a block that is not
 * initialised (Ganger and Patt, "Metadata Update Performance in File Systems",
 * OSDI 1994). Soft updates leave a pointer out while they write the block that
 * has it. Here that block waits, as a whole.
 *
 * - ext2 asks for this only where a new block fills a hole whose zeros an fsync
 *   has confirmed, and only without a journal. If no program does so, nothing
 *   here runs.
 * - No program waits, except where it writes what has waited longest: after
 *   WAITS_MOST_NS, or if more than one of PINNED_PART buffers waits, or for
 *   more than NOTES_MOST blocks. Without memory for the notes, the program
 *   waits for the new block.
 * - A buffer that waits is pinned: no flush sees it, and no policy is asked. So
 *   what writes metadata calls the functions below in place of those of bio.h.
 * - A thread looks each LOOK_NS which of the new blocks have been written, by
 *   whatever policy. It flushes the drive's cache, if that is volatile, and
 *   starts the writes of what has waited for them.
 * - A new block whose write has failed counts as written, as in Linux's ext4 by
 *   default (data_err=ignore): nobody knows what the disk has there, and one
 *   bad sector shall not hold up the other files. So does one that was dropped.
 * - If the drive cannot flush its cache, what waits goes on waiting, and no
 *   further hole is filled when too much does.
 *
 * All may sleep.
 */
#pragma once

#include "kernel/cache/bio.h"

/* Have a new block of the owner's hold zeros, as a delayed write of data; the
 * block `meta` of metadata, which will point to it, waits for that from now on.
 * Caller has no buffer. 0 or -EIO: what must be
 * written first cannot be. */
int depend_zeros(struct disk *, u64 blkno, u64 owner, u64 meta);

/* Like bdwrite, for metadata. A block that waits for others is pinned. */
void depend_delay(struct buf *, u64 owner);

/* Like bwrite_stable, for metadata; new blocks are written first. 0 or -EIO. */
int depend_write(struct buf *);

/* After bflush_owner, or if owner is 0 bflush: write what has waited for the
 * data that these have written, and wait. 0 or -EIO. */
int depend_settle(struct disk *, u64 owner);

/* bflush of all of the disk, then depend_settle: what cannot be written keeps
 * nothing else from the disk. 0 or -EIO. */
int depend_flush(struct disk *);
