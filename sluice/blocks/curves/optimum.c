/*
 * Belady's optimum (curves.h), in two passes.
 *
 * - Each use of a block has a number, in the order of time. The first pass goes
 *   backwards and writes the number of each use's next one to a file.
 * - The second pass goes forwards, once for each size. The cache is a set of
 *   numbers: of each cached block, the number of its next use. So a use hits if
 *   its own number is in the set, and the victim is the largest number. A block
 *   without a next use never enters.
 * - The set is a tree of bits: a bit of a level is set if a word of the level
 *   below has a bit. It takes 1/8 byte for each use and 1/63 more.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/base/types.h"
#include "sluice/blocks/curves/curves.h"

#define WORD   64UL
#define LEVELS 8
#define NEVER  (~0UL)
#define PIECE  (1UL << 16) /* numbers read or written at a time */

/* ---- a set of numbers ---- */

/* Level 0 has a bit for each number. A bit of a further level stands for a word
 * of the level before, and is set if the word is not 0. */
struct set {
    u64 *level[LEVELS], words[LEVELS];
    u32 nlevels;
    u64 count; /* of the numbers in the set */
};

/* Begin an empty set of numbers below that. Each level has a bit for each word
 * of the level below. */
static void set_init(struct set *s, u64 numbers)
{
    *s = (struct set){0};
    do {
        numbers = (numbers + WORD - 1) / WORD;
        s->words[s->nlevels] = numbers;
        s->level[s->nlevels++] = memory(numbers, sizeof(u64));
    } while (numbers > 1);
}

static void set_empty(struct set *s)
{
    for (u32 i = 0; i < s->nlevels; i++)
        memset(s->level[i], 0, s->words[i] * sizeof(u64));
    s->count = 0;
}

static bool set_has(const struct set *s, u64 n)
{
    return s->level[0][n / WORD] >> n % WORD & 1;
}

static void set_add(struct set *s, u64 n)
{
    s->count++;
    for (u32 i = 0; i < s->nlevels; i++, n /= WORD)
        s->level[i][n / WORD] |= 1UL << n % WORD;
}

/* Remove a number. A word that becomes empty has its bit cleared a level
 * higher. */
static void set_remove(struct set *s, u64 n)
{
    s->count--;
    for (u32 i = 0; i < s->nlevels; i++, n /= WORD)
        if (s->level[i][n / WORD] &= ~(1UL << n % WORD))
            return;
}

/* Return the largest member: from the top level down, the highest bit of a word
 * says which word of the next level is the last that has a bit. */
static u64 set_largest(const struct set *s)
{
    u64 n = 0;
    for (u32 i = s->nlevels; i-- > 0;)
        n = n * WORD + (WORD - 1 - __builtin_clzl(s->level[i][n]));
    return n;
}

/* ---- the file of next uses ---- */

struct next_uses {
    int file;
    u64 count, first, n; /* first, n: the piece in memory */
    u64 piece[PIECE];
};

static void open_scratch(struct next_uses *f, const char *folder)
{
    f->file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (f->file >= 0)
        return;
    char *path;
    if (asprintf(&path, "%s/uses.XXXXXX", folder) < 0)
        fail("no memory is left");
    f->file = mkostemp(path, O_CLOEXEC);
    if (f->file < 0)
        fail("%s: no file can be made there", folder);
    unlink(path);
    free(path);
}

static void write_piece(struct next_uses *f)
{
    ssize_t bytes = f->n * sizeof(u64);
    if (pwrite(f->file, f->piece, bytes, f->first * sizeof(u64)) != bytes)
        fail("the next uses cannot be written: is the disk full?");
}

/* Keep the next use of use `number`; numbers come downwards. */
static void put_next(struct next_uses *f, u64 number, u64 next)
{
    u64 first = number / PIECE * PIECE;
    if (f->n && first != f->first)
        write_piece(f);
    if (!f->n || first != f->first)
        f->n = MIN(PIECE, f->count - first);
    f->first = first;
    f->piece[number - first] = next;
}

/* The next use of use `number`; numbers come upwards. */
static u64 get_next(struct next_uses *f, u64 number)
{
    if (number < f->first || number >= f->first + f->n) {
        f->first = number / PIECE * PIECE;
        f->n = MIN(PIECE, f->count - f->first);
        ssize_t bytes = f->n * sizeof(u64);
        if (pread(f->file, f->piece, bytes, f->first * sizeof(u64)) != bytes)
            fail("the next uses cannot be read");
    }
    return f->piece[number - f->first];
}

