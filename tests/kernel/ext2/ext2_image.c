/*
 * Small ext2 images in memory, made and judged without the kernel's code
 * (ext2_image.h). image_look walks over an image, lists its files, and
 * complains about all that contradicts itself.
 */
#include "tests/kernel/ext2/ext2_image.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/base/abi.h"

#define FIRST_INO 11
#define LINES     4096 /* paths of an image, at most */

/* ---- where things are ---- */

struct ext2_super *image_super(const u8 *data)
{
    return (struct ext2_super *)(data + EXT2_SUPER_OFFSET);
}

u32 image_block_bytes(const u8 *data)
{
    return 1024 << image_super(data)->log_block_size;
}

void *image_block(const u8 *data, u32 blkno)
{
    return (u8 *)data + (u64)blkno * image_block_bytes(data);
}

struct ext2_group *image_group(const u8 *data, u32 g)
{
    u32 table = image_super(data)->first_data_block + 1;
    return (struct ext2_group *)image_block(data, table) + g;
}

/* Bytes of an inode. */
static u32 inode_bytes(const u8 *data)
{
    const struct ext2_super *sb = image_super(data);
    return sb->rev_level ? sb->inode_size : EXT2_INODE_BYTES;
}

struct ext2_inode *image_inode(const u8 *data, u32 ino)
{
    u32 per_group = image_super(data)->inodes_per_group;
    const struct ext2_group *g = image_group(data, (ino - 1) / per_group);
    u8 *table = image_block(data, g->inode_table);
    return (void *)(table + (ino - 1) % per_group * inode_bytes(data));
}

/* How many groups the image has. */
static u32 groups(const u8 *data)
{
    const struct ext2_super *sb = image_super(data);
    u32 span = sb->blocks_count - sb->first_data_block;
    return (span + sb->blocks_per_group - 1) / sb->blocks_per_group;
}

/* The group of a block. */
static u32 group_of(const u8 *data, u32 blkno)
{
    const struct ext2_super *sb = image_super(data);
    return (blkno - sb->first_data_block) / sb->blocks_per_group;
}

/* Return whether a bit of a bitmap is set. */
static bool bit(const u8 *map, u32 i)
{
    return map[i / 8] & 1 << i % 8;
}

static void set_bit(u8 *map, u32 i, bool set)
{
    u8 mask = 1 << i % 8;
    map[i / 8] = set ? map[i / 8] | mask : map[i / 8] & ~mask;
}

/* The bitmap that has a block, and in *at its bit. */
static u8 *block_map(const u8 *data, u32 blkno, u32 *at)
{
    const struct ext2_super *sb = image_super(data);
    u32 g = group_of(data, blkno);
    *at = (blkno - sb->first_data_block) % sb->blocks_per_group;
    return image_block(data, image_group(data, g)->block_bitmap);
}

bool image_used(const u8 *data, u32 blkno)
{
    u32 at;
    const u8 *map = block_map(data, blkno, &at);
    return bit(map, at);
}

/* Mark n blocks as used or free, with the counts of group and superblock. */
void image_use(u8 *data, u32 first, u32 n, bool used)
{
    for (u32 b = first; b < first + n; b++) {
        u32 at;
        u8 *map = block_map(data, b, &at);
        if (bit(map, at) == used)
            continue;
        set_bit(map, at, used);
        image_group(data, group_of(data, b))->free_blocks_count +=
            used ? -1 : 1;
        image_super(data)->free_blocks_count += used ? -1 : 1;
    }
}

/* Return the disk's block that holds a file's block, through up to three levels
 * of pointers; 0 is a hole. */
u32 image_map(const u8 *data, u32 ino, u64 block)
{
    const u32 *p = image_inode(data, ino)->block;
    u64 per_block = image_block_bytes(data) / 4, span = 1;
    if (block < EXT2_DIRECT)
        return p[block];
    block -= EXT2_DIRECT;
    for (u32 depth = 1; depth <= 3; depth++) {
        span *= per_block;
        if (block >= span) {
            block -= span;
            continue;
        }
        u32 at = p[EXT2_DIRECT + depth - 1];
        for (u64 s = span / per_block; at && s; s /= per_block) {
            at = ((u32 *)image_block(data, at))[block / s];
            block %= s;
        }
        return at;
    }
    return 0;
}

