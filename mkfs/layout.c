/*
 * Where things are in the image: the geometry of groups, the bitmaps, the
 * allocation of blocks and inodes, superblocks and descriptors.
 * (The Second Extended File System, D. Poirier: superblock, block groups.)
 *
 * A group is: [superblock, descriptors,] block bitmap, inode bitmap, inode
 * table, data. The part in brackets is in group 0, 1 and powers of 3, 5, 7.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mkfs/mkfs.h"

#define MIN_GROUP    16    /* data blocks that make a last group worth while */
#define MAX_IN_GROUP 65528 /* descriptors count in 16 bits, bitmaps by 8 */
#define NO_INODES    10    /* reserved, from 1 on; the root's is 2 */

static bool test_bit(const u8 *map, u64 i)
{
    return map[i / 8] >> i % 8 & 1;
}

static void set_bit(u8 *map, u64 i)
{
    map[i / 8] |= 1 << i % 8;
}

static void clear_bit(u8 *map, u64 i)
{
    map[i / 8] &= ~(1 << i % 8);
}

static bool is_power(u32 n, u32 base)
{
    while (n % base == 0)
        n /= base;
    return n == 1;
}

static bool has_super(u32 group)
{
    return group <= 1 || is_power(group, 3) || is_power(group, 5) ||
           is_power(group, 7);
}

u32 layout_group_start(const struct fs *fs, u32 group)
{
    return fs->first_block + group * fs->group_blocks;
}

u32 layout_group_of(const struct fs *fs, u32 block)
{
    return (block - fs->first_block) / fs->group_blocks;
}

static u32 group_length(const struct fs *fs, u32 group)
{
    return MIN(fs->group_blocks, fs->nblocks - layout_group_start(fs, group));
}

/* The first of the group's bitmap, bitmap and table. */
static u32 bitmaps_start(const struct fs *fs, u32 group)
{
    u32 copies = has_super(group) ? 1 + fs->descriptor_blocks : 0;

    return layout_group_start(fs, group) + copies;
}

u32 layout_data_start(const struct fs *fs, u32 group)
{
    return bitmaps_start(fs, group) + 2 + fs->table_blocks;
}

/* ---- the plan ---- */

/* Set how many blocks there are, and how many a group has: as many as its
 * bitmap block has bits, or what --group says. */
static void plan_groups(struct fs *fs)
{
    const struct options *opt = fs->opt;
    u64 max = MIN(8 * opt->block_bytes, MAX_IN_GROUP);
    u64 blocks = opt->size_bytes / opt->block_bytes;

    if (blocks > UINT32_MAX)
        die("--size %lu: more than 2^32 - 1 blocks", opt->size_bytes);
    fs->first_block = opt->block_bytes == 1024;
    fs->nblocks = blocks;
    fs->group_blocks = max;
    if (!opt->group_bytes)
        return;
    if (opt->group_bytes % (8 * opt->block_bytes))
        die("--group %lu: not a multiple of 8 blocks of %lu bytes",
            opt->group_bytes, opt->block_bytes);
    if (opt->group_bytes / opt->block_bytes > max)
        die("--group %lu: at most %lu with blocks of %lu bytes",
            opt->group_bytes, max * opt->block_bytes, opt->block_bytes);
    fs->group_blocks = opt->group_bytes / opt->block_bytes;
}

/* Compute how many inodes a group has: one for each bytes_per_inode, rounded up
 * to whole blocks of the table. */
static void plan_inodes(struct fs *fs)
{
    const struct options *opt = fs->opt;
    u32 per_block = fs->block_bytes / EXT2_INODE_BYTES;
    u64 each = opt->bytes_per_inode;
    u64 max = MIN(8 * fs->block_bytes, 65536 - per_block);

    if (!each)
        each = MAX(8192, 2 * fs->block_bytes);
    u64 whole = MIN(fs->group_blocks, fs->nblocks) * opt->block_bytes;
    u64 inodes = ROUND_UP(whole / each, per_block);
    if (inodes <= NO_INODES + 1)
        inodes = ROUND_UP(NO_INODES + 2, per_block);
    if (inodes > max)
        die("--inode %lu: %lu inodes in a group, at most %lu", each, inodes,
            max);
    fs->group_inodes = inodes;
    fs->table_blocks = inodes / per_block;
}

