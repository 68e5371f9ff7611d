/*
 * The block map: which disk block holds which block of a file.
 *
 * - block[] of the inode holds 12 direct pointers and the roots of three
 *   trees of pointer blocks, one, two and three levels deep. 0 is a hole.
 * - Order: a pointer block is on the disk, as zeros, before anything points
 *   to it, and a directory's block as an empty one. A block is freed when
 *   nothing on the disk points to it any more. Pointers to data may be
 *   written late, before or after the data. Only a pointer to a block in a hole
 *   whose zeros an fsync or a sync has confirmed waits until the block has been
 *   written, as zeros or as data (kernel/depend).
 * - The inode remembers the last run of blocks found (run_block, run_start,
 *   run_blocks), so a sequential reader seldom looks at pointer blocks.
 * - All take the inode locked and valid, with has_blocks().
 */
#include "kernel/ext2/internal.h"

#define RUN_MAX 64  /* blocks looked at to find a run */
#define BATCH   128 /* pointers copied out of a block at a time */

/* Return log2 of the number of pointers in a block. */
static u32 pointer_shift(const struct fs *fs)
{
    return fs->block_shift - 2;
}

/* Find the way to a block: way[0] indexes the inode's pointers, the others
 * pointer blocks. Return its length, 1 to 4; 0: past the format's end. */
static u32 find_way(const struct fs *fs, u64 block, u32 way[4])
{
    u32 shift = pointer_shift(fs), mask = (1U << shift) - 1;
    if (block < EXT2_DIRECT) {
        way[0] = block;
        return 1;
    }
    block -= EXT2_DIRECT;
    for (u32 depth = 1; depth <= 3; depth++) {
        u64 span = 1UL << shift * depth;
        if (block < span) {
            way[0] = EXT2_DIRECT + depth - 1;
            for (u32 i = depth; i > 0; i--, block >>= shift)
                way[i] = block & mask;
            return depth + 1;
        }
        block -= span;
    }
    return 0;
}

/* Report a pointer to a block that no file can have. Return -EIO. */
static int bad_pointer(const struct inode *ip, u32 blkno)
{
    return fs_damaged(ip->fs, "inode %u points to block %u", ip->ino, blkno);
}

/* Remember the run that begins with pointer p[0] of n. */
static void set_run(struct inode *ip, u64 block, const u32 *p, u32 n)
{
    u32 run = 1;
    while (run < MIN(n, RUN_MAX) && p[run] == p[0] + run)
        run++;
    ip->run_block = block;
    ip->run_start = p[0];
    ip->run_blocks = blocks_ok(ip->fs, p[0], run) ? run : 0;
}

/* Read pointer `at` of a pointer block; if it points to data, set the run. */
static int read_pointer(struct inode *ip, u32 table, u32 at, bool last,
                        u64 block, u32 *blkno)
{
    if (!blocks_ok(ip->fs, table, 1))
        return bad_pointer(ip, table);
    struct buf *b = bread(ip->fs->disk, table);
    if (!b)
        return -EIO;
    const u32 *p = (u32 *)b->data + at;
    *blkno = *p;
    if (last && *blkno)
        set_run(ip, block, p, (1U << pointer_shift(ip->fs)) - at);
    brelse(b);
    return 0;
}

int map(struct inode *ip, u64 block, u32 *blkno)
{
    if (block - ip->run_block < ip->run_blocks) {
        *blkno = ip->run_start + (block - ip->run_block);
        return 0;
    }
    u32 way[4], n = find_way(ip->fs, block, way);
    if (n == 0 || block >= blocks_of(ip->fs, ip->fs->max_bytes))
        return -EFBIG;
    *blkno = ip->block[way[0]];
    if (n == 1 && *blkno)
        set_run(ip, block, &ip->block[way[0]], EXT2_DIRECT - way[0]);
    for (u32 i = 1; i < n && *blkno; i++)
        TRY(read_pointer(ip, *blkno, way[i], i == n - 1, block, blkno));
    if (*blkno && !blocks_ok(ip->fs, *blkno, 1))
        return bad_pointer(ip, *blkno);
    return 0;
}

/* ---- growing ---- */

/* Prepare a new block so that a pointer on the disk may lead to it. dir_init
 * prepares the first one of a directory. */
static int prepare(struct inode *ip, u32 blkno, bool pointers)
{
    struct fs *fs = ip->fs;
    if (!pointers && (!S_ISDIR(ip->mode) || ip->size == 0))
        return 0;
    struct buf *b = getblk(fs->disk, blkno);
    memset(b->data, 0, fs->block_bytes);
    if (!pointers)
        ((struct ext2_entry *)b->data)->length = fs->block_bytes;
    return write_now(fs, b, owner_of(ip));
}

