/*
 * CLOCK-Pro: LIRS (lirs.c) with the marks of a clock, and with a share of cold
 * blocks that adapts.
 *
 * All blocks stand on one clock. Hot ones came again soon; the others are cold.
 * A cold block that comes begins its test: if it is used again before the test
 * ends, it becomes hot. Three hands go round:
 *
 * - The cold hand is at the cold block that came first. Without a mark, it is
 *   the victim, and during its test its name stays on the clock. With a mark,
 *   it is hot from now on if it is in its test; else it begins a test.
 * - The hot hand is at the hot block that came first. It moves when there are
 *   more hot blocks than `hot_most`. A marked one loses the mark and comes
 *   last; another is cold from now on, without a test. Tests of blocks and
 *   names that the hand passes end.
 * - The test hand is at the first block or name in its test. It ends tests
 *   while there are more names than blocks in the cache.
 *
 * A block that comes while its name is on the clock is hot at once. hot_most
 * is the paper's m - m_c. It increases by 1 when a test ends without a use. It
 * decreases by 1 when a block comes whose name is on the clock, or when the
 * cold hand finds a block that was used during its test. If the hot hand comes
 * to a used block in its test first, the test ends and hot_most does not
 * change; the paper does not say what happens then.
 *
 * While the cache grows, hot_most grows with it: the block that comes is cold,
 * and the one that was cold becomes hot where it stands. The authors' own
 * simulator begins with hot blocks, too (clock-pro.c, Song Jiang 2005, in the
 * sources of Caffeine), as does LIRS. If a cache began with cold blocks only,
 * there would be no hot block during which a test could last, and a loop would
 * have no hits. The simulator knows the size of the cache. Here the size is the
 * most blocks that there were at once, without those that are unwanted. Names
 * leave in the order of eviction. The hands pass over blocks that are dirty or
 * in use; if no cold block is left, the hot hand makes one. A block that will
 * not be wanted again is the next victim, and is not remembered. There is no
 * tunable, as in the paper.
 *
 * The kernel reports a use as remove and insert, which sets the mark. The order
 * on the clock is that of word[PLACE]; a block that comes last has the highest
 * number.
 *
 * Source: Jiang, Chen and Zhang, "CLOCK-Pro: An Effective Improvement of the
 * CLOCK Replacement", USENIX 2005.
 */
#include "kernel/policy/replace.h"
#include "policies/lib/ghost.h"

enum { FROM_COLD, TO_HOT, REMEMBERED, ENDED };

static struct policy_counter counters[] = {
    {"from_cold", "blocks", "victims in a test, whose names were kept"},
    {"to_hot", "blocks", "used again in their test while they were cached"},
    {"remembered", "blocks", "that came again while their name was known"},
    {"ended", "blocks", "whose test ended without a use"},
    {0},
};

/* The words of a block: STATE is its kind, plus MARKED. TEST is a cold block in
 * its test, COLD any other cold block. */
enum { STATE, PLACE };
enum { NONE, UNWANTED, HOT, COLD, TEST, KINDS, MARKED = 8 };

static struct {
    struct tree evictable; /* by PLACE */
    u64 n;                 /* blocks of this kind; unused for NONE */
} kinds[KINDS];
static u64 hot_most, most; /* blocks: hot ones; in the cache */
static u64 last_place;
static struct ghosts names; /* word: PLACE */

/* One name more than there are buffers, until the list is shortened. */
static u64 bytes(u64 buffers)
{
    return GHOSTS_BYTES(buffers + 1);
}

static struct policy_memory memory = {.bytes = bytes};

static void clockpro_start(void)
{
    for (u32 i = 0; i < KINDS; i++) {
        kinds[i].evictable.root = NULL;
        kinds[i].n = 0;
    }
    ghosts_init(&names, memory.start, memory.buffers + 1);
    hot_most = most = 0;
}

static u64 kind_of(const struct block *b)
{
    return b->word[STATE] % MARKED;
}

static struct block *first_of(u32 kind)
{
    struct tree_node *n = tree_at_or_after(&kinds[kind].evictable, 0);
    return n ? TREE_ITEM(n, struct block, node) : NULL;
}

static void clockpro_remove(struct block *b)
{
    tree_remove(&kinds[kind_of(b)].evictable, &b->node);
}

/* Give a block its kind and its place on the clock. */
static void become(struct block *b, u64 kind, u64 place)
{
    kinds[kind_of(b)].n--;
    kinds[kind].n++;
    b->word[STATE] = kind;
    b->word[PLACE] = place;
    tree_insert(&kinds[kind].evictable, &b->node, place);
}

/* Like become, for a block that is evictable already. */
static void change(struct block *b, u64 kind, u64 place)
{
    clockpro_remove(b);
    become(b, kind, place);
}

/* End the oldest test, of a block or a ghost entry, if it began before this
 * place of the clock. */
