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
    {"spared", "answers", "that were clean, though a dirty one was older"},
    {"dirty", "answers", "that were a dirty block, to be written"},
    {0},
};

enum { CLEAN, MODIFIED, TREES };

static struct tree by_use[TREES];
static u64 blocks;
/* The window: `inside` blocks, whose keys are below `edge`. It is kept from
 * change to change, so that no victim is found by a walk past dirty blocks. */
static u64 inside, edge;
static u64 unwanted; /* keys of blocks that are not wanted again: in front */

#define WANTED (1UL << 63) /* in the keys of all others */

static void cflru_start(void)
{
    by_use[CLEAN].root = by_use[MODIFIED].root = NULL;
    blocks = inside = edge = unwanted = 0;
}

static struct tree *tree_of(const struct block *b)
{
    return &by_use[b->dirtied_ns ? MODIFIED : CLEAN];
}

/* The key of the last block in the window, and of the first after it. */
static u64 last_inside(void)
{
    struct tree_node *c = tree_before(&by_use[CLEAN], edge);
    struct tree_node *m = tree_before(&by_use[MODIFIED], edge);
    return MAX(c ? c->key : 0, m ? m->key : 0);
}

static u64 first_outside(void)
{
    struct tree_node *c = tree_at_or_after(&by_use[CLEAN], edge);
    struct tree_node *m = tree_at_or_after(&by_use[MODIFIED], edge);
    return MIN(c ? c->key : UINT64_MAX, m ? m->key : UINT64_MAX);
}

/* Move the edge until the window has its share of the blocks. */
static void fit_window(void)
{
    u64 window = MAX(1, blocks * tunables[WINDOW_PERCENT].value / 100);
    for (; inside > window; inside--)
        edge = last_inside();
    for (; inside < MIN(blocks, window); inside++)
        edge = first_outside() + 1;
}

/* Insert a block by its last use; unwanted ones come before all others. */
static void cflru_insert(struct block *b, bool reuse)
{
    tree_insert(tree_of(b), &b->node, reuse ? WANTED | b->used : ++unwanted);
    blocks++;
    inside += b->node.key < edge;
    fit_window();
}

static void cflru_remove(struct block *b)
{
    inside -= b->node.key < edge;
    blocks--;
    tree_remove(tree_of(b), &b->node);
    fit_window();
}

/* Take the first clean block of the window, else the first dirty block. */
static struct block *cflru_victim(void)
{
    struct tree_node *clean = tree_at_or_after(&by_use[CLEAN], 0);
    struct tree_node *dirty = tree_at_or_after(&by_use[MODIFIED], 0);
    fit_window(); /* the tunable may have changed */
    if (!dirty || (clean && clean->key < edge)) {
        counters[SPARED].value += dirty && dirty->key < clean->key;
        return clean ? TREE_ITEM(clean, struct block, node) : NULL;
    }
    counters[DIRTY].value++;
    return TREE_ITEM(dirty, struct block, node);
}

static const char *cflru_check(void)
{
    if ((!by_use[CLEAN].root && !by_use[MODIFIED].root) != !blocks)
        return "blocks are miscounted";
    return inside > blocks ? "the window has more than all blocks" : NULL;
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