/* Store pointer `at` of `table`, or of the inode if that is 0. */
static int write_pointer(struct inode *ip, u32 table, u32 at, u32 blkno)
{
    if (!table) {
        ip->block[at] = blkno;
        return 0;
    }
    struct buf *b = bread(ip->fs->disk, table);
    if (!b)
        return -EIO;
    ((u32 *)b->data)[at] = blkno;
    if (S_ISDIR(ip->mode))
        return write_now(ip->fs, b, owner_of(ip));
    write_late(ip->fs, b, owner_of(ip));
    return 0;
}

/* Allocate a block for the inode, and store its pointer. confirmed: until then,
 * the disk shows zeros that a program relies on. */
static int grow(struct inode *ip, u32 goal, bool pointers, bool confirmed,
                u32 table, u32 at, u32 *blkno)
{
    u32 sectors = sectors_of(ip->fs);
    if (ip->sectors > UINT32_MAX - sectors)
        return -EFBIG;
    TRY(block_alloc(ip, goal, blkno));
    ip->goal = *blkno + 1;
    ip->dirty = true;
    int error = confirmed ? depend_zeros(ip->fs->disk, *blkno, owner_of(ip),
                                         table ?: inode_block(ip))
                          : prepare(ip, *blkno, pointers);
    error = error ?: write_pointer(ip, table, at, *blkno);
    if (error)
        blocks_free(ip->fs, *blkno, 1);
    else
        ip->sectors += sectors;
    return error;
}

/* Return the block's best place: after the one before it in the file. */
static u32 find_goal(struct inode *ip, u64 block)
{
    u32 before = 0;
    if (block && map(ip, block - 1, &before) == 0 && before)
        return before + 1;
    return ip->goal;
}

/* Make the remembered run longer if the block is at its end, or else begin
 * another run. */
static void extend_run(struct inode *ip, u64 block, u32 blkno)
{
    if (ip->run_blocks && block == ip->run_block + ip->run_blocks &&
        blkno == ip->run_start + ip->run_blocks)
        ip->run_blocks++;
    else
        set_run(ip, block, &blkno, 1);
}

/* Follow the pointers on the way to the block, from the inode on, and allocate
 * each block that is missing: tables, then the block itself. */
int map_alloc(struct inode *ip, u64 block, u32 *blkno, bool *fresh)
{
    TRY(map(ip, block, blkno));
    *fresh = ip->fs->elsewhere ? block >= blocks_of(ip->fs, ip->size) : !*blkno;
    if (*blkno)
        return 0;
    u32 way[4], n = find_way(ip->fs, block, way);
    u32 goal = find_goal(ip, block);
    u32 table = 0;
    bool begins_table = n > 1 && !way[n - 1];
    if (far_indirect && goal && S_ISREG(ip->mode) && begins_table)
        goal = goal_elsewhere(ip->fs, goal - 1);
    bool confirmed = block < blocks_of(ip->fs, ip->confirmed_size) &&
                     !order_delays(ip->fs, 0);
    *blkno = ip->block[way[0]];
    for (u32 i = 0; i < n; table = *blkno, i++) {
        bool last = i == n - 1;
        if (i > 0)
            TRY(read_pointer(ip, table, way[i], false, block, blkno));
        if (*blkno == 0) {
            TRY(grow(ip, goal, !last, last && confirmed, table, way[i], blkno));
            goal = *blkno + 1;
        }
    }
    extend_run(ip, block, *blkno);
    return 0;
}

/* Allocate the first block of the file. *b is its buffer, zeroed and busy. */
int first_block(struct inode *ip, struct buf **b)
{
    u32 blkno;
    bool fresh;
    TRY(map_alloc(ip, 0, &blkno, &fresh));
    *b = getblk(ip->fs->disk, blkno);
    memset((*b)->data, 0, ip->fs->block_bytes);
    return 0;
}

/* ---- shrinking ---- */

/* Blocks on their way to be freed, gathered into runs. */
struct freed {
    struct inode *ip;
    u32 first, n;
};

/* Free the run of blocks gathered so far, and take it off the inode's count. */
static int free_run(struct freed *f)
{
    if (f->n == 0)
        return 0;
    u32 sectors = f->n * sectors_of(f->ip->fs);
    if (f->ip->sectors < sectors)
        return fs_error(f->ip->fs, "inode %u has more blocks than it counts",
                        f->ip->ino);
    f->ip->sectors -= sectors;
    int error = blocks_free(f->ip->fs, f->first, f->n);
    f->n = 0;
    return error;
}