/* Count the groups and the blocks of their descriptors, both rounded up. A last
 * group too small for its own tables and MIN_GROUP blocks is left out. */
static void plan_tail(struct fs *fs)
{
    u64 each = fs->group_blocks;

    if (fs->nblocks <= fs->first_block)
        die("--size %lu: too small", fs->opt->size_bytes);
    fs->ngroups = (fs->nblocks - fs->first_block + each - 1) / each;
    fs->descriptor_blocks =
        ((u64)fs->ngroups * sizeof(struct ext2_group) + fs->block_bytes - 1) /
        fs->block_bytes;

    u32 last = fs->ngroups - 1;
    u64 needed = layout_data_start(fs, last) - layout_group_start(fs, last) +
                 (u64)MIN_GROUP;
    if (group_length(fs, last) >= needed)
        return;
    if (!last)
        die("--size %lu: too small, needs %lu with these options",
            fs->opt->size_bytes, (needed + fs->first_block) * fs->block_bytes);
    fs->nblocks = layout_group_start(fs, last);
    fs->ngroups--;
}

/* Mark the blocks of a group's own tables as used, and count what is left. */
static void mark_used(struct fs *fs, u32 group)
{
    u32 start = layout_group_start(fs, group);
    u32 data = layout_data_start(fs, group);

    if (data - start + MIN_GROUP > fs->group_blocks)
        die("groups of %u blocks are too small for %u blocks of tables",
            fs->group_blocks, data - start);
    for (u32 b = start; b < data; b++)
        set_bit(fs->block_used, b - fs->first_block);
    fs->lowest_free[group] = data;
    fs->free_blocks[group] = start + group_length(fs, group) - data;
    fs->free_inodes[group] = fs->group_inodes;
    fs->data_blocks += fs->free_blocks[group];
}

void layout_plan(struct fs *fs, const struct options *opt)
{
    fs->opt = opt;
    fs->block_bytes = opt->block_bytes;
    plan_groups(fs);
    plan_inodes(fs);
    plan_tail(fs);

    u64 n = fs->ngroups;
    fs->block_used = zalloc(n * fs->group_blocks / 8);
    fs->inode_used = zalloc(n * fs->group_inodes / 8);
    fs->free_blocks = zalloc(n * sizeof(u32));
    fs->free_inodes = zalloc(n * sizeof(u32));
    fs->directories = zalloc(n * sizeof(u32));
    fs->lowest_free = zalloc(n * sizeof(u32));
    for (u32 g = 0; g < n; g++)
        mark_used(fs, g);
    for (u32 i = 0; i < NO_INODES; i++)
        set_bit(fs->inode_used, i);
    fs->free_inodes[0] -= NO_INODES;
    fs->directories[0] = 1; /* the root */
    fs->reserved = fs->nblocks * opt->reserved_percent / 100;
}

/* ---- allocation ---- */

static u64 sum(const u32 *counts, u32 n)
{
    u64 total = 0;

    for (u32 i = 0; i < n; i++)
        total += counts[i];
    return total;
}

u64 layout_free(const struct fs *fs)
{
    return sum(fs->free_blocks, fs->ngroups);
}

u64 layout_free_inodes(const struct fs *fs)
{
    return sum(fs->free_inodes, fs->ngroups);
}

u32 layout_emptiest(const struct fs *fs)
{
    u32 best = 0;

    for (u32 g = 1; g < fs->ngroups; g++)
        if (fs->free_blocks[g] > fs->free_blocks[best])
            best = g;
    return best;
}

bool layout_is_free(const struct fs *fs, u32 block)
{
    return block < fs->nblocks &&
           !test_bit(fs->block_used, block - fs->first_block);
}

/* Return the start of the first n neighbouring free blocks in [from, to), or
 * `to`. */
static u32 find_run(const struct fs *fs, u32 from, u32 to, u32 n)
{
    u32 run = 0;

    for (u32 b = from; b < to; b++) {
        run = layout_is_free(fs, b) ? run + 1 : 0;
        if (run == n)
            return b + 1 - n;
    }
    return to;
}

