/*
 * Scatter files over the disk: COUNT files PATH0, PATH1, ... of one size. Each
 * is contiguous at a random place, and its inode is in the group where it
 * begins.
 */
#include <stdio.h>
#include <stdlib.h>

#include "mkfs/mkfs.h"

#define DRAWS 64 /* for a place; then the first that has room */

void scatter_add(const struct options *opt, struct node *root, const char *arg)
{
    char path[256], size[32];
    unsigned count = 0;
    u64 bytes;
    int end = 0;

    sscanf(arg, "%255[^=]=%u:%31[0-9A-Z]%n", path, &count, size, &end);
    if (!end || arg[end] || !count || !parse_size(size, &bytes) || !bytes)
        die("--scatter %s: not PATH=COUNT:SIZE, both from 1", arg);
    for (u32 i = 0; i < count; i++) {
        char *name = text("%s%u", path, i);
        struct node *n = tree_add_file(root, name, "--scatter", arg);
        n->size = bytes;
        n->scattered = true;
        n->pattern = opt->pattern;
        n->pattern_seed = opt->pattern_seed + i;
        free(name);
    }
}

/* Return the start of n neighbouring free blocks, drawn at random. */
static u32 draw_place(const struct fs *fs, u64 *random, u32 n)
{
    for (u32 i = 0; i < DRAWS; i++) {
        u32 block = fs->first_block +
                    splitmix64(random) % (fs->nblocks - fs->first_block);
        if (layout_are_free(fs, block, n))
            return block;
    }
    return layout_find(fs, 0, n);
}

/* Lay each scattered file of a directory, and below, at a random place. */
static void scatter_below(struct fs *fs, struct node *dir, u64 *random)
{
    for (u32 i = 0; i < dir->nchild; i++) {
        struct node *n = dir->child[i];
        scatter_below(fs, n, random);
        if (!n->scattered)
            continue;
        u32 block = draw_place(fs, random, file_blocks(fs, n));
        file_lay_at(fs, n, block);
        file_lay(fs, n, layout_group_of(fs, block));
    }
}

void scatter(struct fs *fs, struct node *root)
{
    u64 random = fs->opt->seed;

    scatter_below(fs, root, &random);
}
