/*
 * A file system of ext3 whose journal has transactions that are not at home:
 * how mounting finds the journal, has it replayed, and says so on the disk.
 *
 * - Recovery precedes every other read, even if the disk is mounted for reading
 *   only, as Linux does it: else files would be damaged.
 * - needs_recovery goes last, when the journal is empty. Until then all of it
 *   is done again.
 * - Transactions in the log of a disk that does not say needs_recovery are
 *   older than the disk: something wrote it that knows no journal. Before it is
 *   written again they are dropped, as Linux does, whatever the order policy;
 *   else e2fsck -y, which replays them, would put old blocks over new ones. If
 *   they cannot be dropped, the disk is mounted for reading only.
 * - Otherwise order.c has it written. Inodes on the list of orphans, which
 *   Linux keeps for files without names, are left to e2fsck. Their bitmaps call
 *   them in use, so nothing is given their blocks.
 */
#include "kernel/ext2/internal.h"
#include "kernel/journal/journal.h"
#include "kernel/machine/mem.h"

/* Find where each block of the journal's file lies. */
static int find_blocks(struct inode *ip, u32 *where, u32 blocks)
{
    HOLD(inode, ip);
    TRY(ivalid(ip));
    for (u32 i = 0; i < blocks; i++) {
        TRY(map(ip, i, &where[i]));
        if (!where[i])
            return -EIO;
    }
    return 0;
}

/* Return the number of blocks of a journal's file; 0: it cannot be a
 * journal. */
static u32 count_blocks(struct inode *ip)
{
    HOLD(inode, ip);
    u64 blocks = ip->size >> ip->fs->block_shift;
    bool sound = ip->valid && S_ISREG(ip->mode) && blocks <= ip->fs->blocks;
    return sound ? blocks : 0;
}

/* Find all blocks of the journal's inode. Return 0 or an error. */
static int find_in(struct inode *ip, struct log *log)
{
    struct fs *fs = ip->fs;
    *log = (struct log){fs->disk, NULL, count_blocks(ip), fs->blocks};
    if (!log->blocks)
        return -EIO;
    u32 *where = mem_reserve((u64)log->blocks * sizeof(u32));
    if (!where)
        return -ENOMEM;
    log->where = where;
    int error = find_blocks(ip, where, log->blocks);
    if (error)
        log_release(log);
    return error;
}

/* Find the blocks of the journal. On an error *why says what is wrong. */
int log_find(struct fs *fs, struct log *log, const char **why)
{
    OWNED(inode) struct inode *ip = NULL;
    int error = iget(fs, EXT2_JOURNAL_INO, &ip) ?: find_in(ip, log);
    *why = error == -ENOMEM ? "no memory" : "its inode is damaged";
    return error;
}

/* Release what log_find has allocated. */
void log_release(struct log *log)
{
    mem_release((void *)log->where, (u64)log->blocks * sizeof(u32));
    log->where = NULL;
}

/* Find the journal, and replay it or drop what is in it. */
static int replay(struct fs *fs, bool drop, struct recovered *found)
{
    struct log log;
    TRY(log_find(fs, &log, &found->wrong));
    int error = journal_recover(&log, drop, found);
    log_release(&log);
    return error;
}

/* Say what was done, also if it went well: who mounted the disk learns that it
 * was not unmounted. Returns the error, unless the disk can be read as it is.
 */
static int say(struct fs *fs, bool drop, int error,
               const struct recovered *found)
{
    const char *why = found->wrong ?: "the disk failed, or no memory";
    fs->read_only |= drop && error;
    if (error)
        return fs_report(fs, REFUSED, drop ? 0 : error,
                         "%sthe journal cannot be %s: %s: run e2fsck",
                         drop ? "read-only: " : "",
                         drop ? "emptied" : "replayed", why);
    if (!drop)
        fs_report(fs, REFUSED, 0,
                  "journal replayed: %u transactions, %u blocks",
                  found->transactions, found->blocks);
    else if (found->emptied)
        fs_report(fs, REFUSED, 0,
                  "journal emptied: without needs_recovery its transactions "
                  "are older than the disk: %u",
                  found->transactions);
    return 0;
}

/* Replay the journal at mount, if need be. Return 1 if it was (read the
 * superblock again), 0 if there was nothing to do, or an error. */
int journal_replay(struct fs *fs)
{
    struct recovered found = {0};
    bool drop = !fs->needs_recovery;
    if (!fs->has_journal ||
        (drop && (fs->read_only || fs->found_state & EXT2_ERROR_FS)))
        return 0;
    if (fs->disk->read_only)
        return fs_report(fs, REFUSED, -EROFS,
                         "needs its journal replayed, and cannot be written");
    int error = replay(fs, drop, &found);
    TRY(say(fs, drop, error, &found));
    return found.emptied ? super_recovered(fs, found.failed) ?: 1 : 0;
}
