/*
 * What policies of several kinds see: a block, and the state of the cache and
 * of the disks. Next to it a policy reads the header of its own kind.
 */
#pragma once

#include "kernel/base/list.h"
#include "kernel/base/tree.h"
#include "kernel/base/units.h"

#define MAX_DISKS 8 /* they are numbered from 0 */
#define NO_SECTOR UINT64_MAX

/* A buffer as a policy sees it. */
struct block {
    u32 disk;
    bool held_back; /* dirty, and the write policy holds it back */
    bool meta;      /* last written as metadata of the file system, not data */
    bool first;     /* in insert: its first use, after an insert without one */
    u64 blkno;
    u64 owner;      /* equal for blocks of one file; 0: of no file */
    u64 dirtied_ns; /* when it became dirty; 0: clean */
    u64 used;       /* grows from block to block with each use by a process */
    /* The replace policy's: link or node from insert to remove; word until the
     * buffer loses its block, 0 at first. */
    union {
        struct list link;
        struct tree_node node;
    };
    u64 word[2];
    /* The update policy's, while the block is dirty; mark is 0 at first. */
    struct list owing;
    u64 mark;
};

/* The cache now, and counts since power-on. */
struct cache_state {
    u64 buffers, writing, dirty, held_back; /* now; the last is part of dirty */
    u64 dirtied, written, hits, misses;
};

/* The requests at one disk now. */
struct disk_state {
    bool modelled; /* by a drive model, so queue_approach knows */
    u64 queued_reads, queued_writes, in_flight;
    u64 queued_ns; /* queue length times ns, summed since power-on */
};

/* Fill in the state of the cache. All of these may be called in any hook except
 * those of sched and place. */
void cache_state(struct cache_state *);
bool disk_state(u32 disk, struct disk_state *); /* false: no such disk */
