/*
 * A journal of ext3, empty: inode 8 and the superblock of its log, as mke2fs -j
 * makes them. Our kernel replays one (kernel/journal/); Linux writes it.
 */
#include <stdlib.h>
#include <string.h>

#include "kernel/journal/format.h"
#include "mkfs/mkfs.h"

#define JOURNAL_BLOCKS_MAX 10240000 /* of mke2fs */

static struct node *the_journal(const struct fs *fs)
{
    static struct node node = {.name = (char *)"the journal"};

    node.size = fs->opt->journal_bytes;
    node.disk.mode = 0100600;
    node.disk.links_count = 1;
    return &node;
}

void journal_check(const struct options *opt)
{
    u64 n = opt->journal_bytes / opt->block_bytes;

    if (opt->journal_bytes % opt->block_bytes)
        die("--journal %lu: not a multiple of the block size %lu",
            opt->journal_bytes, opt->block_bytes);
    if (opt->journal_bytes &&
        (n < JOURNAL_BLOCKS_MIN || n > JOURNAL_BLOCKS_MAX))
        die("--journal %lu: a journal has %u to %u blocks, here of %lu bytes",
            opt->journal_bytes, JOURNAL_BLOCKS_MIN, JOURNAL_BLOCKS_MAX,
            opt->block_bytes);
}

u64 journal_blocks(const struct fs *fs)
{
    return fs->opt->journal_bytes ? file_blocks(fs, the_journal(fs)) : 0;
}

/* Write the journal's superblock, all of whose numbers are big-endian. */
static void put_super(struct fs *fs, u32 block)
{
    struct journal_super *s = zalloc(fs->block_bytes);

    s->head.magic = be32(JOURNAL_MAGIC);
    s->head.type = be32(JOURNAL_SUPER_2);
    s->block_bytes = be32(fs->block_bytes);
    s->blocks = be32(fs->opt->journal_bytes / fs->block_bytes);
    s->first = s->sequence = s->users = be32(1);
    layout_put(fs, block, s);
    free(s);
}

/* In the middle of the disk, where the head is nearest to all. */
void journal_lay(struct fs *fs)
{
    struct node *n = the_journal(fs);

    if (!n->size)
        return;
    u32 at = layout_find(fs, fs->ngroups / 2, journal_blocks(fs));
    file_lay_at(fs, n, at);
    n->disk.size = n->size;
    n->disk.size_high = n->size >> 32;
    n->disk.atime = n->disk.mtime = n->disk.ctime = fs->opt->time_s;
    layout_put_inode(fs, EXT2_JOURNAL_INO, &n->disk);
    put_super(fs, n->disk.block[0]);
    memcpy(fs->journal, n->disk.block, sizeof(n->disk.block));
    fs->journal[EXT2_POINTERS] = n->disk.size_high;
    fs->journal[EXT2_POINTERS + 1] = n->disk.size;
}
