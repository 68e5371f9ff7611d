/*
 * The curve of LRU from a sample of the blocks (curves.h).
 *
 * - A block is sampled if its hash is below a limit. So either all uses of a
 *   block are sampled, or none. A depth in the sample, divided by the rate, is
 *   an estimate of the depth in the stack of all blocks.
 * - Each sampled use stands for 1 / rate uses. With a sample of a fixed size,
 *   the rate falls when a further block comes: the block with the largest hash
 *   goes, and its hash is the new limit.
 * - Popular blocks are sampled or not by chance, so the uses do not add up. The
 *   difference from the true number counts as hits of the smallest depth, as
 *   the paper's SHARDS-adj does (section 3.2 there).
 * - The standard error of the number of uses is estimated by that of D. Horvitz
 *   and D. Thompson (1952): each sampled block adds the square of its uses,
 *   times (1 - rate) / rate^2. No ratio of the curve has a larger one, apart
 *   from the error of depths, which is small in caches of many sampled blocks.
 * - Requests are not estimated: all blocks of a request would have to be there.
 */
#include <math.h>
#include <stdlib.h>

#include "sluice/blocks/curves/curves.h"

#define WHOLE 18446744073709551616.0 /* 2^64 */

struct sampled_block {
    u64 hash, block;
};

struct sample {
    struct stack stack;
    u64 limit, most, salt;
    struct sampled_block *heap; /* the largest hash first, if most is not 0 */
    u64 n;
    struct table uses; /* of each sampled block, how many counted */
    double squares;    /* the sum of their squares */
};

/* Stafford's thirteenth mix of bits: a permutation, so blocks never share a
 * hash (Better Bit Mixing, 2011). */
static u64 hash_of(u64 block, u64 salt)
{
    u64 x = block ^ salt * 0x9e3779b97f4a7c15UL;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9UL;
    x = (x ^ x >> 27) * 0x94d049bb133111ebUL;
    return x ^ x >> 31;
}

static void swap(struct sampled_block *a, struct sampled_block *b)
{
    struct sampled_block kept = *a;
    *a = *b;
    *b = kept;
}

/* Add a block, which rises above parents that are smaller. */
static void heap_add(struct sample *s, u64 hash, u64 block)
{
    u64 i = s->n++;
    s->heap[i] = (struct sampled_block){hash, block};
    while (i && s->heap[(i - 1) / 2].hash < s->heap[i].hash) {
        swap(&s->heap[(i - 1) / 2], &s->heap[i]);
        i = (i - 1) / 2;
    }
}

/* Remove and return the block with the largest hash. The last one takes its
 * place, and sinks below children that are larger. */
static struct sampled_block heap_take(struct sample *s)
{
    struct sampled_block largest = s->heap[0];
    s->heap[0] = s->heap[--s->n];
    for (u64 i = 0, child = 1; child < s->n; child = 2 * i + 1) {
        if (child + 1 < s->n && s->heap[child + 1].hash > s->heap[child].hash)
            child++;
        if (s->heap[i].hash >= s->heap[child].hash)
            break;
        swap(&s->heap[i], &s->heap[child]);
        i = child;
    }
    return largest;
}

/* Put in a block that is new; lower the limit if there are too many. */
static void keep(struct sample *s, u64 hash, u64 block)
{
    if (!s->most)
        return;
    heap_add(s, hash, block);
    if (s->n <= s->most)
        return;
    struct sampled_block gone = heap_take(s);
    u64 *uses = table_find(&s->uses, gone.block);
    s->squares -= uses ? (double)*uses * (double)*uses : 0;
    table_remove(&s->uses, gone.block);
    stack_remove(&s->stack, gone.block);
    s->limit = gone.hash;
}

/* A block is in the sample if its hash is below the limit. Then it stands for
 * `weight` blocks, and its depth in the stack of the sample, too. */
static void use(struct sample *s, struct tally *t,
                const struct packed_request *r, u64 block, bool counts)
{
    u64 hash = hash_of(block, s->salt);
    if (hash >= s->limit)
        return;
    double weight = WHOLE / (double)s->limit;
    u64 depth = stack_use(&s->stack, block);
    if (counts) {
        struct hits *h =
            &t->hits[tally_find(t, (u64)ceil((double)depth * weight))];
        h->blocks += weight;
        h->bytes += weight * (double)block_bytes(r, block);
        s->squares += 2 * (double)(*table_put(&s->uses, block))++ + 1;
    }
    if (!depth)
        keep(s, hash, block);
}

/* Sampled hits and misses have not quite the sum of all uses. Add what is
 * missing to the hits of the smallest cache (SHARDS-adj). */
static void adjust(struct tally *t)
{
    double blocks = t->all.blocks, bytes = t->all.bytes;
    for (u64 i = 0; i <= t->nsizes; i++) {
        blocks -= t->hits[i].blocks;
        bytes -= t->hits[i].bytes;
    }
    t->hits[0].blocks += blocks;
    t->hits[0].bytes += bytes;
}

/* Make the curve from a sample of blocks; returns the rate of the sample at the
 * end, and its relative error. */
struct sampled sampled_curve(struct tally *t, u64 nrequests, double rate,
                             u64 most, u64 salt)
{
    struct sample s = {.most = most, .salt = salt};
    s.limit = rate >= 1 ? ~0UL : (u64)(rate * WHOLE);
    s.heap = memory(most + 1, sizeof *s.heap);
    stack_init(&s.stack);
    table_init(&s.uses);
    for (u64 number = 0; number < nrequests; number++) {
        const struct packed_request *r = request_at(number);
        bool counts = number >= t->warmup;
        for (u64 b = first_block(r); b < end_block(r); b++)
            use(&s, t, r, b, counts);
        if (counts) {
            t->all.blocks += (double)(end_block(r) - first_block(r));
            t->all.bytes += r->bytes;
        }
    }
    adjust(t);
    double last = (double)s.limit / WHOLE;
    double error = sqrt(s.squares * (1 - last)) / last;
    return (struct sampled){last, t->all.blocks ? error / t->all.blocks : 0};
}
