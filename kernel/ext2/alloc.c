/*
 * The allocator: which block, which inode. After McKusick, Joy, Leffler and
 * Fabry, "A Fast File System for UNIX", 1984, section 3.3.
 *
 * - A block goes next to the block of the file before it; if that is taken,
 *   to the start of the nearest run of 8 free blocks after it in the group,
 *   so that files growing together do not interleave; then anywhere in the
 *   group; then to the next groups.
 * - With the boot argument indirect=far a file takes a long seek where its
 *   next pointer block begins: that block, and the data it points to, go to
 *   another group, so that no large file fills one.
 * - A file's inode goes to its directory's group. A directory goes to the
 *   group with the most free blocks among those with at least the average of
 *   free inodes, which leaves room for its files around it.
 * - fs->lock guards bitmaps, descriptors and sums. The descriptors are kept
 *   in memory, checked at mount, and copied to their buffers at each change.
 * - A bitmap that contradicts its count, or the blocks of the system itself,
 *   makes the file system read-only: nothing is allocated from it.
 */
#include "kernel/ext2/internal.h"

#define NO_BIT (~0U)

/* Return the descriptor of this group, in memory. */
struct ext2_group *group_of(const struct fs *fs, u32 group)
{
    return &fs->group_pages[group / GROUPS_PER_PAGE][group % GROUPS_PER_PAGE];
}

static u32 group_start(const struct fs *fs, u32 group)
{
    return fs->first_data_block + group * fs->blocks_per_group;
}

/* Return the number of blocks of a group. The last one may be short. */
u32 group_blocks(const struct fs *fs, u32 group)
{
    return MIN(fs->blocks_per_group, fs->blocks - group_start(fs, group));
}

/* True if the two runs of blocks share none. 64 bits, so that no sum
 * overflows. */
static bool disjoint(u32 first, u32 n, u32 other, u32 other_n)
{
    return (u64)first + n <= other || (u64)other + other_n <= first;
}

/* True if all n blocks lie on the disk, in one group, and none of them is one
 * of the file system's own. */
bool blocks_ok(const struct fs *fs, u32 first, u32 n)
{
    if (first < fs->own_end || first >= fs->blocks || n > fs->blocks - first)
        return false;
    u32 g = (first - fs->first_data_block) / fs->blocks_per_group;
    if (first - group_start(fs, g) + n > fs->blocks_per_group)
        return false;
    const struct ext2_group *gd = group_of(fs, g);
    return disjoint(first, n, gd->block_bitmap, 1) &&
           disjoint(first, n, gd->inode_bitmap, 1) &&
           disjoint(first, n, gd->inode_table, fs->table_blocks);
}

/* Copy a descriptor to its buffer. */
static int group_write(struct fs *fs, u32 g)
{
    u32 per_block = fs->block_bytes / sizeof(struct ext2_group);
    struct buf *b = bread(fs->disk, fs->first_data_block + 1 + g / per_block);
    if (!b)
        return fs_error(fs, "descriptor of group %u cannot be read", g);
    ((struct ext2_group *)b->data)[g % per_block] = *group_of(fs, g);
    write_late(fs, b, 0);
    return 0;
}

/* ---- bitmaps ---- */

static bool bit_get(const u8 *map, u32 bit)
{
    return map[bit / 8] >> bit % 8 & 1;
}

static void bit_flip(u8 *map, u32 bit)
{
    map[bit / 8] ^= 1 << bit % 8;
}

/* Return the first clear bit of [from, end). */
static u32 find_clear(const u8 *map, u32 from, u32 end)
{
    while (from < end) {
        if (from % 64 == 0 && end - from >= 64 &&
            ((const u64 *)map)[from / 64] == ~0UL)
            from += 64;
        else if (bit_get(map, from))
            from++;
        else
            return from;
    }
    return NO_BIT;
}

/* Return the first of 8 clear bits that are a byte of [from, end). */
static u32 find_clear_byte(const u8 *map, u32 from, u32 end)
{
    for (u32 byte = (from + 7) / 8; byte < end / 8; byte++)
        if (map[byte] == 0)
            return byte * 8;
    return NO_BIT;
}

/* Return the best clear bit of a group's n bits. goal: the bit that is wanted,
 * or 0 if any will do. */
static u32 find_block(const u8 *map, u32 goal, u32 n)
{
    if (goal && goal < n && !bit_get(map, goal))
        return goal;
    u32 bit = find_clear_byte(map, goal, n);
    if (bit == NO_BIT)
        bit = find_clear_byte(map, 0, n);
    if (bit == NO_BIT)
        bit = find_clear(map, goal, n);
    return bit == NO_BIT ? find_clear(map, 0, n) : bit;
}

/* ---- blocks ---- */

