/*
 * MGLRU, Linux's multi-generational LRU, for a cache that only read and write
 * use: generations of blocks, and feedback from what had to be read again.
 *
 * Blocks of similar age are a generation. A new block joins the second youngest
 * one, at the end. The victim is the first block of the oldest generation. But
 * a block that was used N times is in tier ceil(log2 N), up to 3, and if the
 * tier is protected, the block moves to the next generation instead, and its
 * uses are forgotten. When the oldest generation is empty, the next is the
 * oldest. When the second youngest has less than a quarter of the blocks, a
 * generation is born, which makes the youngest the second youngest (aging).
 *
 * Feedback: a tier is protected, with all above it, if enough of its victims
 * came again soon: at least least_refaults, and more than margin_percent of the
 * share of those of tier 0, which is never protected. A share is refaults
 * divided by victims and protected blocks of the tier. As in a PID controller
 * it has a present part (P) and a past part (I): when a generation ends, the
 * new past is the mean of the past and the present.
 *
 * Kept from Linux: 2 to 4 generations, the four tiers, the controller with its
 * P and I, and the quarter. Left out for lack of page tables: the walks that
 * find used pages and move them to the youngest generation, their Bloom
 * filters, and looking around; for lack of anonymous memory and cgroups: the
 * choice of a type of page, the lists of cgroups, and swappiness; and min_ttl.
 * Different: Linux adds a page to the oldest generation, which becomes empty
 * since it evicts many at once; here that is one at a time, so the generation
 * for new blocks is another from a birth on. Linux moves a page to the front of
 * the next generation, ours to the end. Linux counts a refault only while the
 * generation of the victim is the oldest, and at least 64 of them.
 *
 * Blocks that are dirty or in use cannot be victims; those of the youngest
 * generation are if there is no other, and in whatever tier. At most as
 * many names of victims are kept as the cache has ever had blocks at once. A
 * name counts as a refault until 4 generations were born. A block that will not
 * be wanted again is the next victim, and is not remembered. A use shows as
 * remove and insert; word[PLACE] is the place in the generation.
 *
 * Source: Linux, Documentation/mm/multigen_lru.rst and
 * Documentation/admin-guide/mm/multigen_lru.rst; numbers: mm/vmscan.c of 6.1.
 */
#include "kernel/policy/replace.h"
#include "policies/lib/ghost.h"

#define MOST_GENERATIONS 4
#define TIERS            4
#define MOST_USES        5 /* more are in the same tier */

enum { LEAST_REFAULTS, MARGIN_PERCENT };

static struct tunable tunables[] = {
    {"least_refaults", "blocks", 8, 1, 1 << 20,
     "of a tier that must come again until it is protected"},
    {"margin_percent", "percent", 200, 100, 10000,
     "of tier 0's share of refaults, which a protected tier exceeds"},
    {0},
};

enum { PROTECTED, REFAULTS, BORN, ENDED };

static struct policy_counter counters[] = {
    {"protected", "blocks", "that moved to the next generation"},
    {"refaults", "blocks", "that came again soon after they were victims"},
    {"born", "generations", "since the second youngest was small"},
    {"ended", "generations", "that became empty"},
    {0},
};

/* The words of a block: STATE is 8 times its generation plus its uses, or 0;
 * generation 0 has the unwanted blocks. */
enum { STATE, PLACE };
#define USES 8

/* Generation g is in slot[g % SLOTS], and 0 in the last slot. */
#define SLOTS MOST_GENERATIONS
static struct {
    struct tree evictable; /* by PLACE */
    u64 n;                 /* blocks that belong here */
} slots[SLOTS + 1];
static u64 oldest, youngest, last_place, most;

/* The feedback of each tier: refaults; total: victims and protected blocks.
 * Both since the last generation ended; past_: before that. */
static struct feedback {
    u64 refaults, total, past_refaults, past_total;
} tiers[TIERS];
static struct ghosts ghosts; /* word: as STATE, but with the youngest then */

/* One name more than there are buffers, until the list is shortened. */
static u64 bytes(u64 buffers)
{
    return GHOSTS_BYTES(buffers + 1);
}

static struct policy_memory memory = {.bytes = bytes};

static void mglru_start(void)
{
    for (u32 i = 0; i <= SLOTS; i++) {
        slots[i].evictable.root = NULL;
        slots[i].n = 0;
    }
    for (u32 i = 0; i < TIERS; i++)
        tiers[i] = (struct feedback){0};
    ghosts_init(&ghosts, memory.start, memory.buffers + 1);
    oldest = 1;
    youngest = 2;
    most = 0;
}

static u32 slot_of(u64 state)
{
    return state >= USES ? state / USES % SLOTS : SLOTS;
}

static u32 tier_of(u64 state)
{
    u64 uses = state % USES;
    return uses <= 2 ? uses / 2 : uses <= 4 ? 2 : 3;
}

static u64 all_blocks(void)
{
    u64 n = 0;
    for (u32 i = 0; i < SLOTS; i++)
        n += slots[i].n;
    return n;
}

/* Move a block to this generation, as its last. */
static void join(struct block *b, u64 generation, u64 uses)
{
    if (b->word[STATE])
        slots[slot_of(b->word[STATE])].n--;
    b->word[STATE] = USES * generation + uses;
    b->word[PLACE] = ++last_place;
    slots[slot_of(b->word[STATE])].n++;
}

static void put(struct block *b)
{
    tree_insert(&slots[slot_of(b->word[STATE])].evictable, &b->node,
                b->word[PLACE]);
}

