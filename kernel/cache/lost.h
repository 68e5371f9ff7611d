/*
 * Which programs learn that a delayed write was lost.
 *
 * The program that wrote a block has gone on, and may have ended, when the
 * write of the block fails. So the cache keeps the data and tries again, after
 * pauses that double from RETRY_NS to RETRY_MOST_NS: a disk that is full or
 * unplugged may come back. As long as a block is dirty, each fsync of its file
 * and each sync tries it too, and returns -EIO if that fails.
 *
 * A block is given up only if the cache has no other room, and if its writes
 * have failed for GIVE_UP_NS. Metadata is given up only when no data block is
 * left that could be given up: until then a process rather waits.
 * From then on the loss belongs to the file (the block's owner) and to the
 * disk:
 *
 * - Each open file description (what open returns, and dup and fork share) that
 *   was open when the block was lost gets -EIO once: from its next fsync or its
 *   last close, which are told of nothing twice.
 * - A description opened later is told too, until some fsync of the file has
 *   been told. A close is not enough: most programs never look at its result.
 *   Exit and dup2 close with nobody to look: the description has had its turn,
 *   and all others are told as if it had never been.
 * - sync, or umount, gets -EIO once for each disk. A umount that is told leaves
 *   the disk mounted; the next one goes on.
 * - Metadata (bitmaps, inodes, indirect blocks) concerns all files. Each
 *   description of the disk gets -EIO once. Later ones get it, too, until sync
 *   or umount has got it, because an fsync of one file does not speak for the
 *   others. And ext2 makes the file system read-only. From then on each fsync
 *   gets -EIO.
 * - At most LOST_FILES files are remembered by name. If there are more, the
 *   loss of the oldest concerns all files of its disk, too: a program may be
 *   told of a file that is not its own, but no loss is forgotten.
 * - A file that is removed, and a disk that is unmounted, leave nothing behind.
 *
 * Numbers and not flags: each loss has the next number, and a description has
 * that of the last loss which it need not be told of. (The idea is that of
 * errseq_t in Linux since 4.13: Jeff Layton, Documentation/core-api/errseq.rst.
 * There the file's record is in the inode in memory, and goes with it.)
 */
#pragma once

#include "kernel/disk/disk.h"

#define RETRY_NS      (100 * NS_PER_MS)
#define RETRY_MOST_NS (30 * NS_PER_S)
#define GIVE_UP_NS    (6 * NS_PER_S)
#define LOST_FILES    64

/* Record that a block was given up. owner: 0 if it belongs to no file. Return
 * true if no earlier loss of this owner is still unreported. */
bool lost_add(const struct disk *, u64 owner, bool metadata);

/* The number that a new description of the owner's file begins with. */
u64 lost_opened(const struct disk *, u64 owner);

/* 0, or -EIO if the description with this number has to be told of a loss: it
 * counts as told. fsync: later descriptions need not be told. */
int lost_tell(const struct disk *, u64 owner, u64 *told, bool fsync);

/* 0, or -EIO if sync has to be told of a loss on the disk: it counts as told.
 */
int lost_tell_sync(const struct disk *);

/* True if metadata of the disk has been lost. */
bool lost_structure(const struct disk *);

/* Forget the losses of an owner whose file was removed or whose disk was
 * unmounted. */
void lost_forget(u64 owner);
void lost_forget_disk(const struct disk *);
