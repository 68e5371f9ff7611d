/*
 * CFLRU, clean first, least recently used: the victim is the least recently
 * used clean block, if it is among the window_percent of all blocks that are
 * least recently used. If all blocks of this window are dirty, the least
 * recently used of them is written and evicted.
 *
 * So a dirty block that is in use may stay, and be modified again before it is
 * written; and a dirty block that is not in use does not displace a reader's
 * block.
 *
 * The other policies see clean blocks only. They do the same as window_percent
 * 100, except that a block that has been written counts as just used; here
 * only a process's use counts. The paper leaves the window open and measures
 * several; 25 is ours. A block that will not be wanted again is the next
 * victim.
 *
 * Source: Park, Jung, Kang, Kim and Lee, "CFLRU: A Replacement Algorithm for
 * Flash Memory", CASES 2006, section 3.
 */
#include "kernel/policy/replace.h"

enum { WINDOW_PERCENT };

static struct tunable tunables[] = {
    {"window_percent", "% of the blocks", 25, 0, 100,
     "least recently used, of which clean ones go first"},
    {0},
};

enum { SPARED, DIRTY };

static struct policy_counter counters[] = {
    {"spared", "blocks", "dirty ones, passed over for a clean one"},
    {"dirty", "answers", "that were a dirty block, to be written"},
    {0},
};

static struct tree by_use; /* key 0: not wanted again */
static u64 blocks;

static void cflru_start(void)
{
    by_use.root = NULL;
    blocks = 0;
}

static void cflru_insert(struct block *b, bool reuse)
{
    tree_insert(&by_use, &b->node, reuse ? b->used : 0);
    blocks++;
}

static void cflru_remove(struct block *b)
{
    tree_remove(&by_use, &b->node);
    blocks--;
}

static struct block *cflru_victim(void)
{
    u64 window = blocks * tunables[WINDOW_PERCENT].value / 100, passed = 0;
    struct tree_node *first = tree_at_or_after(&by_use, 0);
    for (struct tree_node *n = first; n && passed < MAX(1, window);
         n = tree_next(n), passed++) {
        struct block *b = TREE_ITEM(n, struct block, node);
        if (b->dirtied_ns)
            continue;
        counters[SPARED].value += passed;
        return b;
    }
    counters[DIRTY].value += first != NULL;
    return first ? TREE_ITEM(first, struct block, node) : NULL;
}

static const char *cflru_check(void)
{
    return !by_use.root != !blocks ? "blocks are miscounted" : NULL;
}

static const struct policy cflru = {
    .kind = POLICY_REPLACE,
    .name = "cflru",
    .about = "least recently used, clean blocks of its end before dirty ones",
    .tunables = tunables,
    .counters = counters,
    .start = cflru_start,
    .check = cflru_check,
    .replace = {.insert = cflru_insert,
                .remove = cflru_remove,
                .victim = cflru_victim,
                .takes_dirty = true},
};
POLICY(cflru);
