/*
 * Files, links and directories: where their blocks are and what is in them.
 *
 * - A file's blocks lie in the order in which they are read: an indirect
 *   block right before the first block it points to.
 * - With --far-indirect an indirect block begins in another group (McKusick et
 *   al., "A Fast File System for UNIX", section 3.3).
 * - With --random-indirect this group is drawn at random (Shriver, Small,
 *   Smith, "Why does file system prefetching work?", section 4).
 * - With --spread a file changes its group at its indirect block, and again
 *   after each SIZE bytes of data (the same section: a megabyte), so that no
 *   large file fills a group.
 * - A file of n blocks goes where n neighbouring blocks are free, in its
 *   directory's group if possible.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mkfs/mkfs.h"

/* An entry's type: abi.h's DT_ values, which are not those of Linux. */
enum { ENTRY_FILE = 1, ENTRY_DIR = 2, ENTRY_LINK = 7 };

/* ---- contents ---- */

/* Where a node's bytes come from. */
struct source {
    const struct fs *fs;
    const struct node *node;
    int fd;     /* of the host's file, or -1 */
    u64 state;  /* of the pattern */
    u64 *words; /* a block */
};

enum content { HOLE, ZEROS, BYTES };

/* Begin to read the node's bytes: a host's file is opened, others are
 * computed. */
static void source_open(struct source *s, const struct fs *fs,
                        const struct node *n)
{
    *s = (struct source){.fs = fs, .node = n, .fd = -1};
    s->words = zalloc(fs->block_bytes);
    s->state = n->pattern_seed;
    if (!n->host || !S_ISREG(n->disk.mode))
        return;
    s->fd = open(n->host, O_RDONLY);
    if (s->fd < 0)
        die("%s: %s", n->host, strerror(errno));
}

static void source_close(struct source *s)
{
    if (s->fd >= 0)
        close(s->fd);
    free(s->words);
}

static void read_host(struct source *s, u64 offset, u64 n)
{
    ssize_t got = pread(s->fd, s->words, n, offset);

    if (got < 0)
        die("%s: %s", s->node->host, strerror(errno));
    if ((u64)got != n)
        die("%s: has become shorter", s->node->host);
}

static bool all_zero(const struct source *s)
{
    for (u32 i = 0; i < s->fs->block_bytes / sizeof(u64); i++)
        if (s->words[i])
            return false;
    return true;
}

/* Read the node's k-th block into s->words. Call it for each k in order. */
static enum content source_read(struct source *s, u64 k)
{
    const struct node *n = s->node;
    u64 offset = k * s->fs->block_bytes;
    u64 here = MIN(n->size - offset, s->fs->block_bytes);

    if (s->fd < 0 && !n->target && !n->pattern)
        return ZEROS;
    memset(s->words, 0, s->fs->block_bytes);
    if (n->target)
        memcpy(s->words, n->target, here);
    else if (s->fd >= 0)
        read_host(s, offset, here);
    else
        for (u64 i = 0; i < (here + 7) / 8; i++)
            s->words[i] = splitmix64(&s->state);
    memset((u8 *)s->words + here, 0, s->fs->block_bytes - here);
    if (!all_zero(s))
        return BYTES;
    return s->fs->opt->sparse && s->fd >= 0 ? HOLE : ZEROS;
}

/* ---- directories ---- */

struct packer {
    u8 *out; /* NULL: only count */
    u64 block_bytes, at, last;
};

/* Append an entry; the last of a block reaches to the block's end. */
static void pack(struct packer *p, const char *name, const struct node *n)
{
    u64 here = EXT2_ENTRY_BYTES(strlen(name));
    u64 end = ROUND_UP(p->at, p->block_bytes);

    if (p->at + here > end)
        p->at = end; /* a new block */
    else if (p->out)
        ((struct ext2_entry *)(p->out + p->last))->length = p->at - p->last;
    if (p->out) {
        struct ext2_entry *e = (struct ext2_entry *)(p->out + p->at);
        e->ino = n->ino;
        e->length = p->block_bytes - p->at % p->block_bytes;
        e->name_len = strlen(name);
        e->type = S_ISDIR(n->disk.mode)   ? ENTRY_DIR
                  : S_ISREG(n->disk.mode) ? ENTRY_FILE
                                          : ENTRY_LINK;
        memcpy(e->name, name, e->name_len);
    }
    p->last = p->at;
    p->at += here;
}

