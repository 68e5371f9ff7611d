/*
 * The order kind answers: how does metadata reach the disk?
 *
 * ext2 changes some of its metadata in steps, each of which relies on the one
 * before it: a new inode, then its name. The kernel asks before each such
 * write. What no later step relies on (bitmaps, counts) is always delayed.
 */
#pragma once

#include "kernel/policy/common.h"

enum order_mode {
    ORDER_NOW,     /* write, and wait: later steps reach the disk later */
    ORDER_DELAYED, /* only make the block dirty, as file data */
    ORDER_LOGGED,  /* add it to a transaction of the disk's journal */
};

/* A block of metadata that has just changed, and on which later steps rely. */
struct order_info {
    u32 disk;
    u64 blkno;
    u64 owner;          /* of the block (struct block); 0: several files */
    u64 dirty, buffers; /* blocks dirty now; buffers in the cache */
    u64 now_ns;
};

/* The lock of the kind is held. */
struct order_hooks {
    /* (required) Decide what to do with the block. An fsync or a sync writes
     * what is delayed, whatever the answer. */
    enum order_mode (*decide)(const struct order_info *);
    /* (optional) Return how long after its first change a transaction is
     * committed, in ns. A policy with this hook uses journals: all its answers
     * must be ORDER_LOGGED, and all other metadata is logged, too. A policy
     * without this hook may not answer ORDER_LOGGED. */
    u64 (*commit_after_ns)(void);
};

#include "kernel/policy/policy.h" /* the table, and POLICY() */
