/*
 * Ageing: filler files under /aged, in directories of FILES_EACH.
 *
 * - Utilisation is used / (data - reserved) blocks, where data is all but
 *   superblocks, bitmaps and inode tables, and used includes directories
 *   and indirect blocks. --fill is the utilisation at the end.
 * - A filler takes 1, 2, 4 ... or 64 blocks, all equally likely. A new
 *   directory goes to the group with the most free blocks, its files into its
 *   group: all groups fill alike.
 * - With --fragment F, F percent of the filler blocks belong to doomed fillers,
 *   which are chosen at random. They only reserve their blocks: nothing is
 *   written, and at the end the blocks are free again.
 */
#include <stdlib.h>
#include <sys/stat.h>

#include "mkfs/mkfs.h"

#define FILES_EACH 80 /* entries of 12 bytes: they fit into 1 KiB */
#define SMALLEST   3  /* blocks for /aged to grow, a directory, a file */

struct aging {
    struct fs *fs;
    struct node *aged;
    struct node *dir; /* the directory being filled, or NULL */
    u64 random;       /* splitmix64's state */
    u64 keep, doom;   /* blocks that kept and doomed fillers still need */
    u32 *doomed;
    u64 ndoomed;
};

static u64 below(struct aging *a, u64 n)
{
    return splitmix64(&a->random) % n;
}

/* Return the blocks of a filler. Never 13: the 13th data block needs an
 * indirect block, the 14th. */
static u32 draw_size(struct aging *a, u64 quota)
{
    u64 drawn = 1UL << below(a, 7), size = MIN(drawn, quota);

    return size == 13 ? 12 : size;
}

/* Begin the next directory. Its block, and a block that /aged may need, count
 * as kept. */
static void open_directory(struct aging *a)
{
    if (a->keep < SMALLEST) {
        a->keep = 0;
        return;
    }
    u64 before = file_blocks(a->fs, a->aged);
    char *name = text("d%05u", a->aged->nchild);

    a->dir = tree_add(a->aged, name, S_IFDIR | 0755);
    file_lay(a->fs, a->dir, layout_emptiest(a->fs));
    u64 cost = 1 + file_blocks(a->fs, a->aged) - before;
    a->keep -= cost;
    free(name);
}

/* Lay down a filler file that is kept. */
static void lay_kept(struct aging *a, u32 size)
{
    char *name = text("f%02u", a->dir->nchild);
    struct node *n = tree_add(a->dir, name, S_IFREG | 0644);

    /* Beyond 12 data blocks, one of the blocks is the indirect one. */
    n->size = (u64)(size > 12 ? size - 1 : size) * a->fs->block_bytes;
    file_lay(a->fs, n, a->dir->group);
    a->keep -= size;
    free(name);
}

/* Take a run of blocks that is given back at the end, so that free space is in
 * pieces. */
static void lay_doomed(struct aging *a, u32 size)
{
    u32 group = a->dir ? a->dir->group : layout_emptiest(a->fs);
    u32 next = layout_find(a->fs, group, size);

    for (u32 i = 0; i < size; i++) {
        u32 block = layout_take(a->fs, next);
        a->doomed[a->ndoomed++] = block;
        next = block + 1;
    }
    a->doom -= size;
}

/* Lay kept and doomed files in random order: the next file is a doomed one with
 * the probability of doom / (keep + doom). */
static void lay_fillers(struct aging *a)
{
    while (a->keep + a->doom > 0)
        if (below(a, a->keep + a->doom) < a->doom)
            lay_doomed(a, draw_size(a, a->doom));
        else if (!a->dir || a->dir->nchild == FILES_EACH)
            open_directory(a);
        else
            lay_kept(a, draw_size(a, a->keep));
}

/* Compute how many blocks to lay down, or end the program with the reason. Of
 * what is laid down, fragment_percent is doomed, so keep / doom is (100 -
 * fragment_percent) / fragment_percent. */
static void plan(struct aging *a)
{
    const struct options *opt = a->fs->opt;
    u64 total = a->fs->data_blocks - a->fs->reserved;
    u64 free_now = layout_free(a->fs), used = a->fs->data_blocks - free_now;
    u64 wanted = total * opt->fill_percent / 100;

    used += file_blocks(a->fs, a->aged);
    if (used > wanted)
        die("--fill %lu: %lu of %lu blocks are in use without fillers",
            opt->fill_percent, used, total);
    a->keep = wanted - used;
    a->doom = a->keep * opt->fragment_percent / (100 - opt->fragment_percent);
    if (used + a->keep + a->doom > a->fs->data_blocks)
        die("--fill %lu --fragment %lu: needs %lu blocks before those to be "
            "free are free, has %u",
            opt->fill_percent, opt->fragment_percent, used + a->keep + a->doom,
            a->fs->data_blocks);
}

void age(struct fs *fs, struct node *aged)
{
    struct aging a = {.fs = fs, .aged = aged, .random = fs->opt->seed};

    plan(&a);
    a.doomed = zalloc(a.doom * sizeof(u32));
    lay_fillers(&a);
    file_lay(fs, aged, layout_emptiest(fs));
    for (u64 i = 0; i < a.ndoomed; i++)
        layout_give_back(fs, a.doomed[i]);
    free(a.doomed);
}
