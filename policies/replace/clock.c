/*
 * Clock, or second chance: blocks stand in the order in which they came, and a
 * use only sets a block's mark.
 *
 * The hand looks at the block that came first. If it is marked, it loses the
 * mark and goes to the end; else it is the victim. A block comes in without
 * the mark, since it has been used once. A block that will not be wanted again
 * stands before all others. There is no tunable.
 *
 * The kernel reports a use as remove and insert. So a block stores its place as
 * a number in word[PLACE], and insert puts it back there.
 *
 * Source: Corbato, "A Paging Experiment with the Multics System", 1968.
 */
#include "kernel/policy/replace.h"

enum { CHANCES };

static struct policy_counter counters[] = {
    {"chances", "blocks", "marked blocks that the hand passed over"},
    {0},
};

/* The words of a block. */
enum { PLACE, MARK }; /* PLACE 0: the block has none yet */

static struct tree first_to_last; /* by PLACE */
static u64 last_place;

static void clock_start(void)
{
    first_to_last.root = NULL;
}

static void put(struct block *b, u64 place, bool mark)
{
    b->word[PLACE] = place;
    b->word[MARK] = mark;
    tree_insert(&first_to_last, &b->node, place);
}

static void clock_insert(struct block *b, bool reuse)
{
    if (!reuse)
        put(b, 0, false);
    else if (!b->word[PLACE])
        put(b, ++last_place, false);
    else
        put(b, b->word[PLACE], !b->first);
}

static void clock_remove(struct block *b)
{
    tree_remove(&first_to_last, &b->node);
}

/* Move the hand to the first block without a mark. A marked one goes to the
 * end, without its mark. */
static struct block *clock_victim(void)
{
    struct tree_node *n;
    while ((n = tree_at_or_after(&first_to_last, 0))) {
        struct block *b = TREE_ITEM(n, struct block, node);
        if (!b->word[MARK])
            return b;
        counters[CHANCES].value++;
        clock_remove(b);
        put(b, ++last_place, false);
    }
    return NULL;
}

static const struct policy second_chance = {
    .kind = POLICY_REPLACE,
    .name = "clock",
    .about = "second chance: the first to come that was not used since",
    .counters = counters,
    .start = clock_start,
    .replace = {.insert = clock_insert,
                .remove = clock_remove,
                .victim = clock_victim},
};
POLICY(second_chance);