/* Take a block of the group. -ENOSPC: it has none. fs->lock held. */
static int take_block(struct fs *fs, u32 g, u32 goal, u32 *blkno)
{
    struct ext2_group *gd = group_of(fs, g);
    assert(sleep_held(&fs->lock));
    if (gd->free_blocks_count == 0)
        return -ENOSPC;
    struct buf *b = bread(fs->disk, gd->block_bitmap);
    if (!b)
        return -EIO;
    u32 bit = find_block(b->data, goal, group_blocks(fs, g));
    *blkno = group_start(fs, g) + bit;
    if (bit == NO_BIT || !blocks_ok(fs, *blkno, 1)) {
        brelse(b);
        return fs_error(fs, "block bitmap of group %u is wrong", g);
    }
    bit_flip(b->data, bit);
    write_late(fs, b, 0);
    gd->free_blocks_count--;
    fs->free_blocks--;
    return group_write(fs, g);
}

/* Return the start of the next group after the block's that has at least its
 * average share of free blocks. */
u32 goal_elsewhere(struct fs *fs, u32 blkno)
{
    u32 g = (blkno - fs->first_data_block) / fs->blocks_per_group;
    HOLD(sleep, &fs->lock);
    for (u32 i = 0; i < fs->groups; i++) {
        g = (g + 1) % fs->groups;
        if (group_of(fs, g)->free_blocks_count >= fs->free_blocks / fs->groups)
            break;
    }
    return group_start(fs, g);
}

/* Allocate a block as near to the goal as there is one; a goal that is no
 * file's block stands for the group of the inode. Return 0, -ENOSPC or -EIO. */
int block_alloc(struct inode *ip, u32 goal, u32 *blkno)
{
    struct fs *fs = ip->fs;
    u32 first = (ip->ino - 1) / fs->inodes_per_group;
    if (goal >= fs->own_end && goal < fs->blocks)
        first = (goal - fs->first_data_block) / fs->blocks_per_group;
    else
        goal = group_start(fs, first);
    goal -= group_start(fs, first);
    int error = -ENOSPC;
    HOLD(sleep, &fs->lock);
    for (u32 i = 0; i < fs->groups && error == -ENOSPC; i++)
        error = take_block(fs, (first + i) % fs->groups, i ? 0 : goal, blkno);
    return error;
}

/* Clear n bits that must be set; false, and nothing changed, if not. */
static bool clear_bits(u8 *map, u32 first, u32 n)
{
    for (u32 i = 0; i < n; i++)
        if (!bit_get(map, first + i))
            return false;
    for (u32 i = 0; i < n; i++)
        bit_flip(map, first + i);
    return true;
}

/* Free n blocks of a file: at once, or under a journal when its transaction is
 * on the disk. They count as free space either way. */
int blocks_free(struct fs *fs, u32 first, u32 n)
{
    TRY(fs_writable(fs));
    if (!blocks_ok(fs, first, n))
        return fs_error(fs, "block %u is freed but no file's", first);
    for (u32 i = 0; i < n; i++)
        binval(fs->disk, first + i);
    sleep_lock(&fs->lock);
    fs->free_blocks += n;
    sleep_unlock(&fs->lock);
    if (!journal_is_open(&fs->journal))
        return blocks_give_back(fs, first, n);
    int error = journal_free(&fs->journal, first, n);
    if (error) /* they stay in use: have e2fsck free them */
        fs->found_state &= ~EXT2_VALID_FS;
    return error;
}

/* Clear the bits of n blocks of one group, and count them as free there. */
int blocks_give_back(void *arg, u32 first, u32 n)
{
    struct fs *fs = arg;
    HOLD(sleep, &fs->lock);
    u32 g = (first - fs->first_data_block) / fs->blocks_per_group;
    struct ext2_group *gd = group_of(fs, g);
    struct buf *b = bread(fs->disk, gd->block_bitmap);
    if (!b)
        return fs_error(fs, "block bitmap of group %u cannot be read", g);
    if (gd->free_blocks_count + n > group_blocks(fs, g) ||
        !clear_bits(b->data, first - group_start(fs, g), n)) {
        brelse(b);
        return fs_error(fs, "block %u is freed but not in use", first);
    }
    write_late(fs, b, 0);
    gd->free_blocks_count += n;
    return group_write(fs, g);
}

/* ---- inodes ---- */

/* Return the group with the most free blocks, of those with at least the
 * average of free inodes. */
static u32 group_for_directory(const struct fs *fs)
{
    u32 average = fs->free_inodes / fs->groups;
    u32 best = 0;
    int most = -1;
    for (u32 g = 0; g < fs->groups; g++) {
        const struct ext2_group *gd = group_of(fs, g);
        if (gd->free_inodes_count && gd->free_inodes_count >= average &&
            gd->free_blocks_count > most) {
            most = gd->free_blocks_count;
            best = g;
        }
    }
    return best;
}