static bool end_test(u64 before)
{
    struct block *b = first_of(TEST);
    const struct ghost *g = ghosts_oldest(&names);
    bool of_name = g && (!b || g->word < b->word[PLACE]);
    u64 place = of_name ? g->word : b ? b->word[PLACE] : before;
    u64 used = 0;
    if (place >= before)
        return false;
    if (of_name) {
        ghosts_shrink(&names, names.n - 1);
    } else {
        used = b->word[STATE] & MARKED;
        change(b, COLD, place);
        b->word[STATE] |= used;
    }
    counters[ENDED].value += !used;
    hot_most = MIN(hot_most + !used, most - MIN(most, 1));
    return true;
}

/* Move the hot hand to the next hot block, and over it if there are too many
 * hot blocks, or if `must`. Returns false if it did not move over the block. */
static bool move_hot_hand(bool must)
{
    struct block *b = first_of(HOT);
    while (b && end_test(b->word[PLACE]))
        ;
    if (!b || (!must && kinds[HOT].n <= hot_most))
        return false;
    change(b, b->word[STATE] & MARKED ? HOT : COLD, ++last_place);
    return true;
}

static void limit_hot(void)
{
    while (kinds[HOT].n > hot_most && move_hot_hand(false))
        ;
}

/* Adapt hot_most, because a cold block was used in its test. */
static void heed_use(void)
{
    hot_most -= MIN(hot_most, 1);
}

static struct block *at_cold_hand(void)
{
    struct block *cold = first_of(COLD), *test = first_of(TEST);
    bool is_test = test && (!cold || test->word[PLACE] < cold->word[PLACE]);
    return is_test ? test : cold;
}

/* The cache has one block more. Make the block at the cold hand hot, if there
 * may be one hot block more. */
static void grow(void)
{
    struct block *cold = at_cold_hand();
    most++;
    hot_most += most > 1;
    if (!cold || kinds[HOT].n >= hot_most)
        return;
    u64 mark = cold->word[STATE] & MARKED;
    change(cold, HOT, cold->word[PLACE]);
    cold->word[STATE] |= mark;
}

/* Insert a block that was not cached. */
static void come(struct block *b)
{
    u64 blocks = kinds[HOT].n + kinds[COLD].n + kinds[TEST].n + 1;
    bool known = ghosts_forget(&names, b->disk, b->blkno);
    if (blocks > most)
        grow();
    become(b, known ? HOT : TEST, ++last_place);
    if (known) {
        counters[REMEMBERED].value++;
        heed_use();
        limit_hot();
    }
}

/* Take up a block that was let go: as unwanted, or in its kind, or as new. One
 * in its kind is marked as used, except at its first use. */
static void clockpro_insert(struct block *b, bool reuse)
{
    if (!reuse) {
        become(b, UNWANTED, ++last_place);
    } else if (kind_of(b) >= HOT) {
        b->word[STATE] |= b->first ? 0 : MARKED;
        tree_insert(&kinds[kind_of(b)].evictable, &b->node, b->word[PLACE]);
    } else {
        come(b);
    }
}

/* Move the cold hand to a block without a mark. A marked one becomes hot if it
 * is in its test, else its test begins. */
static struct block *clockpro_victim(void)
{
    struct block *b = first_of(UNWANTED);
    while (!b) {
        b = at_cold_hand();
        if (!b && !move_hot_hand(true))
            return NULL;
        if (!b || !(b->word[STATE] & MARKED))
            continue;
        bool hot = kind_of(b) == TEST;
        change(b, hot ? HOT : TEST, ++last_place);
        if (hot) {
            counters[TO_HOT].value++;
            heed_use();
            limit_hot();
        }
        b = NULL;
    }
    return b;
}

/* Remove a victim from its kind. A block in its test period leaves its name;
 * too many names end the oldest tests. */
static void clockpro_evicted(const struct block *b)
{
    kinds[kind_of(b)].n--;
    if (kind_of(b) != TEST)
        return;
    counters[FROM_COLD].value++;
    ghosts_remember(&names, b->disk, b->blkno)->word = b->word[PLACE];
    while (names.n > most && end_test(last_place + 1))
        ;
}

static const char *clockpro_check(void)
{
    for (u32 i = UNWANTED; i < KINDS; i++) {
        if (kinds[i].evictable.root && !kinds[i].n)
            return "the blocks of a kind are miscounted";
    }
    return names.n > most ? "more names are remembered than there are blocks"
           : hot_most > most - MIN(most, 1) ? "no block may be cold"
                                            : NULL;
}

static const struct policy clockpro = {
    .kind = POLICY_REPLACE,
    .name = "clockpro",
    .about = "hot, cold and test blocks on one clock with three hands",
    .counters = counters,
    .memory = &memory,
    .start = clockpro_start,
    .check = clockpro_check,
    .replace = {.insert = clockpro_insert,
                .remove = clockpro_remove,
                .victim = clockpro_victim,
                .evicted = clockpro_evicted},
};
POLICY(clockpro);