static u64 count_uses(u64 nrequests)
{
    u64 uses = 0;
    for (u64 number = 0; number < nrequests; number++) {
        const struct packed_request *r = request_at(number);
        uses += end_block(r) - first_block(r);
    }
    return uses;
}

/* Go through all uses from the last to the first, and store when each block is
 * used next. */
static void find_next_uses(struct next_uses *f, u64 nrequests)
{
    struct table coming; /* of each block, its next use, plus 1 */
    u64 number = f->count;
    table_init(&coming);
    for (u64 i = nrequests; i-- > 0;) {
        const struct packed_request *r = request_at(i);
        for (u64 block = end_block(r); block-- > first_block(r);) {
            u64 *next = table_put(&coming, block);
            put_next(f, --number, *next ? *next - 1 : NEVER);
            *next = number + 1;
        }
    }
    write_piece(f);
    table_free(&coming);
}

/* ---- one size ---- */

struct optimum {
    struct next_uses *next;
    struct set cached;
    u64 size;
    FILE *misses; /* or NULL */
};

/* Use a block. The cache is the set of its blocks' next uses; the block whose
 * next use is the latest leaves it. Returns whether the block was cached. */
static bool use(struct optimum *o, u64 number)
{
    bool hit = set_has(&o->cached, number);
    u64 next = get_next(o->next, number);
    if (hit)
        set_remove(&o->cached, number);
    if (next != NEVER)
        set_add(&o->cached, next);
    if (o->cached.count > o->size)
        set_remove(&o->cached, set_largest(&o->cached));
    return hit;
}

/* Write a read that misses, from its first missing block to its last one. */
static void keep_miss(struct optimum *o, const struct packed_request *r,
                      u64 first, u64 end)
{
    struct packed_request kept = *r;
    kept.offset = MAX(r->offset, first * CURVE_BLOCK);
    kept.bytes = MIN(r->offset + r->bytes, end * CURVE_BLOCK) - kept.offset;
    if (fwrite(&kept, sizeof kept, 1, o->misses) != 1)
        fail("the misses cannot be written: is the disk full?");
}

/* Serve a request whose first use has this number. i: the size in the tally. */
static void serve(struct optimum *o, struct tally *t, u64 i,
                  const struct packed_request *r, u64 number, bool counts)
{
    u64 first = first_block(r), end = end_block(r), hits = 0;
    u64 miss = end, miss_end = first; /* of the blocks that miss at first */
    struct hits *h = &t->hits[i];
    for (u64 block = first; block < end; block++) {
        if (set_has(&o->cached, number + block - first)) {
            hits++;
            h->bytes += counts ? (double)block_bytes(r, block) : 0;
            continue;
        }
        miss = MIN(miss, block);
        miss_end = block + 1;
    }
    for (u64 block = first; block < end; block++)
        h->blocks += use(o, number + block - first) && counts;
    if (counts && hits == end - first) {
        h->requests++;
        h->reads += !r->write;
    }
    if (counts && o->misses && !r->write && miss < end)
        keep_miss(o, r, miss, miss_end);
}

/* Add a request to the counts of all requests. */
static void count_all(struct tally *t, const struct packed_request *r)
{
    t->all.requests++;
    t->all.reads += !r->write;
    t->all.blocks += (double)(end_block(r) - first_block(r));
    t->all.bytes += r->bytes;
}

/* Run all requests through one cache size. */
static void serve_all(struct optimum *o, struct tally *t, u64 i, u64 nrequests)
{
    u64 uses = 0;
    o->size = t->size[i];
    set_empty(&o->cached);
    for (u64 number = 0; number < nrequests; number++) {
        const struct packed_request *r = request_at(number);
        bool counts = number >= t->warmup;
        serve(o, t, i, r, uses, counts);
        uses += end_block(r) - first_block(r);
        if (counts && !i)
            count_all(t, r);
    }
}

static FILE *open_misses(const char *path)
{
    struct packed_head head = {PACKED_MAGIC, PACKED_FORM, 0};
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(&head, sizeof head, 1, f) != 1)
        fail("%s: cannot be written", path);
    return f;
}

void optimum_curve(struct tally *t, u64 nrequests, const char *scratch,
                   const char *misses)
{
    struct next_uses *next = memory(1, sizeof *next);
    struct optimum o = {.next = next};
    next->count = count_uses(nrequests);
    open_scratch(next, scratch);
    find_next_uses(next, nrequests);
    set_init(&o.cached, next->count);
    o.misses = misses ? open_misses(misses) : NULL;
    for (u64 i = 0; i < t->nsizes; i++)
        serve_all(&o, t, i, nrequests);
    if (o.misses && fclose(o.misses))
        fail("%s: cannot be written", misses);
    close(next->file);
}