/* Put a directory's entries into out, unless out is NULL. Returns their bytes,
 * in whole blocks. */
static u64 pack_directory(const struct fs *fs, const struct node *n, u8 *out)
{
    struct packer p = {.out = out, .block_bytes = fs->block_bytes};

    pack(&p, ".", n);
    pack(&p, "..", n->parent);
    for (u32 i = 0; i < n->nchild; i++)
        pack(&p, n->child[i]->name, n->child[i]);
    u64 end = ROUND_UP(p.at, fs->block_bytes);
    for (; end < n->size; end += fs->block_bytes)
        if (out)
            ((struct ext2_entry *)(out + end))->length = fs->block_bytes;
    return end;
}

/* Write the entries of a directory and of all below it, now that the inodes
 * have numbers. */
void file_write_directories(struct fs *fs, struct node *n)
{
    if (!node_is_dir(n))
        return;
    u8 *out = zalloc(MAX(n->size, pack_directory(fs, n, NULL)));
    if (pack_directory(fs, n, out) != n->size)
        die("/%s: has outgrown its blocks", n->name);
    for (u64 at = 0; at < n->size; at += fs->block_bytes)
        layout_put(fs, n->blocks[at / fs->block_bytes], out + at);
    free(out);
    layout_put_inode(fs, n->ino, &n->disk);
    for (u32 i = 0; i < n->nchild; i++)
        file_write_directories(fs, n->child[i]);
}

/* ---- the map of a file's blocks ---- */

/*
 * The way to a file's k-th block: slot[0] in the inode, then a slot in each
 * indirect block. Returns the number of indirect blocks, or -1: too far.
 */
static int path_of(u64 k, u64 per_block, u32 slot[4])
{
    u64 span = per_block;

    slot[0] = k;
    if (k < EXT2_DIRECT)
        return 0;
    k -= EXT2_DIRECT;
    for (int levels = 1; levels <= 3; levels++, span *= per_block) {
        if (k >= span) {
            k -= span;
            continue;
        }
        slot[0] = EXT2_DIRECT - 1 + levels;
        for (int i = levels; i > 0; i--, k /= per_block)
            slot[i] = k % per_block;
        return levels;
    }
    return -1;
}

static bool is_fast_link(const struct node *n)
{
    return n->target && n->size < EXT2_LINK_INLINE;
}

/* How many blocks the node's bytes take. */
static u64 data_blocks(const struct fs *fs, const struct node *n)
{
    u64 size = node_is_dir(n) ? pack_directory(fs, n, NULL) : n->size;
    u32 slot[4];

    if (is_fast_link(n) || !size)
        return 0;
    u64 count = (size - 1) / fs->block_bytes + 1;
    if (path_of(count - 1, fs->block_bytes / 4, slot) < 0)
        die("%s: %lu bytes are too large a file for blocks of %u", n->name,
            size, fs->block_bytes);
    return count;
}

/* Return how many blocks a file takes with its blocks of pointers. slot has the
 * path of pointers to a block; only the part that differs from the path before
 * needs new blocks of pointers. */
u64 file_blocks(const struct fs *fs, const struct node *n)
{
    u64 count = data_blocks(fs, n), total = 0;
    u32 slot[4], before[4] = {~0U, ~0U, ~0U, ~0U};
    struct source source;

    source_open(&source, fs, n);
    for (u64 k = 0; k < count; k++) {
        if (fs->opt->sparse && source_read(&source, k) == HOLE)
            continue;
        int levels = path_of(k, fs->block_bytes / 4, slot);
        int shared = 0;
        while (shared < levels && slot[shared] == before[shared])
            shared++;
        total += levels - shared + 1;
        memcpy(before, slot, sizeof(slot));
    }
    source_close(&source);
    return total;
}

/* The choice of a file's blocks, in order, and the open indirect blocks. */
struct map {
    struct fs *fs;
    struct ext2_inode *inode;
    u32 next;     /* goal */
    u32 block[4]; /* of level 1 to 3, or 0 */
    u32 *entries[4];
};

/* Take the next free block from the place of the last one on, and count its
 * sectors for the inode. */
static u32 map_take(struct map *m)
{
    u32 block = layout_take(m->fs, m->next);

    m->next = block + 1;
    m->inode->blocks += m->fs->block_bytes / 512;
    return block;
}

