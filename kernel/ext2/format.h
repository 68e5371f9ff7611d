/*
 * What lies on an ext2 disk, revision 0 and 1. Little endian throughout, as
 * this machine is. Source: Dave Poirier, "The Second Extended File System",
 * sections "Disk Organization", "Superblock", "Block Group Descriptor Table",
 * "Inode Table", "Directory Structure" and "Extended Attributes".
 *
 * Byte 1024 of the disk holds the superblock. The disk is divided into groups
 * of blocks. The table of group descriptors follows the superblock's block.
 * Each group has a bitmap of its blocks, a bitmap of its inodes and a part of
 * the table of inodes, inside the group; some groups begin with a copy of
 * superblock and descriptors, which only e2fsck uses.
 */
#pragma once

#include "kernel/base/types.h"

#define EXT2_SUPER_OFFSET 1024 /* bytes from the start of the disk */
#define EXT2_SUPER_BYTES  1024
#define EXT2_MAGIC        0xef53
#define EXT2_ROOT_INO     2
#define EXT2_JOURNAL_INO  8
#define EXT2_LINK_MAX     32000

/* s_state */
#define EXT2_VALID_FS 1 /* was unmounted cleanly */
#define EXT2_ERROR_FS 2 /* damage was found */

/* The features that a kernel must know to mount, and those that it must know to
 * write. Of the compatible features, which may be ignored, one changes where
 * groups begin. */
#define EXT2_COMPAT_HAS_JOURNAL     0x4
#define EXT2_COMPAT_SPARSE_SUPER2   0x200
#define EXT2_COMPAT_KNOWN           0x1fff /* named by e2fsprogs 1.47 */
#define EXT2_INCOMPAT_FILETYPE      0x2
#define EXT2_INCOMPAT_RECOVER       0x4 /* the journal is to be replayed */
#define EXT2_INCOMPAT_KNOWN         EXT2_INCOMPAT_FILETYPE
#define EXT2_RO_COMPAT_SPARSE_SUPER 0x1
#define EXT2_RO_COMPAT_LARGE_FILE   0x2
#define EXT2_RO_COMPAT_KNOWN \
    (EXT2_RO_COMPAT_SPARSE_SUPER | EXT2_RO_COMPAT_LARGE_FILE)

/* The rename that is under way, kept in bytes of the superblock that ext2
 * leaves unused (as of e2fsprogs 1.47), all in one sector. redo.c reads it. */
#define EXT2_INTENT_MAGIC 0x6d766973 /* else there is none */
struct ext2_named {
    u32 ino, generation;
};
struct ext2_intent {
    u32 magic;
    struct ext2_named from, to;        /* the directories */
    struct ext2_named moved, replaced; /* 0: none */
    u32 block, at; /* the old name's entry: block of `from`, byte in it */
    u8 name_len;
    char name[255]; /* the new one */
};

struct ext2_super {
    u32 inodes_count, blocks_count, r_blocks_count;
    u32 free_blocks_count, free_inodes_count;
    u32 first_data_block; /* where group 0 begins */
    u32 log_block_size;   /* block size is 1024 << this */
    u32 log_frag_size;
    u32 blocks_per_group, frags_per_group, inodes_per_group;
    u32 mtime, wtime; /* last mounted, last written */
    u16 mnt_count, max_mnt_count;
    u16 magic, state, errors, minor_rev_level;
    u32 lastcheck, checkinterval, creator_os;
    u32 rev_level;
    u16 def_resuid, def_resgid;
    /* from revision 1 on */
    u32 first_ino; /* first inode not reserved */
    u16 inode_size, block_group_nr;
    u32 feature_compat, feature_incompat, feature_ro_compat;
    u8 uuid[16];
    char volume_name[16], last_mounted[64];
    u32 algo_bitmap;
    u8 prealloc_blocks, prealloc_dir_blocks;
    u16 reserved_gdt_blocks;
    u8 journal_uuid[16]; /* of a journal on another disk */
    u32 journal_inum, journal_dev, last_orphan;
    u8 hash[17], jnl_backup_type;
    u8 some[14];
    u32 jnl_blocks[17]; /* copies of inode 8's pointers and size */
    u8 other[252];
    u32 super_groups[2]; /* with sparse_super2: that have a copy; 0: none */
    u8 others[108];
    struct ext2_intent intent;
    u8 rest[20];
};
_Static_assert(sizeof(struct ext2_super) == EXT2_SUPER_BYTES, "superblock");
_Static_assert(__builtin_offsetof(struct ext2_super, intent) == 704, "intent");
_Static_assert(__builtin_offsetof(struct ext2_super, jnl_blocks) == 0x10c,
               "jnl_blocks");

struct ext2_group {
    u32 block_bitmap, inode_bitmap, inode_table; /* block numbers */
    u16 free_blocks_count, free_inodes_count, used_dirs_count;
    u16 pad;
    u8 reserved[12];
};
_Static_assert(sizeof(struct ext2_group) == 32, "group descriptor");

#define EXT2_DIRECT      12
#define EXT2_POINTERS    15 /* 12 direct, indirect, double, triple */
#define EXT2_LINK_INLINE 60 /* a shorter link's text lies in block[] */
#define EXT2_INODE_BYTES 128

/* i_flags */
#define EXT2_INDEX_FL        0x1000     /* a directory with a hash tree */
#define EXT2_INCOMPATIBLE_FL 0x10080000 /* ext4's extents, inline data */

struct ext2_inode {
    u16 mode, uid;
    u32 size; /* low 32 bits */
    u32 atime, ctime, mtime, dtime;
    u16 gid, links_count;
    u32 blocks; /* 512-byte units */
    u32 flags, osd1;
    u32 block[EXT2_POINTERS];
    u32 generation;
    u32 file_acl;  /* block of extended attributes, or 0 */
    u32 size_high; /* of a regular file */
    u32 faddr;
    u8 osd2[12];
};
_Static_assert(sizeof(struct ext2_inode) == EXT2_INODE_BYTES, "inode");

/* A directory is a sequence of entries. No entry crosses the end of a block,
 * and the last entry of a block ends with the block. ino 0: unused space. */
struct ext2_entry {
    u32 ino;
    u16 length;        /* to the next one, a multiple of 4 */
    u8 name_len, type; /* DT_...; 0 without EXT2_INCOMPAT_FILETYPE */
    char name[];
};
#define EXT2_ENTRY_BYTES(name_len) ROUND_UP(8 + (name_len), 4)

/* Head of a block of extended attributes; inodes may share one. */
#define EXT2_XATTR_MAGIC 0xea020000
struct ext2_xattr {
    u32 magic, refcount;
};
