/* Steps of tests of the cache, on blocks of disk 0, on top of rig.h. */
#ifndef SLUICE_NATIVE_BLOCKS_H
#define SLUICE_NATIVE_BLOCKS_H

#include "tests/support/native/told.h"
#include "kernel/base/abi.h"
#include "kernel/cache/bcache.h"
#include "kernel/proc/proc.h"
#include "kernel/policy/registry.h"

#define NONE_FURTHER (&(const struct further_reads){0})

static inline struct disk *disk0(void)
{
    return disk_get(0);
}

/* `policy use`, and `policy set`. */
static inline void control(const char *line)
{
    char why[POLICY_LINE_BYTES];
    check_eq(policy_control(line, why), 0);
}

/* Read a block and release it. */
static inline void read_in(u64 blkno)
{
    struct buf *b = bread(disk0(), blkno);
    check(b);
    brelse(b);
}

/* Read blocks first to first + n - 1 into the cache. */
static inline void fill(u64 first, u64 n)
{
    for (u64 i = 0; i < n; i++)
        read_in(first + i);
}

/* Overwrite a whole block by a delayed write. */
static inline void dirty(u64 blkno, u64 owner)
{
    bdwrite(getblk(disk0(), blkno), owner);
}

static inline void dirty_all(u64 first, u64 n)
{
    for (u64 i = 0; i < n; i++)
        dirty(first + i, 0);
}

/* Return the buffer that has the block, or NULL, without calling the cache. */
static inline struct buf *buffer_of(u64 blkno)
{
    for (u64 i = 0; i < bcache.used; i++)
        if (bcache.bufs[i].disk == disk0() &&
            bcache.bufs[i].block.blkno == blkno)
            return &bcache.bufs[i];
    return NULL;
}

/* Return the state of a disk's block. */
static inline enum found found_on(const struct disk *d, u64 blkno)
{
    for (u64 i = 0; i < bcache.used; i++)
        if (bcache.bufs[i].disk == d && bcache.bufs[i].block.blkno == blkno)
            return found_of(&bcache.bufs[i]);
    return MISSING;
}

static inline bool is_dirty(u64 blkno)
{
    struct buf *b = buffer_of(blkno);
    return b && b->flags & B_DELWRI && b->block.dirtied_ns;
}

/* Forget all notes so far. */
static inline void forget_all(void)
{
    forget("notes");
    forget("commands");
    forget("trace");
    forget("console");
}

/* Expect that no buffer is held and no request is in progress. */
static inline void check_at_rest(void)
{
    check_eq(bio_busy(), 0);
    check_eq(bcache.holders, 0);
    check_eq(bcache.nwriting, 0);
    check_eq(in_flight(), 0);
    check_eq(myproc()->buffers_held, 0);
}

#endif