/* True if n blocks from that one on are free, all in one group. */
bool layout_are_free(const struct fs *fs, u32 block, u32 n)
{
    u32 group = layout_group_of(fs, block);
    u32 end = layout_group_start(fs, group) + group_length(fs, group);

    return n <= end - block && find_run(fs, block, block + n, n) == block;
}

/* Return the first run of n free blocks, from that group on; without one, a
 * single free block; fs->nblocks if none is free. */
u32 layout_find(const struct fs *fs, u32 group, u32 n)
{
    for (u32 i = 0; i < fs->ngroups; i++) {
        u32 g = (group + i) % fs->ngroups;
        u32 end = layout_group_start(fs, g) + group_length(fs, g);
        u32 b = fs->free_blocks[g] < n
                    ? end
                    : find_run(fs, fs->lowest_free[g], end, n);
        if (b < end)
            return b;
    }
    return n > 1 ? layout_find(fs, group, 1) : fs->nblocks;
}

/* Return a free block of the first group, from `groups_on` groups further on,
 * that has its share of free blocks. */
u32 layout_find_elsewhere(const struct fs *fs, u32 block, u32 groups_on)
{
    u32 first = layout_group_of(fs, block) + groups_on;
    u64 share = layout_free(fs) / fs->ngroups;
    u32 i = 0;

    while (fs->free_blocks[(first + i) % fs->ngroups] < share)
        i++; /* ends, because some group has its share */
    return layout_find(fs, (first + i) % fs->ngroups, 1);
}

/* Take a block: the goal, or the next free one. */
u32 layout_take(struct fs *fs, u32 goal)
{
    if (!layout_is_free(fs, goal))
        goal = find_run(fs, goal, fs->nblocks, 1);
    if (goal == fs->nblocks)
        goal = layout_find(fs, 0, 1);
    if (goal == fs->nblocks)
        die("no free block left");

    u32 group = layout_group_of(fs, goal);
    set_bit(fs->block_used, goal - fs->first_block);
    fs->free_blocks[group]--;
    if (goal == fs->lowest_free[group])
        fs->lowest_free[group]++;
    return goal;
}

void layout_give_back(struct fs *fs, u32 block)
{
    u32 group = layout_group_of(fs, block);

    clear_bit(fs->block_used, block - fs->first_block);
    fs->free_blocks[group]++;
    fs->lowest_free[group] = MIN(fs->lowest_free[group], block);
}

/* Take the first free inode of that group or of the next that has one. */
u32 layout_take_inode(struct fs *fs, u32 group, bool directory)
{
    u32 full = 0;

    while (!fs->free_inodes[group]) {
        group = (group + 1) % fs->ngroups;
        if (++full == fs->ngroups)
            die("no free inode left; a smaller --inode makes more");
    }
    u32 i = group * fs->group_inodes;
    while (test_bit(fs->inode_used, i))
        i++;
    set_bit(fs->inode_used, i);
    fs->free_inodes[group]--;
    fs->directories[group] += directory;
    return i + 1;
}

/* ---- writing ---- */

static void put_bytes(struct fs *fs, u64 offset, const void *from, u64 n)
{
    ssize_t done = pwrite(fs->fd, from, n, offset);

    if (done < 0)
        die("%s: %s", fs->opt->image, strerror(errno));
    if ((u64)done != n)
        die("%s: short write at %lu", fs->opt->image, offset);
}

void layout_put(struct fs *fs, u32 block, const void *from)
{
    put_bytes(fs, (u64)block * fs->block_bytes, from, fs->block_bytes);
}

void layout_put_inode(struct fs *fs, u32 ino, const struct ext2_inode *inode)
{
    u32 group = (ino - 1) / fs->group_inodes;
    u64 table = bitmaps_start(fs, group) + 2;
    u64 index = (ino - 1) % fs->group_inodes;

    put_bytes(fs, table * fs->block_bytes + index * EXT2_INODE_BYTES, inode,
              EXT2_INODE_BYTES);
}

