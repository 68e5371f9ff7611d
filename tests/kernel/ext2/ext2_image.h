/*
 * Small ext2 images in memory, made and judged without the kernel's code, for
 * the tests of it: what e2fsck and debugfs say, but thousands of times a
 * second.
 */
#ifndef SLUICE_EXT2_IMAGE_H
#define SLUICE_EXT2_IMAGE_H

#include "kernel/ext2/format.h"

/* 0: as in the comment. */
struct image_options {
    u32 block_bytes;      /* 1024 */
    u32 blocks;           /* 512, the boot block included */
    u32 blocks_per_group; /* 128 */
    u32 inodes_per_group; /* 32 */
    u32 inode_bytes;      /* 128 */
    u32 reserved_gdt;     /* blocks after the descriptors */
    bool revision_0;      /* it has no features either */
    bool no_types;        /* in directory entries */
    bool every_super;     /* each group begins with a copy of the superblock */
    bool large_file;      /* the feature */
};

/* An image with an empty root; its size in bytes. To be freed. */
u8 *image_make(const struct image_options *, u64 *bytes);

/* Where things lie in an image. */
struct ext2_super *image_super(const u8 *);
struct ext2_group *image_group(const u8 *, u32 group);
struct ext2_inode *image_inode(const u8 *, u32 ino);
u32 image_block_bytes(const u8 *);
void *image_block(const u8 *, u32 blkno);
/* The inode of a path that begins with a slash; 0: there is none. */
u32 image_ino(const u8 *, const char *path);
struct ext2_entry *image_entry(const u8 *, const char *path);
/* The disk's block of a file's block; 0: a hole. */
u32 image_map(const u8 *, u32 ino, u64 block);
bool image_used(const u8 *, u32 blkno); /* as the bitmap says */
/* Set the bits of n blocks as if somebody had them, or clear them, and the
 * counts with them. */
void image_use(u8 *, u32 first, u32 n, bool used);

/* The checks to make on an image. */
enum image_state {
    IMAGE_WHOLE, /* unmounted: everything agrees */
    IMAGE_CUT,   /* after a power cut: nothing that e2fsck -p has to ask about:
                  * no block that has two owners, no name of a free inode, no
                  * damaged directory */
    IMAGE_MOVED, /* as IMAGE_CUT; directories may have two names */
};

/* List the paths, sorted, one in a line: "PATH\tKIND ...\tNLINK". The
 * complaints are added up in *wrong, as text; both are to be freed. */
char *image_look(const u8 *, u64 bytes, enum image_state, char **wrong);

#endif