static void mglru_remove(struct block *b)
{
    tree_remove(&slots[slot_of(b->word[STATE])].evictable, &b->node);
}

/* If the block was evicted not long ago, count a refault of its tier. */
static void heed_refault(const struct block *b)
{
    const struct ghost *g = ghosts_find(&ghosts, b->disk, b->blkno);
    if (g && youngest - g->word / USES < MOST_GENERATIONS) {
        tiers[tier_of(g->word)].refaults++;
        counters[REFAULTS].value++;
    }
    ghosts_forget(&ghosts, b->disk, b->blkno);
}

/* The block is not wanted again; or it has a generation, and was used again; or
 * it is new, and joins the second youngest generation. */
static void mglru_insert(struct block *b, bool reuse)
{
    if (!reuse) {
        join(b, 0, 1);
    } else if (b->word[STATE] >= USES) {
        b->word[STATE] += !b->first && b->word[STATE] % USES < MOST_USES;
    } else {
        heed_refault(b);
        join(b, youngest - 1, 1);
        most = MAX(most, all_blocks());
    }
    put(b);
}

/* The first tier that is protected; TIERS: none is. It is the first of which a
 * larger share came again than margin_percent of tier 0's share:
 *
 *     refaults / total > margin_percent / 100 * refaults_0 / total_0
 *
 * with both sides multiplied by the divisors. */
static u32 first_protected(void)
{
    u64 least = tunables[LEAST_REFAULTS].value;
    u64 margin_percent = tunables[MARGIN_PERCENT].value;
    u64 refaults_0 = tiers[0].refaults + tiers[0].past_refaults + 1;
    u64 total_0 = tiers[0].total + tiers[0].past_total + least;
    for (u32 i = 1; i < TIERS; i++) {
        u64 refaults = tiers[i].refaults + tiers[i].past_refaults;
        u64 total = tiers[i].total + tiers[i].past_total;
        if (refaults >= least &&
            refaults * total_0 * 100 > refaults_0 * total * margin_percent)
            return i;
    }
    return TIERS;
}

/* A generation has ended: average each tier's counts with those of the past. */
static void learn_from_the_past(void)
{
    for (u32 i = 0; i < TIERS; i++) {
        struct feedback *t = &tiers[i];
        t->past_refaults = (t->past_refaults + t->refaults) / 2;
        t->past_total = (t->past_total + t->total) / 2;
        t->refaults = t->total = 0;
    }
}

/* End empty oldest generations. Begin a new one if the second youngest has less
 * than a quarter of all blocks. */
static void turn(void)
{
    while (youngest - oldest > 1 && !slots[oldest % SLOTS].n) {
        oldest++;
        learn_from_the_past();
        counters[ENDED].value++;
    }
    if (youngest - oldest + 1 < MOST_GENERATIONS &&
        slots[(youngest - 1) % SLOTS].n * 4 < all_blocks()) {
        youngest++;
        counters[BORN].value++;
    }
}

static struct block *first_in(u32 slot)
{
    struct tree_node *n = tree_at_or_after(&slots[slot].evictable, 0);
    return n ? TREE_ITEM(n, struct block, node) : NULL;
}

/* Return the first evictable block of the oldest generation that has one. */
static struct block *first_of_oldest(void)
{
    struct block *b = NULL;
    for (u64 g = oldest; !b && g <= youngest; g++)
        b = first_in(g % SLOTS);
    return b;
}

/* Take the first block of the oldest generation. If its tier is protected it
 * moves to the next generation instead. */
static struct block *mglru_victim(void)
{
    struct block *b = first_in(SLOTS);
    u32 from = first_protected();
    while (!b && (b = first_of_oldest())) {
        u64 generation = b->word[STATE] / USES;
        u32 tier = tier_of(b->word[STATE]);
        if (tier < from || generation == youngest)
            break;
        mglru_remove(b);
        join(b, generation + 1, 0);
        put(b);
        tiers[tier].total++;
        counters[PROTECTED].value++;
        b = NULL;
    }
    return b;
}

/* A victim leaves its name with the youngest generation of now and the state of
 * its uses, and counts for its tier. */
static void mglru_evicted(const struct block *b)
{
    u64 state = b->word[STATE];
    slots[slot_of(state)].n--;
    if (state >= USES) {
        tiers[tier_of(state)].total++;
        ghosts_remember(&ghosts, b->disk, b->blkno)->word =
            USES * youngest + state % USES;
        ghosts_shrink(&ghosts, most);
    }
    turn();
}

static const char *mglru_check(void)
{
    for (u32 i = 0; i <= SLOTS; i++) {
        if (slots[i].evictable.root && !slots[i].n)
            return "the blocks of a generation are miscounted";
    }
    u64 n = youngest - oldest + 1;
    return n < 2 || n > MOST_GENERATIONS ? "there are not 2 to 4 generations"
           : ghosts.n > most ? "more names are remembered than there are blocks"
                             : NULL;
}

static const struct policy mglru = {
    .kind = POLICY_REPLACE,
    .name = "mglru",
    .about = "generations, and tiers protected by feedback from refaults",
    .tunables = tunables,
    .counters = counters,
    .memory = &memory,
    .start = mglru_start,
    .check = mglru_check,
    .replace = {.insert = mglru_insert,
                .remove = mglru_remove,
                .victim = mglru_victim,
                .evicted = mglru_evicted},
};
POLICY(mglru);
