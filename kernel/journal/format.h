/*
 * What lies in the journal of ext3, a file whose blocks are a log. Big endian.
 * Source: "Ext4 Disk Layout", section "Journal (jbd2)", of the Linux kernel's
 * documentation; what e2fsck 1.47 and Linux 6.12 make of unusual logs was
 * found by trying.
 *
 * Block 0 of the log is its superblock. The rest is a ring of transactions,
 * each with the next sequence number: descriptors, each followed by the blocks
 * that its tags name; blocks of revokes; and at the end a commit block. Without
 * one the transaction does not count, nor do those after it.
 */
#pragma once

#include "kernel/base/types.h"

#define JOURNAL_MAGIC      0xc03b3998
#define JOURNAL_BLOCKS_MIN 1024 /* Linux takes no shorter log */

enum journal_block {
    JOURNAL_DESCRIPTOR = 1,
    JOURNAL_COMMIT,
    JOURNAL_SUPER_1, /* ends before feature_compat */
    JOURNAL_SUPER_2,
    JOURNAL_REVOKE,
};

#define be32(n) __builtin_bswap32(n)
#define be16(n) __builtin_bswap16(n)

/* Every block of the log begins with one, except copies of blocks. */
struct journal_head {
    u32 magic, type, sequence;
};

struct journal_super {
    struct journal_head head;
    u32 block_bytes, blocks; /* the superblock's included */
    u32 first;               /* where the ring begins */
    u32 sequence, start;     /* of the oldest transaction; start 0: none */
    u32 error;               /* the file system was found damaged */
    u32 feature_compat, feature_incompat, feature_ro_compat;
    u8 uuid[16];
    u32 users; /* file systems whose journal it is */
    u8 rest[956];
};
_Static_assert(sizeof(struct journal_super) == 1024, "journal's superblock");

#define JOURNAL_INCOMPAT_REVOKE 0x1 /* there may be blocks of revokes */

/* After the head of a descriptor: a tag for each block that follows it. */
struct journal_tag {
    u32 blkno; /* of the file system: the block's home */
    u16 checksum, flags;
};
#define TAG_ESCAPED    1 /* the block begins with the magic; in the log with 0 */
#define TAG_SAME_UUID  2 /* else 16 bytes of UUID follow the tag */
#define TAG_LAST       8
#define TAG_UUID_BYTES 16

/* Numbers of blocks follow: their copies in this transaction and in older ones
 * do not count. */
struct journal_revokes {
    struct journal_head head;
    u32 bytes; /* in use, with this head */
};
