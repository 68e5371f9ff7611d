/*
 * The prefetch kind answers: which blocks to read before they are asked for?
 *
 * The kernel asks before each read of a file. It tells apart the streams in
 * which the file is read, and keeps four words of each for the policy.
 */
#pragma once

#include "kernel/policy/common.h"

/* One of the sequences in which an open file is read, told apart by `follows`.
 * All zero when it begins, and when the policy is put to use. */
struct stream {
    u64 next_block; /* after the last block read; 0: this read begins it */
    u64 used;       /* the number of its last read; 0: none */
    u64 word[4];    /* the policy's */
};

/* The state of a block when a program asked for it. */
enum found {
    MISSING, /* it must be read */
    COMING,  /* its read is under way */
    CACHED,
};

/* The program's hint about an open file (abi.h, advise). */
enum hint { HINT_NONE, HINT_SEQUENTIAL, HINT_RANDOM };

/* A read of file blocks, about to be done. */
struct access {
    u64 block, nblocks; /* the blocks that the program asks for */
    u64 file_blocks;    /* length of the file */
    u32 block_bytes;
    enum found found; /* the first of them */
    enum hint hint;
};

/* True if a read goes on where the stream's last one ended, or in its last
 * block. A stream that begins is at the file's first block. */
static inline bool goes_on(const struct stream *s, const struct access *a)
{
    return a->block <= s->next_block && a->block + 1 >= s->next_block;
}

/* Blocks of a file: n from `first` on, n from first + step on, and so on, in
 * all `times` times. The hook is given n = 0 (none) and times = 1. */
struct readahead {
    u64 first, n, times;
    i64 step;
};

/* The lock of the kind is held. */
struct prefetch_hooks {
    /* (required) Choose blocks to start reading besides those asked for. Blocks
     * that are cached, or beyond the share of the cache that prefetching may
     * fill, are left out. Blocks off the file are a fault. */
    void (*readahead)(struct stream *, const struct access *,
                      struct readahead *);
    /* (optional; without it: goes_on) True if this read belongs to the stream,
     * which has had one at least. A read that belongs to none begins one. */
    bool (*follows)(const struct stream *, const struct access *);
    /* Do not ask while the hint is HINT_RANDOM; start to read what a program
     * says it will need, and evict next what it says it will not. */
    bool takes_hints;
    /* (optional) True if each block of a call is a read of its own, asked about
     * and waited for before the next, by a command that nothing joins. */
    bool (*by_block)(void);
};

#include "kernel/policy/policy.h" /* the table, and POLICY() */
