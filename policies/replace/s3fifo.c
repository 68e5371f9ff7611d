/*
 * S3-FIFO: two queues of blocks, small and main, and a ghost queue of names;
 * small evicts early what is used once. Each block has a counter, freq, of its
 * uses after the first, up to 3.
 *
 * A new block enters at the head of small, or of main if its name is in ghost.
 * At the tail of small, a block with freq above 1 moves to main and freq is 0
 * again; else it is the victim, and its name enters ghost. At the tail of main,
 * a block with freq above 0 is reinserted at the head with freq one lower; else
 * it is the victim.
 *
 * The victim is from small while small has small_percent of the blocks or more,
 * else from main. Ghost has as many names as main may have blocks. "The blocks"
 * are the most that both queues had at once, since other blocks of the cache
 * belong to none. Blocks that are dirty or in use keep their places, but cannot
 * be victims; if a queue has no other block, the victim is from the other
 * queue. A block that will not be wanted again is the next victim, and its name
 * does not enter ghost.
 *
 * The kernel reports a use as remove and insert. So a block stores its place as
 * a number in word[PLACE], and insert puts it back there.
 *
 * Source: Yang, Zhang, Qiu, Yue and Rashmi, "FIFO Queues are All You Need for
 * Cache Eviction", SOSP 2023, algorithm 1, whose names these are.
 */
#include "kernel/policy/replace.h"
#include "policies/lib/ghost.h"

#define MAX_FREQ 3

enum { SMALL_PERCENT };

static struct tunable tunables[] = {
    {"small_percent", "percent", 10, 1, 99, "of the blocks, which small keeps"},
    {0},
};

enum { FROM_SMALL, FROM_MAIN, MOVED, REMEMBERED };

static struct policy_counter counters[] = {
    {"from_small", "blocks", "victims from small"},
    {"from_main", "blocks", "victims from main"},
    {"moved", "blocks", "that moved from small to main"},
    {"remembered", "blocks", "that came again with their name in ghost"},
    {0},
};

/* The words of a block: STATE is QUEUES times freq, plus the queue that it is
 * in. */
enum { STATE, PLACE };
enum { NONE, UNWANTED, SMALL, MAIN, QUEUES };

static struct {
    struct tree evictable; /* the oldest has the lowest PLACE */
    u64 n;                 /* blocks that belong here; unused for NONE */
} queues[QUEUES];
static u64 most, last_place; /* blocks of both queues */
static struct ghosts ghost;

/* One name more than there are buffers, until ghost is shortened. */
static u64 bytes(u64 buffers)
{
    return GHOSTS_BYTES(buffers + 1);
}

static struct policy_memory memory = {.bytes = bytes};

static void s3fifo_start(void)
{
    for (u32 i = 0; i < QUEUES; i++) {
        queues[i].evictable.root = NULL;
        queues[i].n = 0;
    }
    ghosts_init(&ghost, memory.start, memory.buffers + 1);
    most = 0;
}

static u64 queue_of(const struct block *b)
{
    return b->word[STATE] % QUEUES;
}

static u64 freq_of(const struct block *b)
{
    return b->word[STATE] / QUEUES;
}

/* Insert at the head of this queue. */
static void enter(struct block *b, u64 queue, u64 freq)
{
    queues[queue_of(b)].n--;
    queues[queue].n++;
    b->word[STATE] = QUEUES * freq + queue;
    b->word[PLACE] = ++last_place;
}

/* The block is not wanted again; or it has a queue, and was used again; or it
 * is new, and goes to main if it has a ghost entry, else to small. */
static void s3fifo_insert(struct block *b, bool reuse)
{
    if (!reuse) {
        enter(b, UNWANTED, 0);
    } else if (queue_of(b) == SMALL || queue_of(b) == MAIN) {
        b->word[STATE] += !b->first && freq_of(b) < MAX_FREQ ? QUEUES : 0;
    } else {
        bool in_ghost = ghosts_forget(&ghost, b->disk, b->blkno);
        counters[REMEMBERED].value += in_ghost;
        enter(b, in_ghost ? MAIN : SMALL, 0);
    }
    most = MAX(most, queues[SMALL].n + queues[MAIN].n);
    tree_insert(&queues[queue_of(b)].evictable, &b->node, b->word[PLACE]);
}

static void s3fifo_remove(struct block *b)
{
    tree_remove(&queues[queue_of(b)].evictable, &b->node);
}

static u64 small_blocks(void)
{
    return MAX(1, most * tunables[SMALL_PERCENT].value / 100);
}

static struct block *tail_of(u32 queue)
{
    struct tree_node *n = tree_at_or_after(&queues[queue].evictable, 0);
    return n ? TREE_ITEM(n, struct block, node) : NULL;
}

static void reinsert(struct block *b, u32 queue, u64 freq)
{
    s3fifo_remove(b);
    enter(b, queue, freq);
    tree_insert(&queues[queue].evictable, &b->node, b->word[PLACE]);
}

/* The paper's EVICT, evictS and evictM. A block that moves to main makes small
 * shorter. So if small was just full, main is looked at next. */
static struct block *s3fifo_victim(void)
{
    struct block *b = tail_of(UNWANTED);
    while (!b) {
        struct block *small = tail_of(SMALL), *main = tail_of(MAIN);
        bool from_small = small && queues[SMALL].n >= small_blocks();
        if (!main || from_small) {
            if (!small || freq_of(small) <= 1)
                return small;
            reinsert(small, MAIN, 0);
            counters[MOVED].value++;
        } else if (freq_of(main)) {
            reinsert(main, MAIN, freq_of(main) - 1);
        } else {
            return main;
        }
    }
    return b;
}

/* A victim of the small queue leaves its name in the ghost queue, which is as
 * long as the main queue may be. */
static void s3fifo_evicted(const struct block *b)
{
    queues[queue_of(b)].n--;
    if (queue_of(b) == SMALL) {
        ghosts_remember(&ghost, b->disk, b->blkno);
        ghosts_shrink(&ghost, most - MIN(most, small_blocks()));
    }
    counters[FROM_SMALL].value += queue_of(b) == SMALL;
    counters[FROM_MAIN].value += queue_of(b) == MAIN;
}

static const char *s3fifo_check(void)
{
    for (u32 i = UNWANTED; i < QUEUES; i++) {
        if (queues[i].evictable.root && !queues[i].n)
            return "the blocks of a list are miscounted";
    }
    return ghost.n > most ? "more names are remembered than there are blocks"
                          : NULL;
}

static const struct policy s3fifo = {
    .kind = POLICY_REPLACE,
    .name = "s3fifo",
    .about = "the small queue evicts early what is used once",
    .tunables = tunables,
    .counters = counters,
    .memory = &memory,
    .start = s3fifo_start,
    .check = s3fifo_check,
    .replace = {.insert = s3fifo_insert,
                .remove = s3fifo_remove,
                .victim = s3fifo_victim,
                .evicted = s3fifo_evicted},
};
POLICY(s3fifo);