/* Take an inode of the group. -ENOSPC: it has none. fs->lock held. */
static int take_ino(struct fs *fs, u32 g, bool directory, u32 *ino)
{
    struct ext2_group *gd = group_of(fs, g);
    if (gd->free_inodes_count == 0)
        return -ENOSPC;
    struct buf *b = bread(fs->disk, gd->inode_bitmap);
    TRY(b ? 0 : -EIO);
    u32 bit = find_clear(b->data, 0, fs->inodes_per_group);
    *ino = g * fs->inodes_per_group + bit + 1;
    if (bit == NO_BIT || *ino < fs->first_ino) {
        brelse(b);
        return fs_error(fs, "inode bitmap of group %u is wrong", g);
    }
    bit_flip(b->data, bit);
    write_late(fs, b, 0);
    gd->free_inodes_count--;
    gd->used_dirs_count += directory;
    fs->free_inodes--;
    return group_write(fs, g);
}

/* Allocate an inode for a new entry of dir. Return 0, -ENOSPC or -EIO. */
int ino_alloc(struct inode *dir, u32 mode, u32 *ino)
{
    struct fs *fs = dir->fs;
    bool directory = S_ISDIR(mode);
    int error = -ENOSPC;
    HOLD(sleep, &fs->lock);
    u32 first = directory ? group_for_directory(fs)
                          : (dir->ino - 1) / fs->inodes_per_group;
    for (u32 i = 0; i < fs->groups && error == -ENOSPC; i++)
        error = take_ino(fs, (first + i) % fs->groups, directory, ino);
    return error;
}

/* Clear the inode's bit, and count it as free. */
int ino_free(struct fs *fs, u32 ino, bool directory)
{
    TRY(fs_writable(fs));
    HOLD(sleep, &fs->lock);
    u32 g = (ino - 1) / fs->inodes_per_group;
    struct ext2_group *gd = group_of(fs, g);
    struct buf *b = bread(fs->disk, gd->inode_bitmap);
    if (!b)
        return fs_error(fs, "inode bitmap of group %u cannot be read", g);
    if (gd->free_inodes_count >= fs->inodes_per_group ||
        (directory && !gd->used_dirs_count) ||
        !clear_bits(b->data, (ino - 1) % fs->inodes_per_group, 1)) {
        brelse(b);
        return fs_error(fs, "inode %u is freed but not in use", ino);
    }
    write_late(fs, b, 0);
    gd->free_inodes_count++;
    gd->used_dirs_count -= directory;
    fs->free_inodes++;
    return group_write(fs, g);
}

/* ---- after a power cut ---- */

/* Set one bit of the bitmap in this block, if it is not set already. */
static int claim_bit(struct fs *fs, u32 bitmap, u32 bit)
{
    struct buf *b = bread(fs->disk, bitmap);
    TRY(b ? 0 : -EIO);
    if (bit_get(b->data, bit)) {
        brelse(b);
        return 0;
    }
    bit_flip(b->data, bit);
    write_late(fs, b, 0);
    return 0;
}

/* Mark the block as in use, whatever its bitmap says. */
int block_claim(struct fs *fs, u32 blkno)
{
    u32 g = (blkno - fs->first_data_block) / fs->blocks_per_group;
    return claim_bit(fs, group_of(fs, g)->block_bitmap,
                     blkno - group_start(fs, g));
}

/* Mark the inode as in use, whatever its bitmap says. */
int ino_claim(struct fs *fs, u32 ino)
{
    u32 g = (ino - 1) / fs->inodes_per_group;
    return claim_bit(fs, group_of(fs, g)->inode_bitmap,
                     (ino - 1) % fs->inodes_per_group);
}

/* Count the clear bits among a bitmap's first n bits. */
static int count_clear(struct fs *fs, u32 bitmap, u32 n, u32 *clear)
{
    struct buf *b = bread(fs->disk, bitmap);
    TRY(b ? 0 : -EIO);
    *clear = 0;
    for (u32 i = 0; i < n; i++)
        *clear += !bit_get(b->data, i);
    brelse(b);
    return 0;
}

/* Count what is free in all groups from their bitmaps. */
int groups_recount(struct fs *fs)
{
    fs->free_blocks = fs->free_inodes = 0;
    for (u32 g = 0; g < fs->groups; g++) {
        struct ext2_group *gd = group_of(fs, g);
        u32 blocks, inodes;
        TRY(count_clear(fs, gd->block_bitmap, group_blocks(fs, g), &blocks));
        TRY(count_clear(fs, gd->inode_bitmap, fs->inodes_per_group, &inodes));
        fs->free_blocks += gd->free_blocks_count = blocks;
        fs->free_inodes += gd->free_inodes_count = inodes;
        TRY(group_write(fs, g));
    }
    return 0;
}