/* A bitmap's block: n bits from the group's place in map, then ones. */
static void put_bitmap(struct fs *fs, u32 block, const u8 *map, u64 from, u32 n)
{
    u8 *out = zalloc(fs->block_bytes);

    memset(out, 0xff, fs->block_bytes);
    for (u32 i = 0; i < n; i++)
        if (!test_bit(map, from + i))
            clear_bit(out, i);
    layout_put(fs, block, out);
    free(out);
}

/* Fill in each group's descriptor, and write its bitmaps. */
static void fill_descriptors(struct fs *fs, struct ext2_group *table)
{
    for (u32 g = 0; g < fs->ngroups; g++) {
        u32 at = bitmaps_start(fs, g);
        table[g].block_bitmap = at;
        table[g].inode_bitmap = at + 1;
        table[g].inode_table = at + 2;
        table[g].free_blocks_count = fs->free_blocks[g];
        table[g].free_inodes_count = fs->free_inodes[g];
        table[g].used_dirs_count = fs->directories[g];
        put_bitmap(fs, at, fs->block_used, (u64)g * fs->group_blocks,
                   group_length(fs, g));
        put_bitmap(fs, at + 1, fs->inode_used, (u64)g * fs->group_inodes,
                   fs->group_inodes);
    }
}

/* Fill in the UUID, which follows from the seed, and the label. */
static void fill_identity(const struct fs *fs, struct ext2_super *s)
{
    u64 state = fs->opt->seed;
    u64 words[2] = {splitmix64(&state), splitmix64(&state)};

    memcpy(s->uuid, words, sizeof(words));
    s->uuid[6] = (s->uuid[6] & 0x0f) | 0x40; /* RFC 4122: random */
    s->uuid[8] = (s->uuid[8] & 0x3f) | 0x80;
    memcpy(s->volume_name, fs->opt->label, strlen(fs->opt->label));
}

/* Fill in the superblock, except the number of the group that holds a copy. */
static void fill_super(const struct fs *fs, struct ext2_super *s)
{
    u32 log = __builtin_ctz(fs->block_bytes) - 10;

    s->inodes_count = fs->group_inodes * fs->ngroups;
    s->blocks_count = fs->nblocks;
    s->r_blocks_count = fs->reserved;
    s->free_blocks_count = layout_free(fs);
    s->free_inodes_count = layout_free_inodes(fs);
    s->first_data_block = fs->first_block;
    s->log_block_size = s->log_frag_size = log;
    s->blocks_per_group = s->frags_per_group = fs->group_blocks;
    s->inodes_per_group = fs->group_inodes;
    s->wtime = s->lastcheck = fs->opt->time_s;
    s->max_mnt_count = 0xffff; /* no check by count */
    s->magic = EXT2_MAGIC;
    s->state = EXT2_VALID_FS;
    s->errors = 1; /* after an error the kernel continues */
    s->rev_level = 1;
    s->first_ino = NO_INODES + 1;
    s->inode_size = EXT2_INODE_BYTES;
    s->feature_incompat = EXT2_INCOMPAT_FILETYPE;
    s->feature_ro_compat =
        EXT2_RO_COMPAT_SPARSE_SUPER | EXT2_RO_COMPAT_LARGE_FILE;
    fill_identity(fs, s);
    if (!fs->journal[0])
        return;
    s->feature_compat = EXT2_COMPAT_HAS_JOURNAL;
    s->journal_inum = EXT2_JOURNAL_INO;
    s->jnl_backup_type = 1; /* the next fields are valid */
    memcpy(s->jnl_blocks, fs->journal, sizeof(fs->journal));
}

void layout_write(struct fs *fs)
{
    u64 table_bytes = (u64)fs->descriptor_blocks * fs->block_bytes;
    struct ext2_group *table = zalloc(table_bytes);
    struct ext2_super super = {0};

    fill_descriptors(fs, table);
    fill_super(fs, &super);
    for (u32 g = 0; g < fs->ngroups; g++) {
        if (!has_super(g))
            continue;
        u64 at = (u64)layout_group_start(fs, g) * fs->block_bytes;
        super.block_group_nr = g;
        put_bytes(fs, g ? at : EXT2_SUPER_OFFSET, &super, sizeof(super));
        put_bytes(fs, at + fs->block_bytes, table, table_bytes);
    }
    free(table);
}