/* Return the directory entry of a path, or NULL. */
struct ext2_entry *image_entry(const u8 *data, const char *path)
{
    u32 dir = EXT2_ROOT_INO;
    struct ext2_entry *e = NULL;
    while (*path++) {
        size_t n = strcspn(path, "/");
        u32 bytes = image_block_bytes(data);
        e = NULL;
        for (u32 i = 0; !e && i < image_inode(data, dir)->size / bytes; i++) {
            u8 *block = image_block(data, image_map(data, dir, i));
            for (u32 at = 0; !e && at < bytes;) {
                struct ext2_entry *found = (void *)(block + at);
                if (found->ino && found->name_len == n &&
                    memcmp(found->name, path, n) == 0)
                    e = found;
                at += found->length;
            }
        }
        if (!e)
            return NULL;
        dir = e->ino;
        path += n;
    }
    return e;
}

u32 image_ino(const u8 *data, const char *path)
{
    const struct ext2_entry *e = image_entry(data, path);
    return strcmp(path, "/") == 0 ? EXT2_ROOT_INO : e ? e->ino : 0;
}

/* ---- making one ---- */

/* The value, or the other if it is 0. */
static u32 either(u32 value, u32 otherwise)
{
    return value ? value : otherwise;
}

/* Return whether n is a power of the base. */
static bool power_of(u32 n, u32 base)
{
    while (n && n % base == 0)
        n /= base;
    return n == 1;
}

/* Return whether a group begins with a copy of the superblock. */
static bool has_super(const u8 *data, u32 g)
{
    const struct ext2_super *sb = image_super(data);
    bool sparse =
        sb->rev_level && sb->feature_ro_compat & EXT2_RO_COMPAT_SPARSE_SUPER;
    return !sparse || g < 2 || power_of(g, 3) || power_of(g, 5) ||
           power_of(g, 7);
}

/* The first block of a group. */
static u32 group_start(const u8 *data, u32 g)
{
    const struct ext2_super *sb = image_super(data);
    return sb->first_data_block + g * sb->blocks_per_group;
}

/* The block after a group's last. */
static u32 group_end(const u8 *data, u32 g)
{
    const struct ext2_super *sb = image_super(data);
    u32 end = group_start(data, g) + sb->blocks_per_group;
    return MIN(end, sb->blocks_count);
}

/* Blocks at the start of a group for superblock and descriptors. */
static u32 head_blocks(const u8 *data, u32 g)
{
    u32 per_block = image_block_bytes(data) / sizeof(struct ext2_group);
    const struct ext2_super *sb = image_super(data);
    u32 reserved = sb->rev_level ? sb->reserved_gdt_blocks : 0;
    u32 table = (groups(data) + per_block - 1) / per_block;
    return has_super(data, g) ? 1 + table + reserved : 0;
}

/* Blocks of a group's table of inodes. */
static u32 table_blocks(const u8 *data)
{
    u32 bytes = image_block_bytes(data);
    u32 table = image_super(data)->inodes_per_group * inode_bytes(data);
    return (table + bytes - 1) / bytes;
}

/* First block of a group that files may have. */
static u32 data_start(const u8 *data, u32 g)
{
    return group_start(data, g) + head_blocks(data, g) + 2 + table_blocks(data);
}

/* Make a group's bitmaps and counts, with no file in it. */
static void make_group(u8 *data, u32 g)
{
    struct ext2_super *sb = image_super(data);
    struct ext2_group *gd = image_group(data, g);
    u32 start = group_start(data, g), bits = 8 * image_block_bytes(data);
    gd->block_bitmap = start + head_blocks(data, g);
    gd->inode_bitmap = gd->block_bitmap + 1;
    gd->inode_table = gd->inode_bitmap + 1;
    u8 *blocks = image_block(data, gd->block_bitmap);
    u8 *inodes = image_block(data, gd->inode_bitmap);
    u32 used = data_start(data, g) - start, n = group_end(data, g) - start;
    for (u32 i = 0; i < bits; i++) {
        set_bit(blocks, i, i < used || i >= n);
        set_bit(inodes, i,
                (g == 0 && i < FIRST_INO - 1) || i >= sb->inodes_per_group);
    }
    gd->free_blocks_count = n - used;
    gd->free_inodes_count = sb->inodes_per_group - (g == 0 ? FIRST_INO - 1 : 0);
    sb->free_blocks_count += gd->free_blocks_count;
    sb->free_inodes_count += gd->free_inodes_count;
}

