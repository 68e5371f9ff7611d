/*
 * CAR, Clock with adaptive replacement: as ARC (arc.c), it learns how much of
 * the cache recently used blocks deserve and how much frequently used ones,
 * but a use only sets a block's mark.
 *
 * T1 and T2 are clocks: blocks in the order in which they came there. New
 * blocks go to T1, without the mark. The hand of a clock looks at the block
 * that came first. If it is marked, it loses the mark and goes to the end of
 * T2; else it is the victim. B1 and B2 remember the names of the victims of T1
 * and T2. If a block that comes is in B1, T1 was too small; if it is in B2, T2
 * was. So `target`, the number of blocks that T1 should have, rises or falls;
 * the step is larger if the block was in the shorter ghost list. The block goes
 * to T2 in both cases. The victim is from T1 if that has `target` blocks or
 * more, and at least one.
 *
 * With c the size of the cache, T1 and B1 have at most c blocks together, and
 * all four lists at most 2 c. c is the most blocks that T1 and T2 had at
 * once. Blocks that are dirty or in use keep their
 * places, but cannot be victims; if a clock has no other block, the victim is
 * from the other clock. The target moves by whole blocks. A block that will not
 * be wanted again is the next victim, and is not remembered. There is no
 * tunable.
 *
 * The kernel reports a use as remove and insert. So a block stores its place as
 * a number in word[PLACE], and insert puts it back there.
 *
 * Source: Bansal and Modha, "CAR: Clock with Adaptive Replacement", FAST 2004,
 * figure 2.
 */
#include "kernel/policy/replace.h"
#include "policies/lib/ghost.h"

enum { FROM_T1, FROM_T2, IN_B1, IN_B2 };

static struct policy_counter counters[] = {
    {"from_t1", "blocks", "victims that had been used once"},
    {"from_t2", "blocks", "victims that had been used again"},
    {"in_b1", "blocks", "that came while B1 had their name"},
    {"in_b2", "blocks", "that came while B2 had their name"},
    {0},
};

/* The words of a block: STATE is the list that it belongs to, and MARKED. */
enum { STATE, PLACE };
enum { NONE, UNWANTED, T1, T2, LISTS, MARKED = 8 };

static struct {
    struct tree evictable; /* the hand is at the lowest PLACE */
    u64 n;                 /* blocks that belong here; unused for NONE */
} lists[LISTS];
/* The size that T1 should have (the paper's p), and of the cache (c). */
static u64 target, most;
static u64 last_place;
static struct ghosts b1, b2;

/* B1 has at most one name a buffer, B2 two, as long as T1 and T2 are empty. */
static u64 bytes(u64 buffers)
{
    return GHOSTS_BYTES(3 * buffers);
}

static struct policy_memory memory = {.bytes = bytes};

static void car_start(void)
{
    for (u32 i = 0; i < LISTS; i++) {
        lists[i].evictable.root = NULL;
        lists[i].n = 0;
    }
    void *next = ghosts_init(&b1, memory.start, memory.buffers);
    ghosts_init(&b2, next, 2 * memory.buffers);
    target = most = 0;
}

static u64 list_of(const struct block *b)
{
    return b->word[STATE] % MARKED;
}

/* Move a block to this list, as its last. */
static void join(struct block *b, u64 list)
{
    lists[list_of(b)].n--;
    lists[list].n++;
    b->word[STATE] = list;
    b->word[PLACE] = ++last_place;
}

/* The list for a block that comes. If a ghost list had its name, its list of
 * blocks was too short. */
static u32 list_for(const struct block *b)
{
    bool in_b1 = ghosts_have(&b1, b->disk, b->blkno);
    bool in_b2 = !in_b1 && ghosts_have(&b2, b->disk, b->blkno);
    if (in_b1)
        target = MIN(target + MAX(1, b2.n / b1.n), most);
    else if (in_b2)
        target -= MIN(target, MAX(1, b1.n / b2.n));
    ghosts_forget(&b1, b->disk, b->blkno);
    ghosts_forget(&b2, b->disk, b->blkno);
    counters[IN_B1].value += in_b1;
    counters[IN_B2].value += in_b2;
    return in_b1 || in_b2 ? T2 : T1;
}

/* Keep |T1| + |B1| within the cache's size, and all four lists within twice
 * that. */
static void trim_ghosts(void)
{
    u64 here = lists[T1].n + lists[T2].n;
    most = MAX(most, here);
    ghosts_shrink(&b1, most - lists[T1].n);
    ghosts_shrink(&b2, 2 * most - here - b1.n);
}

/* Put a block that was let go into its list. One of T1 or T2 that was used
 * again is only marked. */
static void car_insert(struct block *b, bool reuse)
{
    if (!reuse)
        join(b, UNWANTED);
    else if (list_of(b) == T1 || list_of(b) == T2)
        b->word[STATE] |= b->first ? 0 : MARKED;
    else
        join(b, list_for(b));
    trim_ghosts();
    tree_insert(&lists[list_of(b)].evictable, &b->node, b->word[PLACE]);
}

static void car_remove(struct block *b)
{
    tree_remove(&lists[list_of(b)].evictable, &b->node);
}

static struct block *at_hand(u32 list)
{
    struct tree_node *n = tree_at_or_after(&lists[list].evictable, 0);
    return n ? TREE_ITEM(n, struct block, node) : NULL;
}

/* The paper's replace(). */
static struct block *car_victim(void)
{
    struct block *b = at_hand(UNWANTED);
    while (!b) {
        struct block *in_t1 = at_hand(T1), *in_t2 = at_hand(T2);
        bool t1 = in_t1 && lists[T1].n >= MAX(1, target);
        b = t1 || !in_t2 ? in_t1 : in_t2;
        if (!b || !(b->word[STATE] & MARKED))
            return b;
        car_remove(b);
        join(b, T2);
        tree_insert(&lists[T2].evictable, &b->node, b->word[PLACE]);
        b = NULL;
    }
    return b;
}

static void car_evicted(const struct block *b)
{
    u64 from = list_of(b);
    lists[from].n--;
    if (from == UNWANTED)
        return;
    ghosts_remember(from == T1 ? &b1 : &b2, b->disk, b->blkno);
    counters[FROM_T1].value += from == T1;
    counters[FROM_T2].value += from == T2;
}

/* The paper's I2 and I3, for the blocks that are not UNWANTED. */
static const char *car_check(void)
{
    u64 first = lists[T1].n + b1.n, second = lists[T2].n + b2.n;
    return target > most               ? "the target is more than the cache"
           : first > most              ? "T1 and B1 have more than the cache"
           : first + second > 2 * most ? "all lists have more than two caches"
                                       : NULL;
}

static const struct policy car = {
    .kind = POLICY_REPLACE,
    .name = "car",
    .about = "adaptive, with two clocks and a ghost list for each",
    .counters = counters,
    .memory = &memory,
    .start = car_start,
    .check = car_check,
    .replace = {.insert = car_insert,
                .remove = car_remove,
                .victim = car_victim,
                .evicted = car_evicted},
};
POLICY(car);
