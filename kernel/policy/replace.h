/*
 * The replace kind answers: which clean buffer is the victim?
 *
 * The kernel asks when a block needs a buffer and none is free. common.h
 * describes struct block, which has room for the policy's own links and words.
 */
#pragma once

#include "kernel/policy/common.h"

/* The cache's lock is held. A buffer is evictable while it is clean and neither
 * referenced nor in transfer; if the policy takes_dirty, also while it is dirty
 * (dirtied_ns tells, and stays as it is) and can be written. */
struct replace_hooks {
    /* (required) b is evictable now: it was used, or read ahead of its first
     * use. !reuse: no program will want it again. All uses of a dirty block
     * show as one, when it is clean. */
    void (*insert)(struct block *b, bool reuse);
    /* (required) b is evictable no more: used again, or the chosen victim. */
    void (*remove)(struct block *b);
    /* (required) Choose an evictable buffer; NULL only if there is none. The
     * kernel removes it; a dirty one is written, and then it asks again. */
    struct block *(*victim)(void);
    /* (optional) A victim will be asked for, to make room for this block. */
    void (*coming)(u32 disk, u64 blkno);
    /* (optional) b, as the victim, loses its block; word is cleared after. */
    void (*evicted)(const struct block *b);
    bool takes_dirty;
};

#include "kernel/policy/policy.h" /* the table, and POLICY() */
