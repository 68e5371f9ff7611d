/*
 * S3-FIFO: three queues in the order of arrival, of which the small one sends
 * away early what is used once.
 *
 * A block first goes through the small queue. If it was used more than once
 * when it comes to the end there, it moves to the main queue; else it is the
 * victim, and the ghost queue remembers its name. A block that comes again
 * while its name is remembered goes to the main queue at once. At the end of
 * the main queue a block that was used since goes round again, with one use
 * less; else it is the victim. Uses are counted up to 3, and from 0 again in
 * the main queue.
 *
 * The victim is from the small queue while that has small_percent of the
 * blocks or more, else from the main queue. The ghost queue remembers as many
 * names as the main queue may have blocks. "The blocks" are the most that both
 * queues had at once, since other blocks of the cache belong to none. Blocks
 * that are dirty or in use keep their places, but cannot be victims; if a queue
 * has no other block, the victim is from the other queue. A block that will not
 * be wanted again is the next victim, and is not remembered.
 *
 * A use shows as remove and insert. So a block keeps its place as a number, in
 * word[PLACE], and is put back there.
 *
 * Source: Yang, Zhang, Qiu, Yue and Rashmi, "FIFO Queues are All You Need for
 * Cache Eviction", SOSP 2023, algorithm 1.
 */
#include "kernel/policy/policy.h"
#include "policies/lib/ghost.h"

#define MOST_USES 3

enum { SMALL_PERCENT };

static struct tunable tunables[] = {
    {"small_percent", "percent", 10, 1, 99,
     "of the blocks, which the small queue keeps"},
    {0},
};

enum { FROM_SMALL, FROM_MAIN, MOVED, REMEMBERED };

static struct policy_counter counters[] = {
    {"from_small", "blocks", "victims from the small queue"},
    {"from_main", "blocks", "victims from the main queue"},
    {"moved", "blocks", "that moved from the small queue to the main one"},
    {"remembered", "blocks", "that came again while their name was known"},
    {0},
};

/* The words of a block: STATE is LISTS times its uses, plus the list that it
 * belongs to. */
enum { STATE, PLACE };
enum { NONE, UNWANTED, SMALL, MAIN, LISTS };

static struct {
    struct tree evictable; /* the oldest has the lowest PLACE */
    u64 n;                 /* blocks that belong here; unused for NONE */
} lists[LISTS];
static u64 most, last_place; /* blocks of both queues */
static struct ghosts ghosts;

/* One name more than there are buffers, until the list is shortened. */
static u64 bytes(u64 buffers)
{
    return ghosts_bytes(buffers + 1);
}

static struct policy_memory memory = {.bytes = bytes};

static void s3fifo_start(void)
{
    for (u32 i = 0; i < LISTS; i++) {
        lists[i].evictable.root = NULL;
        lists[i].n = 0;
    }
    ghosts_init(&ghosts, memory.start, memory.buffers + 1);
    most = 0;
}

static u64 list_of(const struct block *b)
{
    return b->word[STATE] % LISTS;
}

static u64 uses_of(const struct block *b)
{
    return b->word[STATE] / LISTS;
}

/* It belongs to this list, and comes last there. */
static void join(struct block *b, u64 list, u64 uses)
{
    lists[list_of(b)].n--;
    lists[list].n++;
    b->word[STATE] = LISTS * uses + list;
    b->word[PLACE] = ++last_place;
}

static void s3fifo_insert(struct block *b, bool reuse)
{
    if (!reuse) {
        join(b, UNWANTED, 0);
    } else if (list_of(b) == SMALL || list_of(b) == MAIN) {
        b->word[STATE] += !b->first && uses_of(b) < MOST_USES ? LISTS : 0;
    } else {
        bool remembered = ghosts_forget(&ghosts, b->disk, b->blkno);
        counters[REMEMBERED].value += remembered;
        join(b, remembered ? MAIN : SMALL, 0);
    }
    most = MAX(most, lists[SMALL].n + lists[MAIN].n);
    tree_insert(&lists[list_of(b)].evictable, &b->node, b->word[PLACE]);
}

static void s3fifo_remove(struct block *b)
{
    tree_remove(&lists[list_of(b)].evictable, &b->node);
}

static u64 small_blocks(void)
{
    return MAX(1, most * tunables[SMALL_PERCENT].value / 100);
}

static struct block *next_of(u32 list)
{
    struct tree_node *n = tree_at_or_after(&lists[list].evictable, 0);
    return n ? TREE_ITEM(n, struct block, node) : NULL;
}

static void again(struct block *b, u32 list, u64 uses)
{
    s3fifo_remove(b);
    join(b, list, uses);
    tree_insert(&lists[list].evictable, &b->node, b->word[PLACE]);
}

/* The paper's EVICT. A move makes the small queue shorter, so the main queue is
 * next if that filled it. */
static struct block *s3fifo_victim(void)
{
    struct block *b = next_of(UNWANTED);
    while (!b) {
        struct block *small = next_of(SMALL), *main = next_of(MAIN);
        bool from_small = small && lists[SMALL].n >= small_blocks();
        if (!main || from_small) {
            if (!small || uses_of(small) <= 1)
                return small;
            again(small, MAIN, 0);
            counters[MOVED].value++;
        } else if (uses_of(main)) {
            again(main, MAIN, uses_of(main) - 1);
        } else {
            return main;
        }
    }
    return b;
}

static void s3fifo_evicted(const struct block *b)
{
    lists[list_of(b)].n--;
    if (list_of(b) == SMALL) {
        ghosts_remember(&ghosts, b->disk, b->blkno);
        ghosts_shrink(&ghosts, most - MIN(most, small_blocks()));
    }
    counters[FROM_SMALL].value += list_of(b) == SMALL;
    counters[FROM_MAIN].value += list_of(b) == MAIN;
}

static const char *s3fifo_check(void)
{
    for (u32 i = UNWANTED; i < LISTS; i++) {
        if (lists[i].evictable.root && !lists[i].n)
            return "the blocks of a list are miscounted";
    }
    return ghosts.n > most ? "more names are remembered than there are blocks"
                           : NULL;
}

static const struct policy s3fifo = {
    .kind = POLICY_REPLACE,
    .name = "s3fifo",
    .about = "a small queue sends away early what is used once",
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