/* Free a block later, together with its neighbours: it makes the run longer, or
 * the run is freed and the block begins the next one. */
static int free_block(struct freed *f, u32 blkno)
{
    if (f->n && blkno == f->first + f->n &&
        blocks_ok(f->ip->fs, f->first, f->n + 1)) {
        f->n++;
        return 0;
    }
    int error = free_run(f);
    f->first = blkno;
    f->n = 1;
    return error;
}

/* Copy n pointers out of a block; clear: also zero them on the disk. */
static int take_pointers(struct inode *ip, u32 table, u32 at, u32 n,
                         u32 out[BATCH], bool clear)
{
    if (!blocks_ok(ip->fs, table, 1))
        return fs_error(ip->fs, "inode %u points to block %u", ip->ino, table);
    struct buf *b = bread(ip->fs->disk, table);
    if (!b)
        return fs_error(ip->fs, "inode %u: block %u is lost", ip->ino, table);
    u32 *p = (u32 *)b->data + at, used = 0;
    for (u32 i = 0; i < n; i++) {
        out[i] = p[i];
        used |= p[i];
        if (clear)
            p[i] = 0;
    }
    if (clear && used)
        return write_now(ip->fs, b, owner_of(ip));
    brelse(b);
    return 0;
}

/* Free a tree's blocks, except the first `keep` blocks of the file in it. If
 * keep is 0, also free the tree's own block. A block that is reached twice ends
 * the cut with an error, because it is free already. */
static int cut_tree(struct freed *f, u32 blkno, u32 depth, u64 keep)
{
    if (depth == 0)
        return free_block(f, blkno);
    u32 shift = pointer_shift(f->ip->fs), child_shift = shift * (depth - 1);
    u32 at = keep >> child_shift, p[BATCH];
    u64 rest = keep & ((1UL << child_shift) - 1);
    if (rest) {
        p[0] = 0; /* gcc -O3 cannot see that it is set */
        TRY(take_pointers(f->ip, blkno, at, 1, p, false));
        if (p[0])
            TRY(cut_tree(f, p[0], depth - 1, rest));
        at++;
    }
    for (u32 n; at < 1U << shift; at += n) {
        n = MIN(BATCH, (1U << shift) - at);
        TRY(take_pointers(f->ip, blkno, at, n, p, keep > 0));
        for (u32 i = 0; i < n; i++)
            if (p[i])
                TRY(cut_tree(f, p[i], depth - 1, 0));
    }
    return keep ? 0 : free_block(f, blkno);
}

/* Return how many levels of pointer blocks the inode's i-th pointer leads to,
 * and to how many blocks of the file. */
static u32 depth_of(u32 i)
{
    return i < EXT2_DIRECT ? 0 : i - EXT2_DIRECT + 1;
}

/* Return how many blocks of a file pointer i of the inode leads to. */
static u64 span_of(const struct fs *fs, u32 i)
{
    return 1UL << pointer_shift(fs) * depth_of(i);
}

/* Free what the pointers of the inode in old[] reached past the end. */
static int free_cut(struct inode *ip, const u32 old[EXT2_POINTERS], u64 keep)
{
    struct freed f = {.ip = ip};
    u64 start = 0, end;
    for (u32 i = 0; i < EXT2_POINTERS; i++, start = end) {
        end = start + span_of(ip->fs, i);
        if (!old[i] || keep >= end)
            continue;
        u64 inside = keep > start ? keep - start : 0;
        TRY(cut_tree(&f, old[i], depth_of(i), inside));
    }
    return free_run(&f);
}

/* Take the pointers past the end out of the inode; true if there were any. */
static bool drop_pointers(struct inode *ip, u64 keep)
{
    u64 start = 0;
    bool any = false;
    for (u32 i = 0; i < EXT2_POINTERS; i++) {
        if (keep <= start && ip->block[i]) {
            ip->block[i] = 0;
            any = true;
        }
        start += span_of(ip->fs, i);
    }
    return any;
}

/* Free all blocks of the file but the first `keep`: first the pointers go, on
 * the disk if it matters there, then the blocks. */
int map_cut(struct inode *ip, u64 keep)
{
    int error = fs_writable(ip->fs);
    if (error || !has_blocks(ip->mode, ip->size) || ip->fs->elsewhere)
        return error;
    u32 old[EXT2_POINTERS];
    memcpy(old, ip->block, sizeof(old));
    ip->run_blocks = 0;
    ip->goal = ip->synced_sectors = 0;
    bool wait = drop_pointers(ip, keep) && ip->nlink;
    error = inode_write(ip, wait) ?: free_cut(ip, old, keep);
    return error ?: inode_write(ip, false);
}