/* Make the root, with "." and "..". */
static void make_root(u8 *data)
{
    u32 bytes = image_block_bytes(data), blkno = data_start(data, 0);
    const struct ext2_super *sb = image_super(data);
    bool types = sb->feature_incompat & EXT2_INCOMPAT_FILETYPE;
    image_use(data, blkno, 1, true);
    image_group(data, 0)->used_dirs_count = 1;
    *image_inode(data, EXT2_ROOT_INO) =
        (struct ext2_inode){.mode = S_IFDIR | 0755,
                            .links_count = 2,
                            .size = bytes,
                            .blocks = bytes / 512,
                            .block = {blkno}};
    struct ext2_entry *dot = image_block(data, blkno);
    struct ext2_entry *dots = (void *)((u8 *)dot + 12);
    *dot = (struct ext2_entry){EXT2_ROOT_INO, 12, 1, types ? DT_DIR : 0};
    *dots =
        (struct ext2_entry){EXT2_ROOT_INO, bytes - 12, 2, types ? DT_DIR : 0};
    memcpy(dot->name, ".", 1);
    memcpy(dots->name, "..", 2);
}

/* Set what only a superblock of revision 1 has. */
static void set_revision(struct ext2_super *sb, const struct image_options *o)
{
    sb->rev_level = 1;
    sb->first_ino = FIRST_INO;
    sb->inode_size = either(o->inode_bytes, EXT2_INODE_BYTES);
    sb->reserved_gdt_blocks = o->reserved_gdt;
    sb->feature_incompat = o->no_types ? 0 : EXT2_INCOMPAT_FILETYPE;
    sb->feature_ro_compat = (o->every_super ? 0 : EXT2_RO_COMPAT_SPARSE_SUPER) |
                            (o->large_file ? EXT2_RO_COMPAT_LARGE_FILE : 0);
}

/* Make an image of one empty directory. Options that are 0 have the usual
 * values. */
u8 *image_make(const struct image_options *o, u64 *bytes)
{
    u32 block_bytes = either(o->block_bytes, 1024);
    *bytes = (u64)either(o->blocks, 512) * block_bytes;
    u8 *data = calloc(1, *bytes);
    struct ext2_super *sb = image_super(data);
    sb->magic = EXT2_MAGIC;
    sb->state = EXT2_VALID_FS;
    sb->blocks_count = either(o->blocks, 512);
    sb->first_data_block = block_bytes == 1024;
    while (1024U << sb->log_block_size < block_bytes)
        sb->log_block_size++;
    sb->log_frag_size = sb->log_block_size;
    sb->blocks_per_group = either(o->blocks_per_group, 128);
    sb->frags_per_group = sb->blocks_per_group;
    sb->inodes_per_group = either(o->inodes_per_group, 32);
    sb->inodes_count = groups(data) * sb->inodes_per_group;
    sb->max_mnt_count = UINT16_MAX;
    if (!o->revision_0)
        set_revision(sb, o);
    for (u32 g = 0; g < groups(data); g++)
        make_group(data, g);
    make_root(data);
    return data;
}

/* ---- judging one ---- */

/* What image_look knows so far of an image. */
struct looking {
    const u8 *data;
    u64 bytes;
    enum image_state state;
    FILE *wrong;
    u32 blocks, inodes;
    u32 *owner; /* by block: an inode's number, or OWN */
    u32 *names; /* by inode: how many lead to it */
    u32 lines;
    char *line[LINES];
};

#define OWN (~0U)

