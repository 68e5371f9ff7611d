/*
 * mkfs lays out an ext2 image from a folder; this is what its files share.
 *
 *   mkfs.c    options; the order of the steps
 *   layout.c  geometry, bitmaps, allocation, superblock and descriptors
 *   tree.c    what goes into the image, as a tree of nodes in memory
 *   file.c    blocks and contents of files, links and directories
 *   age.c     filler files under /aged
 *   scatter.c files at places drawn at random
 *   journal.c an empty journal
 *   log.c     reads disks with a virtual log
 *
 * - Everything is checked before the image is begun. The image is written under
 *   a temporary name and renamed at the end. Any error ends the program.
 * - Bitmaps and the tree are in memory, contents go straight to the image.
 *   Blocks that are not written are holes of the host's file, which read as
 *   zeros.
 * - Block numbers are the image's own; groups are counted from 0.
 */
#ifndef SLUICE_MKFS_H
#define SLUICE_MKFS_H

#include "kernel/ext2/format.h"

#define MAX_LIST 256 /* --file and --at options */

struct options {
    u64 block_bytes;
    u64 size_bytes;
    u64 group_bytes;     /* 0: the format's maximum */
    u64 bytes_per_inode; /* 0: the default for the block size */
    u64 reserved_percent;
    u64 journal_bytes; /* 0: none */
    u64 seed;
    u64 time_s;       /* of every file, since 1970 */
    u64 fill_percent; /* 0: no ageing */
    u64 fragment_percent;
    const char *pattern; /* NULL: --file contents are zeros */
    u64 pattern_seed;
    bool sparse;        /* blocks of zeros become holes */
    bool far;           /* pointer blocks begin in other groups, as in FFS */
    bool random;        /* in groups drawn at random */
    const char *spread; /* SIZE[:GROUPS]; NULL: files are in one piece */
    u64 spread_bytes;   /* a file changes its group after so many bytes */
    u32 spread_groups;  /* by how many groups it moves on */
    const char *label;
    const char *folder; /* NULL: an empty image */
    const char *image;
    const char *from_log;          /* NULL: the image is made, not read */
    const char *file[MAX_LIST];    /* PATH=SIZE, up to a NULL */
    const char *at[MAX_LIST];      /* PATH=GROUP[:BLOCK], ended by NULL too */
    const char *scatter[MAX_LIST]; /* PATH=COUNT:SIZE, ended by NULL too */
};

/* The image being made. */
struct fs {
    const struct options *opt;
    int fd;
    u32 block_bytes;
    u32 nblocks;      /* in the file system, block 0 included */
    u32 first_block;  /* of group 0: 1 with 1 KiB blocks, else 0 */
    u32 group_blocks; /* in a whole group */
    u32 ngroups;
    u32 descriptor_blocks;
    u32 group_inodes;
    u32 table_blocks; /* of inodes, in each group */
    u32 reserved;     /* blocks kept for root */
    u32 data_blocks;  /* all but superblocks, bitmaps and tables */
    u8 *block_used;   /* bit i: block first_block + i */
    u8 *inode_used;   /* bit i: inode i + 1 */
    u32 *free_blocks; /* by group */
    u32 *free_inodes; /* by group */
    u32 *directories; /* by group */
    u32 *lowest_free; /* by group: no free block is below */
    u32 journal[17];  /* its inode's pointers and size; 0: there is none */
};

/* A file, directory or symbolic link of the new image. */
struct node {
    char *name;
    char *host;       /* its path on the host, or NULL */
    char *target;     /* of a symbolic link */
    u64 pattern_seed; /* of a patterned file */
    bool pattern;
    bool laid; /* data is in the image */
    bool scattered;
    u64 size; /* bytes; of a directory: at least these */
    struct node *parent, **child;
    u32 nchild;
    u32 ino;     /* 0: none yet */
    u32 group;   /* of its inode, and preferred for its data */
    bool late;   /* laid by age() */
    u32 *blocks; /* of a directory: where its data is */
    struct ext2_inode disk;
};

/* mkfs.c */
void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
void *zalloc(u64 bytes);
char *text(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Parse a number with an optional K, M or G. False if the text is not one. */
bool parse_size(const char *, u64 *);
/* One output of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom
 * number generators, 2014); advances the state. */
u64 splitmix64(u64 *state);

/* layout.c */
void layout_plan(struct fs *, const struct options *);
u64 layout_free(const struct fs *); /* blocks */
u64 layout_free_inodes(const struct fs *);
u32 layout_group_start(const struct fs *, u32 group);
u32 layout_group_of(const struct fs *, u32 block);
u32 layout_emptiest(const struct fs *); /* the group */
u32 layout_data_start(const struct fs *, u32 group);
/* The start of n neighbouring free blocks, in this group or the next that has
 * them; if no group has them, the first free block from the group on. */
u32 layout_find(const struct fs *, u32 group, u32 n);
/* The first free block of the first group that has at least its share of the
 * free blocks. The search begins groups_on groups after the block's group. */
u32 layout_find_elsewhere(const struct fs *, u32 block, u32 groups_on);
bool layout_is_free(const struct fs *, u32 block);
bool layout_are_free(const struct fs *, u32 block, u32 n); /* in one group */
u32 layout_take(struct fs *, u32 goal); /* first free one at or after */
void layout_give_back(struct fs *, u32 block);
u32 layout_take_inode(struct fs *, u32 group, bool directory);
void layout_put(struct fs *, u32 block, const void *);
void layout_put_inode(struct fs *, u32 ino, const struct ext2_inode *);
void layout_write(struct fs *); /* superblocks, bitmaps */

/* tree.c: names in a node's list of children are sorted. */
#define LOST_FOUND "lost+found"
#define AGED       "aged"
struct node *tree_build(const struct options *);
struct node *tree_add(struct node *dir, const char *name, u16 mode);
struct node *tree_find(struct node *root, const char *path); /* or NULL */
/* A file, and the directories on its way; option and arg: for errors. */
struct node *tree_add_file(struct node *root, const char *path,
                           const char *option, const char *arg);
bool node_is_dir(const struct node *);

/* file.c */
u64 file_blocks(const struct fs *, const struct node *); /* with indirect */
/* Write the node's data, beginning at this block. */
void file_lay_at(struct fs *, struct node *, u32 block);
/* Give the node an inode in this group or a later one, and write the inode and,
 * unless laid, the data. For directories only choose the blocks. */
void file_lay(struct fs *, struct node *, u32 group);
/* file_lay for all below a directory that has an inode, but not /aged. */
void file_lay_tree(struct fs *, struct node *dir);
/* Write all directories. Call it when every inode is known. */
void file_write_directories(struct fs *, struct node *);

/* scatter.c: the files of a --scatter, and the places of all of them. */
void scatter_add(const struct options *, struct node *root, const char *arg);
void scatter(struct fs *, struct node *root);

/* age.c: fill the image with what --fill and --fragment ask for. */
void age(struct fs *, struct node *aged);

/* journal.c */
void journal_check(const struct options *);
u64 journal_blocks(const struct fs *); /* with indirect; 0: there is none */
void journal_lay(struct fs *);

/* log.c */
u64 log_read(const char *path); /* a disk; returns the bytes of its blocks */
u64 log_write(int fd);          /* the blocks ever written; returns how many */

#endif
