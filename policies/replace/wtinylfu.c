/*
 * W-TinyLFU: a new block displaces an old one only if it was used more often
 * lately.
 *
 * A block first goes to the window, window_percent of the blocks, in the order
 * of last use. All others are in the main part, which is a segmented LRU: its
 * blocks are on probation until they are used there, and then protected. At
 * most protected_percent of the main part are protected; if there are more, the
 * least recently used of them is on probation again. If the window is full when
 * a buffer is needed, its least recently used block is the candidate. The
 * candidate is compared with the least recently used block on probation. The
 * block with fewer uses is the victim; if they are equal, the candidate. A
 * candidate that stays is on probation.
 *
 * Uses are counted for all blocks, cached or not, in a sketch; uses while a
 * block is dirty count as one. The sketch has four rows of counters up to 15. A
 * hash of a block's name chooses one counter in each row. A use adds one to the
 * least of the four, which is the count. After sample_factor times as many uses
 * as there are blocks, all counts are halved: so what was used long ago counts
 * less. A row has 8 to 16 counters for each buffer, and at least 65,536: room
 * for a sample of 10 times the blocks. A larger sample_factor makes counts too
 * high.
 *
 * The paper's doorkeeper is left out. It is a Bloom filter that notes the first
 * use of a block, so that a smaller sketch is enough. But it is emptied when
 * counts are halved, so each block loses that use: a block used twice counts 0
 * then, not 1. In caches of a few blocks in a hundred this costs up to a tenth
 * of the hits, and this sketch has room for all blocks.
 *
 * Caffeine differs from the paper: it has no doorkeeper either; its sample is
 * 10 times the next power of two; uses of blocks with full counters are not in
 * it, and half a use less for each odd count after a halving; and a use adds
 * one to all four counters, in rows of 4 to 8 counters for each block.
 *
 * "The blocks" are the most that were cached at once. Blocks that are dirty or
 * in use cannot be victims. A call for many blocks takes buffers for all of
 * them before the first is inserted. If the window has too few, the main part
 * gives the others, whatever their counts. A block that will not be wanted
 * again is the next victim. The sizes of the parts are the paper's; the factor
 * is chosen.
 *
 * Source: Einziger, Friedman and Manes, "TinyLFU: A Highly Efficient Cache
 * Admission Policy", ACM Transactions on Storage, 2017.
 */
#include "kernel/policy/replace.h"

enum { WINDOW_PERCENT, PROTECTED_PERCENT, SAMPLE_FACTOR };

static struct tunable tunables[] = {
    {"window_percent", "percent", 1, 1, 99, "of the blocks: the window"},
    {"protected_percent", "percent", 80, 0, 100,
     "of the main part, which may be protected"},
    {"sample_factor", "times", 10, 1, 100,
     "as many uses as blocks, after which counts are halved"},
    {0},
};

enum { ADMITTED, REJECTED, HALVED };

static struct policy_counter counters[] = {
    {"admitted", "blocks", "candidates that were used more often"},
    {"rejected", "blocks", "candidates that were not"},
    {"halved", "times", "that the counts were halved"},
    {0},
};

/* The word of a block: the list that it belongs to. */
enum { WHERE };
enum { NONE, UNWANTED, WINDOW, PROBATION, PROTECTED, LISTS };

static struct {
    struct list evictable; /* oldest use first */
    u64 n;                 /* blocks that belong here; unused for NONE */
} lists[LISTS];
static u64 most, sampled; /* blocks of the cache; uses since halved */

/* ---- how often a block was used ---- */

#define ROWS         4
#define LEAST_BITS   16 /* of the number of a counter in its row */
#define FOR_A_BUFFER 8  /* counters in a row, at least */
#define MOST_COUNTED 15
#define IN_A_WORD    16 /* counters of 4 bits in a u64 */

static u32 width_bits; /* of the number of a counter in its row */
static u64 *sketch;    /* the rows, one after the other */

static u32 width_bits_for(u64 buffers)
{
    u32 bits = LEAST_BITS;
    while (1ul << bits < buffers * FOR_A_BUFFER)
        bits++;
    return bits;
}

static u64 row_words(u32 bits)
{
    return (1ul << bits) / IN_A_WORD;
}

static u64 bytes(u64 buffers)
{
    return ROWS * row_words(width_bits_for(buffers)) * sizeof(u64);
}

static struct policy_memory memory = {.bytes = bytes};

/* The upper bits are by chance: multiplicative hashing (Knuth, volume 3). */
static u64 hash(u32 disk, u64 blkno, u32 row)
{
    static const u64 odd[ROWS] = {0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9,
                                  0x94d049bb133111eb, 0xd6e8feb86659fd93};
    return (((u64)disk << 56 ^ blkno) + 1) * odd[row];
}

/* Return the word of the sketch that holds a hash's counter in this row, and in
 * *shift where its 4 bits begin. The hash's upper bits number the counter. */
static u64 *counter(u64 hash, u32 row, u32 *shift)
{
    u64 i = hash >> (64 - width_bits);
    *shift = i % IN_A_WORD * 4;
    return &sketch[row * row_words(width_bits) + i / IN_A_WORD];
}

/* Return the sketch's estimate of how often a block was used: the least of its
 * counters, one in each row. */