/* Add a line to the complaints. */
static void complain(struct looking *l, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Add a line to what is wrong. */
static void complain(struct looking *l, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vfprintf(l->wrong, fmt, ap);
    va_end(ap);
    fputc('\n', l->wrong);
}

/* Return whether everything must agree. */
static bool whole(const struct looking *l)
{
    return l->state == IMAGE_WHOLE;
}

/* Note that an inode has a block; false, after a complaint: there is no such
 * block. */
static bool claim(struct looking *l, u32 ino, u32 blkno)
{
    if (blkno >= l->blocks) {
        complain(l, "inode %u has block %u, outside the disk", ino, blkno);
        return false;
    }
    if (l->owner[blkno] == ino && ino != OWN)
        complain(l, "inode %u has block %u twice", ino, blkno);
    else if (l->owner[blkno])
        complain(l, "block %u is %u's and inode %u's", blkno, l->owner[blkno],
                 ino);
    l->owner[blkno] = ino;
    return true;
}

/* The sums over a file's blocks. */
struct gathered {
    u64 count;   /* with those of pointers */
    u64 end;     /* after the last of data */
    u64 present; /* of data */
    u64 hash;    /* of contents up to the size: zeros are as a hole */
    u64 size;
    bool dirt; /* what follows the end is not zero */
};

/* Add a block of a file's data to the sums. */
static void gather_data(struct looking *l, u64 block, u32 blkno,
                        struct gathered *g)
{
    u32 bytes = image_block_bytes(l->data);
    const u8 *data = image_block(l->data, blkno);
    u64 left = g->size > block * bytes ? g->size - block * bytes : 0;
    g->end = block + 1;
    g->present++;
    for (u32 i = 0; i < bytes; i++) {
        if (i % 8 == 0 && !*(const u64 *)(data + i)) {
            i += 7; /* zeros change no sum */
            continue;
        }
        if (data[i] && i < left)
            g->hash = (g->hash ^ data[i] ^ (block * bytes + i) << 8) *
                      0x100000001b3UL;
        g->dirt |= data[i] && i >= left;
    }
}

/* Add a block to the sums, at `depth` levels of pointers above data, and what
 * it points to. */
static void gather(struct looking *l, u32 ino, u32 blkno, u32 depth, u64 block,
                   struct gathered *g)
{
    u64 per_block = image_block_bytes(l->data) / 4, span = 1;
    if (!blkno || !claim(l, ino, blkno))
        return;
    g->count++;
    if (depth == 0) {
        gather_data(l, block, blkno, g);
        return;
    }
    for (u32 i = 1; i < depth; i++)
        span *= per_block;
    const u32 *p = image_block(l->data, blkno);
    for (u64 i = 0; i < per_block; i++)
        gather(l, ino, p[i], depth - 1, block + i * span, g);
}

/* The sums over all blocks of a file. */
static struct gathered gather_inode(struct looking *l, u32 ino)
{
    const struct ext2_inode *in = image_inode(l->data, ino);
    u64 per_block = image_block_bytes(l->data) / 4, start = EXT2_DIRECT;
    struct gathered g = {.hash = 0xcbf29ce484222325UL, .size = in->size};
    if (S_ISREG(in->mode))
        g.size |= (u64)in->size_high << 32;
    for (u32 i = 0; i < EXT2_DIRECT; i++)
        gather(l, ino, in->block[i], 0, i, &g);
    for (u64 depth = 1, span = per_block; depth <= 3; depth++) {
        gather(l, ino, in->block[EXT2_DIRECT + depth - 1], depth, start, &g);
        start += span;
        span *= per_block;
    }
    return g;
}

/* True for an empty directory without blocks, which is about to be removed. */
static bool is_husk(const struct ext2_inode *in)
{
    return in->mode == (S_IFDIR | 0700) && in->links_count == 2 && !in->size &&
           !in->block[0];
}

/* Claim the block of the inode's extended attributes, if there is one. */
static void check_attributes(struct looking *l, u32 ino, struct gathered *g)
{
    const struct ext2_inode *in = image_inode(l->data, ino);
    if (!in->file_acl)
        return;
    const struct ext2_xattr *x = image_block(l->data, in->file_acl);
    if (!l->owner[in->file_acl] && x->refcount == 1)
        claim(l, ino, in->file_acl);
    else
        l->owner[in->file_acl] = ino;
    g->count++;
}

/* Complain where the inode's size or its count of sectors does not fit the
 * blocks that were gathered. */
static void check_size(struct looking *l, u32 ino, const struct gathered *g)
{
    const struct ext2_inode *in = image_inode(l->data, ino);
    u64 bytes = image_block_bytes(l->data);
    u64 blocks = (g->size + bytes - 1) / bytes;
    if (in->blocks != g->count * (bytes / 512))
        complain(l, "inode %u counts %u sectors, has %lu", ino, in->blocks,
                 g->count * (bytes / 512));
    if (g->end > blocks)
        complain(l, "inode %u has a block past its end", ino);
    if (g->dirt)
        complain(l, "inode %u has data past its end", ino);
    if (in->dtime)
        complain(l, "inode %u is in use, but deleted", ino);
    if (!S_ISREG(in->mode) && in->size_high)
        complain(l, "inode %u: high size %u", ino, in->size_high);
    if (g->size > INT32_MAX && image_super(l->data)->rev_level &&
        !(image_super(l->data)->feature_ro_compat & EXT2_RO_COMPAT_LARGE_FILE))
        complain(l, "inode %u is large, which the superblock denies", ino);
}

/* The word for a kind of file. */
static const char *kind_of(u32 mode)
{
    return S_ISREG(mode)   ? "file"
           : S_ISDIR(mode) ? "dir"
           : S_ISLNK(mode) ? "link"
           : S_ISCHR(mode) ? "device"
                           : "other";
}

/* The type that a directory's entry has for a kind of file. */
static u32 type_of(u32 mode)
{
    return S_ISREG(mode)   ? DT_REG
           : S_ISDIR(mode) ? DT_DIR
           : S_ISLNK(mode) ? DT_LNK
           : S_ISCHR(mode) ? DT_CHR
                           : 0;
}

/* Add a path's line to the list. */
static void add_line(struct looking *l, u32 ino, const char *path, u64 hash)
{
    const struct ext2_inode *in = image_inode(l->data, ino);
    char text[64] = "";
    if (S_ISLNK(in->mode)) {
        const char *from = in->block[0] && in->size < EXT2_LINK_INLINE
                               ? (const char *)in->block
                               : image_block(l->data, in->block[0]);
        hash = in->size;
        for (u32 i = 0; i < in->size; i++)
            hash = (hash ^ from[i]) * 0x100000001b3UL;
    } else if (S_ISCHR(in->mode)) {
        hash = in->block[0];
    }
    if (S_ISDIR(in->mode))
        snprintf(text, sizeof(text), "dir %o", in->mode & 07777);
    else
        snprintf(text, sizeof(text), "%s %o %u %lx", kind_of(in->mode),
                 in->mode & 07777, in->size, hash);
    char *line = malloc(strlen(path) + 100);
    sprintf(line, "%s\t%s\t%u\n", *path ? path : "/", text, in->links_count);
    if (l->lines == LINES)
        abort();
    l->line[l->lines++] = line;
}

static void look_at(struct looking *, u32 ino, u32 parent, const char *path);

/* Complain where an entry that is in use is wrong. The first two entries of a
 * directory must be "." and "..", the first one and two bytes of "..". */
static void look_entry(struct looking *l, u32 dir, u32 parent,
                       const struct ext2_entry *e, u32 number, const char *path)
{
    char below[4096];
    bool dots = number < 2;
    u32 want = number == 0 ? dir : number == 1 ? parent : e->ino;
    bool named =
        e->name_len == number + 1 && memcmp(e->name, "..", number + 1) == 0;
    if (dots && (!named || (e->ino != want && l->state != IMAGE_MOVED)))
        complain(l, "%s: entry %u is wrong: inode %u, not %u", path, number,
                 e->ino, want);
    if (e->ino != EXT2_ROOT_INO && (e->ino < FIRST_INO || e->ino > l->inodes)) {
        complain(l, "%s: an entry names inode %u", path, e->ino);
        return;
    }
    const struct ext2_inode *in = image_inode(l->data, e->ino);
    bool types =
        image_super(l->data)->feature_incompat & EXT2_INCOMPAT_FILETYPE;
    if (e->type != (types ? type_of(in->mode) : 0) &&
        !(is_husk(in) && !whole(l)))
        complain(l, "%s: %.*s has type %u", path, e->name_len, e->name,
                 e->type);
    if (dots) {
        l->names[e->ino]++;
        return;
    }
    snprintf(below, sizeof(below), "%s/%.*s", path, e->name_len, e->name);
    look_at(l, e->ino, dir, below);
}

/* Look at all entries of a directory. */
static void look_directory(struct looking *l, u32 ino, u32 parent,
                           const char *path)
{
    u32 bytes = image_block_bytes(l->data), number = 0;
    const struct ext2_inode *in = image_inode(l->data, ino);
    if (in->size == 0 || in->size % bytes)
        complain(l, "%s: a directory of %u bytes", path, in->size);
    for (u32 i = 0; i < in->size / bytes; i++) {
        u32 blkno = image_map(l->data, ino, i);
        if (!blkno || blkno >= l->blocks) {
            complain(l, "%s: block %u is not there", path, i);
            return;
        }
        u8 *block = image_block(l->data, blkno);
        for (u32 at = 0; at < bytes;) {
            const struct ext2_entry *e = (void *)(block + at);
            u32 least = EXT2_ENTRY_BYTES(e->name_len);
            if (bytes - at < 12 || e->length < MAX(least, 12) ||
                e->length % 4 || e->length > bytes - at ||
                (e->ino && !e->name_len)) {
                complain(l, "%s: block %u is damaged at %u", path, i, at);
                return;
            }
            if (e->ino)
                look_entry(l, ino, parent, e, number++, path);
            at += e->length;
        }
    }
}

/* The name that what a rename replaces has meanwhile is not counted. */
static bool is_spare(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && strncmp(slash, "/.replaced.", 11) == 0;
}

/* Look at a path: its inode, and what is below it. */
static void look_at(struct looking *l, u32 ino, u32 parent, const char *path)
{
    const struct ext2_inode *in = image_inode(l->data, ino);
    bool first = l->names[ino] == 0;
    if (first || whole(l) || !is_spare(path))
        l->names[ino]++;
    if (in->links_count == 0) {
        complain(l, "%s names inode %u, which is free", path, ino);
        return;
    }
    if (is_husk(in) && !whole(l))
        return; /* e2fsck -p removes the name and it */
    if (!first && S_ISDIR(in->mode)) {
        if (l->state == IMAGE_MOVED)
            add_line(l, ino, path, 0);
        else
            complain(l, "%s: directory %u has another name", path, ino);
        return;
    }
    struct gathered g = {0};
    if (first && (S_ISREG(in->mode) || S_ISDIR(in->mode) ||
                  (S_ISLNK(in->mode) && in->size >= EXT2_LINK_INLINE)))
        g = gather_inode(l, ino);
    else if (S_ISREG(in->mode)) { /* another name: only for the hash */
        struct looking again = *l;
        again.wrong = fopen("/dev/null", "w");
        g = gather_inode(&again, ino);
        fclose(again.wrong);
    }
    if (first)
        check_attributes(l, ino, &g);
    if (first && whole(l) && !S_ISLNK(in->mode) && !S_ISCHR(in->mode))
        check_size(l, ino, &g);
    add_line(l, ino, path, g.hash);
    if (S_ISDIR(in->mode))
        look_directory(l, ino, parent, path);
}

/* Complain about inodes that no name leads to. On a whole disk there must be
 * none; after a power cut they may have no block that another file has. */
static void look_nameless(struct looking *l)
{
    for (u32 ino = 1; ino <= l->inodes; ino++) {
        const struct ext2_inode *in = image_inode(l->data, ino);
        if (l->names[ino] || (ino < FIRST_INO && ino != EXT2_ROOT_INO))
            continue;
        if (in->links_count && whole(l))
            complain(l, "inode %u has no name", ino);
        else if (in->links_count && (S_ISREG(in->mode) || S_ISDIR(in->mode)))
            gather_inode(l, ino);
        static const u32 none[EXT2_POINTERS];
        bool empty = !in->size && !in->size_high && !in->blocks &&
                     !memcmp(in->block, none, sizeof(none)) && !in->file_acl;
        if (!in->links_count && in->mode && whole(l) && (!empty || !in->dtime))
            complain(l, "inode %u is free, but not empty", ino);
    }
}

/* Complain where a link count is not the number of names. After a power cut a
 * count may be larger; a directory's or a husk's may be any number. */
static void check_links(struct looking *l)
{
    for (u32 ino = 1; ino <= l->inodes; ino++) {
        const struct ext2_inode *in = image_inode(l->data, ino);
        u32 names = l->names[ino] - (ino == EXT2_ROOT_INO);
        if (!l->names[ino] || in->links_count == names ||
            (!whole(l) &&
             (is_husk(in) || S_ISDIR(in->mode) || in->links_count > names)))
            continue;
        complain(l, "inode %u counts %u names, has %u", ino, in->links_count,
                 names);
    }
}

/* Complain where a group's bitmaps and counts do not fit what was found; add
 * what is free. */
static void check_group(struct looking *l, u32 g, u32 *free_blocks,
                        u32 *free_inodes)
{
    const struct ext2_super *sb = image_super(l->data);
    const struct ext2_group *gd = image_group(l->data, g);
    u32 start = group_start(l->data, g), n = group_end(l->data, g) - start;
    const u8 *blocks = image_block(l->data, gd->block_bitmap);
    const u8 *inodes = image_block(l->data, gd->inode_bitmap);
    u32 bits = 8 * image_block_bytes(l->data), free = 0, dirs = 0, inos = 0;
    for (u32 i = 0; i < bits; i++) {
        bool used = i >= n || l->owner[start + i];
        free += !used;
        if (bit(blocks, i) != used)
            complain(l, "block %u: the bitmap says %u", start + i, !used);
    }
    for (u32 i = 0; i < bits; i++) {
        u32 ino = g * sb->inodes_per_group + i + 1;
        bool used = i >= sb->inodes_per_group || ino < FIRST_INO ||
                    image_inode(l->data, ino)->links_count;
        inos += !used;
        if (bit(inodes, i) != used)
            complain(l, "inode %u: the bitmap says %u", ino, !used);
        if (used && i < sb->inodes_per_group)
            dirs += S_ISDIR(image_inode(l->data, ino)->mode);
    }
    if (gd->free_blocks_count != free || gd->free_inodes_count != inos ||
        gd->used_dirs_count != dirs)
        complain(l, "group %u counts %u %u %u, has %u %u %u", g,
                 gd->free_blocks_count, gd->free_inodes_count,
                 gd->used_dirs_count, free, inos, dirs);
    *free_blocks += free;
    *free_inodes += inos;
}

/* Complain where the counts of the groups or the superblock are wrong. */
static void check_counts(struct looking *l)
{
    const struct ext2_super *sb = image_super(l->data);
    u32 blocks = 0, inodes = 0;
    for (u32 g = 0; g < groups(l->data); g++)
        check_group(l, g, &blocks, &inodes);
    if (sb->free_blocks_count != blocks || sb->free_inodes_count != inodes)
        complain(l, "the superblock counts %u %u, there are %u %u",
                 sb->free_blocks_count, sb->free_inodes_count, blocks, inodes);
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The lines in order as one text. */
static char *join(struct looking *l)
{
    char *text;
    size_t n;
    FILE *f = open_memstream(&text, &n);
    qsort(l->line, l->lines, sizeof(*l->line), compare_lines);
    for (u32 i = 0; i < l->lines; i++) {
        fputs(l->line[i], f);
        free(l->line[i]);
    }
    fclose(f);
    return text;
}

/* Walk over an image from the root, count what it has, and compare that with
 * its bitmaps and counts. Returns the lines of its tree; *wrong is what
 * contradicts itself. */
char *image_look(const u8 *data, u64 bytes, enum image_state state,
                 char **wrong)
{
    const struct ext2_super *sb = image_super(data);
    size_t n;
    struct looking l = {.data = data,
                        .bytes = bytes,
                        .state = state,
                        .wrong = open_memstream(wrong, &n),
                        .blocks = sb->blocks_count,
                        .inodes = sb->inodes_count};
    l.owner = calloc(l.blocks + 1, sizeof(*l.owner));
    l.names = calloc(l.inodes + 1, sizeof(*l.names));
    for (u32 g = 0; g < groups(data); g++)
        for (u32 b = group_start(data, g); b < data_start(data, g); b++)
            claim(&l, OWN, b);
    look_at(&l, EXT2_ROOT_INO, EXT2_ROOT_INO, "");
    look_nameless(&l);
    check_links(&l);
    if (whole(&l))
        check_counts(&l);
    fclose(l.wrong);
    free(l.owner);
    free(l.names);
    return join(&l);
}
