/*
 * Claiming: at the mount of a disk that was not unmounted cleanly, what its
 * inodes own is marked as in use.
 *
 * - Bitmaps are written late, as e2fsck makes them anew (super.c). So a power
 *   cut may leave a file on the disk whose inode or blocks its bitmaps call
 *   free. If the disk is then used before e2fsck, they would be given to
 *   another file, which overwrites what fsync had confirmed.
 * - Bits are only set. What is in use and no file's stays so until e2fsck.
 * - Then what is free is counted anew: a torn write leaves counts of one moment
 *   and bitmaps of another.
 * - Numbers that cannot be right are passed over: e2fsck says more of them. No
 *   more blocks are claimed than there are, so damage cannot keep it busy.
 */
#include "kernel/ext2/internal.h"

#define LEVELS 3  /* of blocks of pointers */
#define CHUNK  32 /* pointers read at a time: no buffer is held meanwhile */

/* Copy a piece of a block. */
static int read_piece(struct fs *fs, u64 blkno, u32 at, void *to, u32 bytes)
{
    struct buf *b = bread(fs->disk, blkno);
    if (!b)
        return -EIO;
    memcpy(to, (const char *)b->data + at, bytes);
    brelse(b);
    return 0;
}

/* Claim a block of a file and, above level 0, the blocks that it points to. */
static int claim_tree(struct fs *fs, u32 *left, u32 blkno, u32 level)
{
    u32 pointers[CHUNK];
    if (!blkno || !blocks_ok(fs, blkno, 1))
        return 0;
    if (!*left)
        return -EIO;
    --*left;
    TRY(block_claim(fs, blkno));
    for (u32 at = 0; level && at < fs->block_bytes; at += sizeof pointers) {
        TRY(read_piece(fs, blkno, at, pointers, sizeof pointers));
        for (u32 i = 0; i < CHUNK; i++)
            TRY(claim_tree(fs, left, pointers[i], level - 1));
    }
    return 0;
}

/* Claim an inode that has names, and all blocks it points to. The last LEVELS
 * pointers are roots of trees one, two and three levels deep. */
static int claim_inode(struct fs *fs, u32 *left, u32 ino,
                       const struct ext2_inode *raw)
{
    u32 direct = NELEM(raw->block) - LEVELS;
    u32 n = has_blocks(raw->mode, raw->size) ? NELEM(raw->block) : 0;
    if (!raw->links_count || ino < fs->first_ino)
        return 0;
    TRY(ino_claim(fs, ino));
    for (u32 i = 0; i < n; i++)
        TRY(claim_tree(fs, left, raw->block[i],
                       i < direct ? 0 : i - direct + 1));
    return 0;
}

/* Claim the inodes of one block of the table, `ino` and the next ones. */
static int claim_block(struct fs *fs, u32 *left, u64 blkno, u32 ino)
{
    struct ext2_inode raw;
    for (u32 at = 0; at < fs->block_bytes; at += fs->inode_bytes) {
        TRY(read_piece(fs, blkno, at, &raw, sizeof raw));
        TRY(claim_inode(fs, left, ino++, &raw));
    }
    return 0;
}

/* Claim each block of each group's table of inodes. A block holds `per_block`
 * inodes, and inodes are numbered from 1. */
static int claim_groups(struct fs *fs)
{
    u32 per_block = fs->block_bytes / fs->inode_bytes;
    u32 left = fs->blocks;
    for (u32 g = 0; g < fs->groups; g++)
        for (u32 i = 0; i < fs->table_blocks; i++)
            TRY(claim_block(fs, &left, group_of(fs, g)->inode_table + i,
                            g * fs->inodes_per_group + i * per_block + 1));
    return groups_recount(fs);
}

/* Claim what all inodes own, unless the disk was clean or is only read. */
int claim_all(struct fs *fs)
{
    if (fs->found_state & EXT2_VALID_FS || fs_writable(fs))
        return 0;
    HOLD(sleep, &fs->lock);
    int error = claim_groups(fs);
    return error ? fs_error(fs, "what files own cannot be read") : 0;
}
