/*
 * The cache as policies of the kinds update and write see it: BLOCKS blocks,
 * each clean or dirty, on two disks, and the calls of common.h and update.h.
 * What these promise is all that the model promises: counts that the cache does
 * not keep here have any value.
 */
#pragma once

#include "tools/prove/harness/harness.h"

enum { BLOCKS = 2 };
#define MOST_WAIT_NS (1UL << 43) /* between two steps: over two hours */

static struct {
    u64 now_ns, buffers, scan_at, written;
    void (*leaves)(struct block *); /* the policy's, or NULL */
} cache;

/* Each an object of its own, the oldest first while all are dirty: CBMC is lost
 * in an array of structures. */
static struct block model_a, model_b;
static struct block *const blocks[] = {&model_a, &model_b};

static void cache_begin(void)
{
    cache.now_ns = any_below(MOST_WAIT_NS) + 1;
    cache.buffers = any_below(256) + 16;
    cache.scan_at = UNLIMITED;
    for (u64 i = 0; i < BLOCKS; i++) {
        blocks[i]->blkno = i;
        blocks[i]->disk = any_below(2);
        blocks[i]->owner = any_below(3);
    }
}

/* A block that is clean becomes dirty, if any is chosen. */
static void cache_dirty_any(void (*dirtied)(struct block *, u64))
{
    u64 which = any_below(BLOCKS + 1);
    for (u64 i = 0; i < BLOCKS; i++) {
        if (which != i || blocks[i]->dirtied_ns)
            continue;
        blocks[i]->dirtied_ns = cache.now_ns;
        blocks[i]->meta = any_bool();
        blocks[i]->mark = 0;
        TELL("block {} becomes dirty at {} ns", i, cache.now_ns);
        if (dirtied)
            dirtied(blocks[i], cache.now_ns);
    }
}

static u64 model_dirty(void)
{
    u64 n = 0;
    for (u64 i = 0; i < BLOCKS; i++)
        n += blocks[i]->dirtied_ns != 0;
    return n;
}

static u64 model_flush(u64 i)
{
    TELL("  block {} is written", i);
    if (cache.leaves)
        cache.leaves(blocks[i]);
    blocks[i]->dirtied_ns = 0;
    cache.written++;
    return 1;
}

/* The oldest dirty block that was not yet shown, or BLOCKS. */
static u64 model_oldest(const bool *shown)
{
    u64 found = BLOCKS;
    for (u64 i = 0; i < BLOCKS; i++)
        if (blocks[i]->dirtied_ns && !shown[i] &&
            (found == BLOCKS ||
             blocks[i]->dirtied_ns < blocks[found]->dirtied_ns))
            found = i;
    return found;
}

u64 flush_by_age(visit_fn *visit)
{
    bool shown[BLOCKS] = {0};
    u64 n = 0;
    for (u64 turn = 0; turn < BLOCKS; turn++) {
        u64 next = model_oldest(shown);
        for (u64 i = 0; i < BLOCKS; i++) {
            if (next != i)
                continue;
            shown[i] = true;
            enum visit answer = visit(blocks[i], cache.now_ns);
            CLAIM(answer <= STOP, "the answer to a visit is one of the four");
            if (answer == FLUSH || answer == FLUSH_LAST)
                n += model_flush(i);
            if (answer == STOP || answer == FLUSH_LAST)
                return n;
        }
    }
    return n;
}

/* Of the buffers, the first BLOCKS hold the blocks, and nobody asks about the
 * rest, which are clean. */
u64 flush_in_cache(u64 first, u64 count, visit_fn *visit)
{
    u64 n = 0;
    for (u64 i = 0; i < BLOCKS; i++) {
        if (i < first || i - first >= count)
            continue;
        enum visit answer = visit(blocks[i], cache.now_ns);
        bool dirty = blocks[i]->dirtied_ns != 0;
        CLAIM(answer <= STOP, "the answer to a visit is one of the four");
        if (dirty && (answer == FLUSH || answer == FLUSH_LAST))
            n += model_flush(i);
        if (answer == STOP || (dirty && answer == FLUSH_LAST))
            return n;
    }
    return n;
}

static u64 model_older_ns, model_left; /* for the visits below */

static enum visit model_if_older(struct block *block, u64 now_ns)
{
    return now_ns - block->dirtied_ns >= model_older_ns ? FLUSH : STOP;
}

static enum visit model_if_left(struct block *block, u64 now_ns)
{
    (void)block, (void)now_ns;
    return model_left && model_left-- ? FLUSH : STOP;
}

u64 flush_older(u64 age_ns)
{
    model_older_ns = age_ns;
    return flush_by_age(model_if_older);
}

u64 flush_oldest(u64 n)
{
    model_left = n;
    return flush_by_age(model_if_left);
}

u64 flush_all(void)
{
    return flush_older(0);
}

/* Flush each block on the list, and the other dirty blocks of its owner on its
 * disk. Returns how many were flushed. */
u64 flush_files(struct list *head)
{
    u64 n = 0;
    bool listed[BLOCKS] = {0};
    LIST_EACH (node, head)
        for (u64 i = 0; i < BLOCKS; i++)
            listed[i] = listed[i] || node == &blocks[i]->owing;
    for (u64 i = 0; i < BLOCKS; i++)
        for (u64 j = 0; j < BLOCKS; j++)
            if (listed[i] && blocks[j]->dirtied_ns &&
                (i == j ||
                 (blocks[i]->owner && blocks[i]->owner == blocks[j]->owner &&
                  blocks[i]->disk == blocks[j]->disk)))
                n += model_flush(j);
    return n;
}

u64 oldest_dirty_ns(void)
{
    u64 since = NEVER_NS;
    for (u64 i = 0; i < BLOCKS; i++)
        if (blocks[i]->dirtied_ns)
            since = MIN(since, blocks[i]->dirtied_ns);
    return since;
}

void scan_at_dirty(u64 n)
{
    cache.scan_at = n;
}

void cache_state(struct cache_state *s)
{
    *s = (struct cache_state){.buffers = cache.buffers,
                              .dirty = model_dirty(),
                              .dirtied = cache.written + model_dirty(),
                              .written = cache.written,
                              .hits = any_below(1UL << 32),
                              .misses = any_below(1UL << 32)};
}

bool disk_state(u32 disk, struct disk_state *s)
{
    struct disk_state any;
    ASSUME(any.queued_reads < 1UL << 16 && any.queued_writes < 1UL << 16);
    ASSUME(any.in_flight < 256);
    *s = any;
    return disk < 2;
}
