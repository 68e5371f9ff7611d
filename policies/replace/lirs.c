/*
 * LIRS, low inter-reference recency set: blocks are judged by how many others
 * were used between their last two uses, not since the last one.
 *
 * Most blocks of the cache are LIR: they came again soon. The others are HIR.
 * A stack has all blocks in the order of their last use, as far down as the
 * LIR block used longest ago, the bottom. An HIR block that is used while it
 * is in the stack came again sooner than the bottom has: it becomes LIR, and
 * the bottom HIR. The victim is the HIR block that has been one for the
 * longest time without a use. If it is in the stack, its name stays there, so
 * that it becomes LIR if it is read again. So a scan only passes through the
 * few HIR blocks.
 *
 * hir_percent of the blocks are HIR, and at least one. A new block is LIR while
 * there are fewer LIR blocks than the remaining percentage. "The blocks" are
 * the most that were LIR or HIR at once.
 *
 * The paper does not limit the stack; here it has names for up to names_percent
 * of the blocks. How many names LIRS keeps changes its hits by more than how it
 * is programmed: with names for twice the blocks, as in Caffeine's simulator,
 * LIRS had 74 % more hits on the trace multi2 in a cache of 57 blocks, and on
 * another trace 11 % more or 6 % fewer, by the size of the cache.
 *
 * A block in use will be at the top of the stack, so it is never the bottom.
 * Blocks that are dirty or in use cannot be victims. If no HIR block can be,
 * the bottom is the victim. This happens in a call for more blocks than are
 * HIR, which takes all their buffers at once. A block that will not be wanted
 * again is the next victim, and is not remembered.
 *
 * A use shows as remove and insert. word[PLACE] numbers the last uses. The
 * stack need not be kept: a block is in it if its number is higher than the
 * bottom's. A block that was the bottom is no longer in the stack, although its
 * number is high, because the number says when it joined the HIR blocks. Its
 * kind is FALLEN. So the HIR blocks, and the names, are in the order of these
 * numbers, too.
 *
 * Source: Jiang and Zhang, "LIRS: An Efficient Low Inter-reference Recency Set
 * Replacement Policy to Improve Buffer Cache Performance", SIGMETRICS 2002,
 * section 3.
 */
#include "kernel/policy/replace.h"
#include "policies/lib/ghost.h"

enum { HIR_PERCENT, NAMES_PERCENT };

static struct tunable tunables[] = {
    {"hir_percent", "percent", 1, 1, 99, "of the blocks, which are HIR"},
    {"names_percent", "percent", 100, 0, 400,
     "of the blocks, whose names the stack has"},
    {0},
};

enum { FROM_HIR, FROM_LIR, RISEN, REMEMBERED };

static struct policy_counter counters[] = {
    {"from_hir", "blocks", "victims that were HIR"},
    {"from_lir", "blocks", "victims that were LIR"},
    {"risen", "blocks", "HIR ones, used while in the stack: LIR since"},
    {"remembered", "blocks", "that came again while the stack had their name"},
    {0},
};

/* The words of a block: the kind that it is, and the number of its last use. */
enum { KIND, PLACE };
enum { NONE, UNWANTED, LIR, HIR, FALLEN, KINDS };

static struct {
    struct tree evictable; /* by PLACE; FALLEN ones are with HIR */
    u64 n;                 /* blocks of this kind; unused for NONE */
} kinds[KINDS];
static u64 most, uses;      /* LIR and HIR blocks; PLACEs given */
static struct ghosts names; /* word: PLACE */

/* Buffers may all be taken before a block comes and the names are shortened. */
static u64 most_names(u64 buffers)
{
    return buffers * tunables[NAMES_PERCENT].max / 100 + buffers;
}

static u64 bytes(u64 buffers)
{
    return GHOSTS_BYTES(most_names(buffers));
}

static struct policy_memory memory = {.bytes = bytes};

static void lirs_start(void)
{
    for (u32 i = 0; i < KINDS; i++) {
        kinds[i].evictable.root = NULL;
        kinds[i].n = 0;
    }
    ghosts_init(&names, memory.start, most_names(memory.buffers));
    most = 0;
}

