/*
 * The write kind answers: what does a write do now?
 *
 * The kernel asks after each write of file data. A policy may delay writes
 * and start them each second, with the flush_ calls of update.h.
 */
#pragma once

#include "kernel/policy/common.h"

enum write_mode {
    WRITE_THROUGH,   /* write, and wait for the disk */
    WRITE_ASYNC,     /* start the write now, do not wait */
    WRITE_DELAYED,   /* only make the block dirty */
    WRITE_HELD_BACK, /* make it dirty, and mark it held_back */
};

/* A write of file data that has just changed one block. */
struct write_info {
    u32 disk;
    u64 blkno;
    bool program;       /* a program's; else the kernel's (every_origin) */
    bool filled;        /* the write reached the end of the block */
    u64 dirty, buffers; /* blocks dirty now; buffers in the cache */
    u64 queued;         /* requests queued at the disk now */
    u64 now_ns;
};

/* The lock of the kind is held, but not for the last. */
struct write_hooks {
    /* (required) Decide what to do with the write. */
    enum write_mode (*decide)(const struct write_info *);
    /* (optional; without it: a 16th of the cache) A process waits, for no clean
     * buffer is left: how many of the oldest dirty blocks to write, from 1. */
    u64 (*no_clean)(u64 dirty, u64 buffers);
    /* (optional) The most blocks that may be dirty or being written, from 1. A
     * writer that makes it more waits while the oldest are written. */
    u64 (*most_dirty)(u64 buffers);
    /* (optional) About a second has passed: start writes. May sleep. */
    void (*each_second)(u64 now_ns);
    /* Ask decide, with `filled`, also about writes that the update policy
     * starts or that make room. Held back, they wait for each_second. */
    bool every_origin;
    /* The cache counts as memory that keeps its contents without power: a write
     * that would be waited for, and an fsync, is done when the block is dirty.
     */
    bool keeps;
};

#include "kernel/policy/policy.h" /* the table, and POLICY() */
