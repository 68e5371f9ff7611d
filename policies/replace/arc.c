/*
 * ARC, the adaptive replacement cache: it learns how much of the cache
 * recently used blocks deserve and how much frequently used ones.
 *
 * T1 has the blocks used once since they came, T2 those used again; each
 * evicts the least recently used first. B1 and B2 are their ghost lists: they
 * remember the names of the victims of T1 and T2. If a block that comes is in
 * B1, T1 was too small; if it is in B2, T2 was. So `target`, the number of
 * blocks that T1 should have, rises or falls; the step is larger if the block
 * was in the shorter ghost list. The block goes to T2 in both cases. A scan
 * passes through T1 only.
 *
 * With c the size of the cache, T1 and B1 have at most c blocks together, and
 * all four lists at most 2 c. c is the most blocks that T1 and T2 had at
 * once. Blocks that are dirty or in use belong to their
 * lists as in the paper, but cannot be victims; if a list has no other block,
 * the victim is from the other list. The target moves by whole blocks. A block
 * that will not be wanted again is the next victim, and is not remembered.
 * There is no tunable.
 *
 * Source: Megiddo and Modha, "ARC: A Self-Tuning, Low Overhead Replacement
 * Cache", FAST 2003, figure 4.
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

/* The word of a block: the list it belongs to. */
enum { WHERE };
enum { NONE, UNWANTED, T1, T2, LISTS };

static struct {
    struct list evictable; /* oldest use first */
    u64 n;                 /* blocks that belong here; unused for NONE */
} lists[LISTS];
/* The size that T1 should have (the paper's p), and of the cache (c). */
static u64 target, most;
static bool comes_from_b2;
static struct ghosts b1, b2;

/* B1 has at most one name for each buffer, and B2 two, while T1 and T2 are
 * empty. */
static u64 bytes(u64 buffers)
{
    return GHOSTS_BYTES(3 * buffers);
}

static struct policy_memory memory = {.bytes = bytes};

static void arc_start(void)
{
    for (u32 i = 0; i < LISTS; i++) {
        list_init(&lists[i].evictable);
        lists[i].n = 0;
    }
    void *next = ghosts_init(&b1, memory.start, memory.buffers);
    ghosts_init(&b2, next, 2 * memory.buffers);
    target = most = 0;
    comes_from_b2 = false;
}

/* Adapt the target: if a ghost list has the block's name, T1 or T2 was too
 * short. */
static void arc_coming(u32 disk, u64 blkno)
{
    comes_from_b2 = ghosts_have(&b2, disk, blkno);
    if (comes_from_b2)
        target -= MIN(target, MAX(1, b1.n / b2.n));
    else if (ghosts_have(&b1, disk, blkno))
        target = MIN(target + MAX(1, b2.n / b1.n), most);
}

/* Forget the block's ghost entry. True if it had one. */
static bool recall(const struct block *b)
{
    bool in_b1 = ghosts_forget(&b1, b->disk, b->blkno);
    bool in_b2 = ghosts_forget(&b2, b->disk, b->blkno);
    counters[IN_B1].value += in_b1;
    counters[IN_B2].value += in_b2;
    return in_b1 || in_b2;
}

/* Return the list for a block that was used: T2 from the second use on, or if a
 * ghost has its name. */
static u64 where_to(const struct block *b, bool reuse)
{
    if (!reuse)
        return UNWANTED;
    if (b->word[WHERE] == T1 || b->word[WHERE] == T2)
        return b->first ? b->word[WHERE] : T2;
    return recall(b) ? T2 : T1;
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

/* Put a block that was let go at the end of the list that it belongs to now. */
static void arc_insert(struct block *b, bool reuse)
{
    u64 to = where_to(b, reuse);
    lists[b->word[WHERE]].n--;
    lists[to].n++;
    b->word[WHERE] = to;
    list_push_back(&lists[to].evictable, &b->link);
    trim_ghosts();
}

static void arc_remove(struct block *b)
{
    list_remove(&b->link);
}

/* The paper's REPLACE. */
static struct block *arc_victim(void)
{
    u64 most_of_t1 = comes_from_b2 && target ? target - 1 : target;
    bool t1 = lists[T1].n > most_of_t1;
    const u32 order[] = {UNWANTED, t1 ? T1 : T2, t1 ? T2 : T1};
    for (u32 i = 0; i < NELEM(order); i++) {
        struct list *first = list_first(&lists[order[i]].evictable);
        if (first)
            return LIST_ITEM(first, struct block, link);
    }
    return NULL;
}

/* A victim leaves its name in the ghost list of its list, T1 or T2. One that
 * was unwanted leaves none. */
static void arc_evicted(const struct block *b)
{
    u64 from = b->word[WHERE];
    lists[from].n--;
    if (from == UNWANTED)
        return;
    ghosts_remember(from == T1 ? &b1 : &b2, b->disk, b->blkno);
    counters[FROM_T1].value += from == T1;
    counters[FROM_T2].value += from == T2;
}

/* The paper's A.2 and A.3, for the blocks that are not UNWANTED. */
static const char *arc_check(void)
{
    u64 first = lists[T1].n + b1.n, second = lists[T2].n + b2.n;
    return target > most               ? "the target is more than the cache"
           : first > most              ? "T1 and B1 have more than the cache"
           : first + second > 2 * most ? "all lists have more than two caches"
                                       : NULL;
}

static const struct policy arc = {
    .kind = POLICY_REPLACE,
    .name = "arc",
    .about = "adaptive: recent and frequent blocks, weighed by ghost hits",
    .counters = counters,
    .memory = &memory,
    .start = arc_start,
    .check = arc_check,
    .replace = {.coming = arc_coming,
                .insert = arc_insert,
                .remove = arc_remove,
                .victim = arc_victim,
                .evicted = arc_evicted},
};
POLICY(arc);
