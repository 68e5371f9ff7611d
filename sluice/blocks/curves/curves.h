/*
 * The parts of the program `curve` (curve.c):
 *
 *   requests.c   the requests of a trace, forwards and backwards
 *   table.c      a table of blocks
 *   stack.c      LRU's stack of blocks, with the depth of each
 *   sample.c     the stack of a sample of the blocks (SHARDS)
 *   optimum.c    Belady's optimum
 *   tally.c      hits by the cache's size
 *
 * A cache holds blocks of CURVE_BLOCK bytes. A request *uses* its blocks one
 * after another. A block *hits* if it is cached when it is used; a request hits
 * if all its blocks were cached when the request came.
 */
#ifndef SLUICE_BLOCKS_CURVES_H
#define SLUICE_BLOCKS_CURVES_H

#include <stdbool.h>
#include <stddef.h>

#include "sluice/blocks/packed.h"

#define CURVE_BLOCK 4096UL

/* Print what is wrong, and end. */
void fail(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* Memory that is zero. It fails if there is none. */
void *memory(u64 count, u64 bytes);

/* ---- requests.c ---- */

/* Open the trace. Returns how many requests it has. */
u64 requests_open(const char *path);

/* The request of this number. Neighbours are read together, so that both
 * directions are fast. The pointer holds until the next call. */
const struct packed_request *request_at(u64 number);

static inline u64 first_block(const struct packed_request *r)
{
    return r->offset / CURVE_BLOCK;
}

/* The first block behind the request. */
static inline u64 end_block(const struct packed_request *r)
{
    return (r->offset + r->bytes + CURVE_BLOCK - 1) / CURVE_BLOCK;
}

/* How many bytes of a block belong to the request. */
u64 block_bytes(const struct packed_request *r, u64 block);

/* ---- table.c: a number for each block, by linear probing ---- */

struct slot {
    u64 block; /* plus 1; 0: the slot is free */
    u64 value;
};

struct table {
    struct slot *slots;
    u64 nslots, used;
};

void table_init(struct table *t);
void table_free(struct table *t);

/* The value of a block; NULL: the block is not in the table. The pointer holds
 * until the table changes. */
u64 *table_find(const struct table *t, u64 block);

/* The value of a block. If the block is not there, put it in, with value 0. */
u64 *table_put(struct table *t, u64 block);

void table_remove(struct table *t, u64 block);

/* ---- stack.c ---- */

struct stack {
    struct table at; /* of each block, the place of its last use */
    u64 *used;       /* a bit for each place: it is the last use of a block */
    u64 *sums;       /* a Fenwick tree of the bits in each group of places */
    u64 ngroups, next;
};

void stack_init(struct stack *s);

/* The depth of a block, 1 at the top; 0: it was not used before. An LRU cache
 * of this many blocks is the smallest that has the block. */
u64 stack_depth(const struct stack *s, u64 block);

/* The depth, after which the block is at the top. */
u64 stack_use(struct stack *s, u64 block);

void stack_remove(struct stack *s, u64 block);

/* ---- tally.c ---- */

/* Hits in caches of several sizes. The first `warmup` requests do not
 * count. Numbers are fractions only if they were sampled. */
struct hits {
    double requests, reads, blocks, bytes;
};

struct tally {
    u64 nsizes, warmup;
    u64 *size;         /* in blocks, rising */
    struct hits *hits; /* [i]: what hits from size i on, but not below it */
    struct hits all;   /* what there was */
};

void tally_init(struct tally *t, const u64 *size, u64 nsizes, u64 warmup);

/* The smallest size that has a block of this depth; nsizes: none. */
u64 tally_find(const struct tally *t, u64 depth);

/* Count a request, of which all blocks are in the caches from size i on. */
void tally_request(struct tally *t, const struct packed_request *r, u64 i);

/* Print the hits at each size as JSON. Sizes then have what smaller ones have,
 * if `stacked`. */
void tally_print(const struct tally *t, const char *name, bool stacked);

/* ---- the curves ---- */

/* The curve of LRU, exact (J. Mattson and others, 1970). Returns how many
 * blocks the trace touches. */
u64 lru_curve(struct tally *t, u64 nrequests);

/* A sample: the rate at the end, and the standard error of a ratio of uses. */
struct sampled {
    double rate, error;
};

/* The curve of LRU from a sample (C. Waldspurger and others, FAST 2015): the
 * blocks whose hash is below rate * 2^64. If most is not 0, the rate is lowered
 * until the sample has no more than `most` blocks. */
struct sampled sampled_curve(struct tally *t, u64 nrequests, double rate,
                             u64 most, u64 salt);

/* The hits of an optimal cache (L. Belady, 1966), at each size of the tally. A
 * block that is never used again is not kept. scratch: a folder for 8 bytes
 * for each use. misses: NULL, or a file that gets the reads that miss at the
 * one size of the tally, each from its first missing block to its last one. */
void optimum_curve(struct tally *t, u64 nrequests, const char *scratch,
                   const char *misses);

#endif