static u64 most_lir(void)
{
    return most - MIN(most, MAX(1, most * tunables[HIR_PERCENT].value / 100));
}

static struct block *oldest(u32 kind)
{
    struct tree_node *n = tree_at_or_after(&kinds[kind].evictable, 0);
    return n ? TREE_ITEM(n, struct block, node) : NULL;
}

static struct tree *tree_of(const struct block *b)
{
    return &kinds[MIN(b->word[KIND], HIR)].evictable;
}

/* Give a block its kind, as the one that was used last. */
static void become(struct block *b, u64 kind)
{
    kinds[b->word[KIND]].n--;
    kinds[kind].n++;
    b->word[KIND] = kind;
    b->word[PLACE] = ++uses;
    tree_insert(tree_of(b), &b->node, uses);
}

/* True if a block or ghost entry with this number is in the stack. */
static bool in_stack(u64 place)
{
    const struct block *bottom = oldest(LIR);
    return bottom && place > bottom->word[PLACE];
}

/* The kind of a block that has just been used. */
static u64 kind_of(const struct block *b)
{
    if (b->word[KIND] == FALLEN)
        return HIR;
    if (b->word[KIND] == LIR)
        return LIR;
    if (b->word[KIND] == HIR) {
        bool rises = !b->first && in_stack(b->word[PLACE]);
        counters[RISEN].value += rises;
        return rises ? LIR : HIR;
    }
    const struct ghost *name = ghosts_find(&names, b->disk, b->blkno);
    bool remembered = name && in_stack(name->word);
    counters[REMEMBERED].value += remembered;
    ghosts_forget(&names, b->disk, b->blkno);
    most = MAX(most, kinds[LIR].n + kinds[HIR].n + kinds[FALLEN].n + 1);
    return remembered || kinds[LIR].n < most_lir() ? LIR : HIR;
}

/* Take surplus LIR blocks and old names off the stack: the oldest LIR block is
 * its bottom, and a name below the bottom is forgotten. */
static void prune(void)
{
    for (struct block *b; kinds[LIR].n > most_lir() && (b = oldest(LIR));) {
        tree_remove(tree_of(b), &b->node);
        become(b, FALLEN);
    }
    for (struct ghost *g; (g = ghosts_oldest(&names)) && !in_stack(g->word);)
        ghosts_shrink(&names, names.n - 1);
    ghosts_shrink(&names, most * tunables[NAMES_PERCENT].value / 100);
}

static void lirs_insert(struct block *b, bool reuse)
{
    become(b, reuse ? kind_of(b) : UNWANTED);
    prune();
}

static void lirs_remove(struct block *b)
{
    tree_remove(tree_of(b), &b->node);
}

static struct block *lirs_victim(void)
{
    struct block *b = oldest(UNWANTED);
    b = b ? b : oldest(HIR);
    return b ? b : oldest(LIR);
}

/* Keep the name of an HIR block, with when it was used last. */
static void lirs_evicted(const struct block *b)
{
    u64 kind = b->word[KIND];
    kinds[kind].n--;
    if (kind == HIR) /* prune() forgets it, if it is not in the stack */
        ghosts_remember(&names, b->disk, b->blkno)->word = b->word[PLACE];
    counters[FROM_HIR].value += kind == HIR || kind == FALLEN;
    counters[FROM_LIR].value += kind == LIR;
}

static const char *lirs_check(void)
{
    for (u32 i = UNWANTED; i < KINDS; i++) {
        u64 n = kinds[i].n + (i == HIR ? kinds[FALLEN].n : 0);
        if (kinds[i].evictable.root && !n)
            return "the blocks of a kind are miscounted";
    }
    return kinds[LIR].n > most ? "more blocks are LIR than there are" : NULL;
}

static const struct policy lirs = {
    .kind = POLICY_REPLACE,
    .name = "lirs",
    .about = "keeps what came again soon, by the blocks used in between",
    .tunables = tunables,
    .counters = counters,
    .memory = &memory,
    .start = lirs_start,
    .check = lirs_check,
    .replace = {.insert = lirs_insert,
                .remove = lirs_remove,
                .victim = lirs_victim,
                .evicted = lirs_evicted},
};
POLICY(lirs);