static void map_flush(struct map *m, int level)
{
    if (m->block[level])
        layout_put(m->fs, m->block[level], m->entries[level]);
}

/* True if the file changes its group at its k-th block, with these slots. */
static bool goes_elsewhere(const struct map *m, u64 k, const u32 slot[4],
                           int levels)
{
    const struct options *opt = m->fs->opt;
    u64 part = opt->spread_bytes / m->fs->block_bytes;

    if (!S_ISREG(m->inode->mode) || !levels)
        return false;
    return ((opt->far || opt->random) && !slot[levels]) ||
           (part && (k - EXT2_DIRECT) % part == 0);
}

/* Return by how many groups the file moves on: with --random-indirect by at
 * least 1 and not back to its own group. The random number depends only on
 * m->next, not on other files. */
static u32 groups_on(const struct map *m)
{
    const struct fs *fs = m->fs;
    u64 random = fs->opt->seed + m->next;

    if (fs->opt->random && fs->ngroups > 1)
        return 1 + splitmix64(&random) % (fs->ngroups - 1);
    return MAX(fs->opt->spread_groups, 1);
}

/* Choose the k-th block, and the indirect ones on the way to it. */
static u32 map_block(struct map *m, u64 k)
{
    u32 slot[4];
    int levels = path_of(k, m->fs->block_bytes / 4, slot);
    u32 *entry = &m->inode->block[slot[0]];

    if (goes_elsewhere(m, k, slot, levels))
        m->next = layout_find_elsewhere(m->fs, m->next - 1, groups_on(m));
    for (int i = 1; i <= levels; i++) {
        if (!*entry) {
            map_flush(m, i);
            *entry = m->block[i] = map_take(m);
            memset(m->entries[i], 0, m->fs->block_bytes);
        }
        entry = &m->entries[i][slot[i]];
    }
    *entry = map_take(m);
    return *entry;
}

/*
 * - A directory's entries are written last (file_write_directories), when all
 *   inodes have their numbers. So n->blocks remembers where they will go.
 * - A block of zeros is not written: the image begins as a file of zeros.
 */
void file_lay_at(struct fs *fs, struct node *n, u32 block)
{
    struct map map = {.fs = fs, .inode = &n->disk, .next = block};
    struct source source;
    u64 count = data_blocks(fs, n);

    if (node_is_dir(n))
        n->blocks = zalloc(count * sizeof(u32));
    for (int i = 1; i <= 3; i++)
        map.entries[i] = zalloc(fs->block_bytes);
    source_open(&source, fs, n);
    for (u64 k = 0; k < count; k++) {
        enum content content = source_read(&source, k);
        if (content == HOLE)
            continue;
        u32 b = map_block(&map, k);
        if (node_is_dir(n))
            n->blocks[k] = b;
        if (content == BYTES)
            layout_put(fs, b, source.words);
    }
    source_close(&source);
    for (int i = 1; i <= 3; i++) {
        map_flush(&map, i);
        free(map.entries[i]);
    }
    n->laid = true;
}

/* ---- nodes ---- */

/* Give a file its inode and, unless that is done, its blocks. */
void file_lay(struct fs *fs, struct node *n, u32 group)
{
    struct ext2_inode *disk = &n->disk;

    n->ino = n->parent == n ? EXT2_ROOT_INO
                            : layout_take_inode(fs, group, node_is_dir(n));
    n->group = (n->ino - 1) / fs->group_inodes;
    if (is_fast_link(n))
        memcpy(disk->block, n->target, n->size);
    else if (!n->laid)
        file_lay_at(fs, n, layout_find(fs, n->group, file_blocks(fs, n)));
    if (node_is_dir(n))
        n->size = pack_directory(fs, n, NULL);
    disk->size = n->size;
    disk->size_high = n->size >> 32;
    disk->atime = disk->mtime = disk->ctime = fs->opt->time_s;
    layout_put_inode(fs, n->ino, disk);
}

void file_lay_tree(struct fs *fs, struct node *dir)
{
    for (u32 i = 0; i < dir->nchild; i++) {
        struct node *n = dir->child[i];
        bool top = node_is_dir(n) && dir->parent == dir;
        if (n->late)
            continue;
        if (!n->ino)
            file_lay(fs, n, top ? layout_emptiest(fs) : dir->group);
        file_lay_tree(fs, n);
    }
}