static u64 uses_of(u32 disk, u64 blkno)
{
    u64 count = MOST_COUNTED;
    for (u32 row = 0; row < ROWS; row++) {
        u32 shift;
        u64 word = *counter(hash(disk, blkno, row), row, &shift);
        count = MIN(count, word >> shift & MOST_COUNTED);
    }
    return count;
}

/* Halve all counters. Sixteen counters of 4 bits are in a word; the mask drops
 * the bit that each gets from its neighbour. */
static void halve(void)
{
    for (u64 i = 0; i < ROWS * row_words(width_bits); i++)
        sketch[i] = sketch[i] >> 1 & 0x7777777777777777;
    sampled /= 2;
    counters[HALVED].value++;
}

/* Add 1 to those of the block's counters that equal the estimate. */
static void count_use(u32 disk, u64 blkno)
{
    u64 count = uses_of(disk, blkno);
    for (u32 row = 0; row < ROWS && count < MOST_COUNTED; row++) {
        u32 shift;
        u64 *word = counter(hash(disk, blkno, row), row, &shift);
        if ((*word >> shift & MOST_COUNTED) == count)
            *word += 1ull << shift;
    }
    if (++sampled >= most * tunables[SAMPLE_FACTOR].value)
        halve();
}

/* ---- where it belongs ---- */

static void wtinylfu_start(void)
{
    for (u32 i = 0; i < LISTS; i++) {
        list_init(&lists[i].evictable);
        lists[i].n = 0;
    }
    width_bits = width_bits_for(memory.buffers);
    sketch = memory.start;
    for (u64 i = 0; i < ROWS * row_words(width_bits); i++)
        sketch[i] = 0;
    most = sampled = 0;
}

static u64 window_size(void)
{
    return MAX(1, most * tunables[WINDOW_PERCENT].value / 100);
}

static u64 protected_size(void)
{
    u64 main = most - MIN(most, window_size());
    return main * tunables[PROTECTED_PERCENT].value / 100;
}

static struct block *oldest(u32 list)
{
    struct list *first = list_first(&lists[list].evictable);
    return first ? LIST_ITEM(first, struct block, link) : NULL;
}

/* Move a block to this list, as the one used last. */
static void join(struct block *b, u64 list)
{
    lists[b->word[WHERE]].n--;
    lists[list].n++;
    b->word[WHERE] = list;
    list_push_back(&lists[list].evictable, &b->link);
}

/* While a list has more than `size` blocks, its oldest goes to another list. */
static void shorten(u32 from, u64 size, u32 to)
{
    for (struct block *b; lists[from].n > size && (b = oldest(from));) {
        list_remove(&b->link);
        join(b, to);
    }
}

/* A new block joins the window; a block of main that is used again joins
 * protected. Lists that are too long then give blocks to probation. */
static void wtinylfu_insert(struct block *b, bool reuse)
{
    u64 from = b->word[WHERE];
    join(b, !reuse              ? UNWANTED
            : from == WINDOW    ? WINDOW
            : from == PROBATION ? (b->first ? PROBATION : PROTECTED)
            : from == PROTECTED ? PROTECTED
                                : WINDOW);
    u64 here = lists[WINDOW].n + lists[PROBATION].n + lists[PROTECTED].n;
    most = MAX(most, here);
    if (reuse && !(from && b->first))
        count_use(b->disk, b->blkno);
    shorten(WINDOW, window_size(), PROBATION);
    shorten(PROTECTED, protected_size(), PROBATION);
}

static void wtinylfu_remove(struct block *b)
{
    list_remove(&b->link);
}

/* True if the sketch has counted more uses of a than of b. */
static bool used_more(const struct block *a, const struct block *b)
{
    return uses_of(a->disk, a->blkno) > uses_of(b->disk, b->blkno);
}

static struct block *of_main(void)
{
    struct block *b = oldest(PROBATION);
    return b ? b : oldest(PROTECTED);
}

/* The oldest block of a full window is the candidate. It takes the place of
 * main's victim if it was used more often; else it is the victim itself. */
static struct block *wtinylfu_victim(void)
{
    struct block *unwanted = oldest(UNWANTED), *main = of_main();
    bool full = lists[WINDOW].n >= window_size();
    struct block *candidate = full || !main ? oldest(WINDOW) : NULL;
    if (unwanted || !candidate)
        return unwanted ? unwanted : main;
    if (!main || !used_more(candidate, main)) {
        counters[REJECTED].value += main != NULL;
        return candidate;
    }
    counters[ADMITTED].value++;
    list_remove(&candidate->link);
    join(candidate, PROBATION);
    return main;
}

static void wtinylfu_evicted(const struct block *b)
{
    lists[b->word[WHERE]].n--;
}

static const char *wtinylfu_check(void)
{
    for (u32 i = UNWANTED; i < LISTS; i++) {
        if (oldest(i) && !lists[i].n)
            return "the blocks of a list are miscounted";
    }
    return NULL;
}

static const struct policy wtinylfu = {
    .kind = POLICY_REPLACE,
    .name = "wtinylfu",
    .about = "a new block stays if it was used more often than an old one",
    .tunables = tunables,
    .counters = counters,
    .memory = &memory,
    .start = wtinylfu_start,
    .check = wtinylfu_check,
    .replace = {.insert = wtinylfu_insert,
                .remove = wtinylfu_remove,
                .victim = wtinylfu_victim,
                .evicted = wtinylfu_evicted},
};
POLICY(wtinylfu);
