/*
 * SIEVE: blocks stand in the order in which they came, and a hand goes from the
 * oldest to the youngest. A use only sets a block's mark.
 *
 * If the block at the hand is marked, it loses the mark, and the hand goes on;
 * else it is the victim. A block that the hand passes over keeps its place,
 * and new blocks come in behind all others, without the mark. So the hand
 * evicts young blocks that are not used again, and seldom reaches blocks that
 * it has passed over. In Clock, by contrast, a block that is passed over moves
 * among the new blocks. Beyond the youngest block the hand begins again with
 * the oldest.
 *
 * Blocks that are dirty or in use keep their places, but the hand does not see
 * them. A block that will not be wanted again is the next victim. There is no
 * tunable.
 *
 * The kernel reports a use as remove and insert. So a block stores its place as
 * a number in word[PLACE], and insert puts it back there. The hand is such a
 * number, too.
 *
 * Source: Zhang, Yang, Yue, Vigfusson and Rashmi, "SIEVE is Simpler than LRU:
 * an Efficient Turn-Key Eviction Algorithm for Web Caches", NSDI 2024,
 * algorithm 1.
 */
#include "kernel/policy/replace.h"

enum { PASSED };

static struct policy_counter counters[] = {
    {"passed", "blocks", "marked blocks that the hand passed over"},
    {0},
};

/* The words of a block. */
enum { PLACE, MARK }; /* PLACE 0: the block has none yet */

static struct tree oldest_first; /* by PLACE */
static u64 last_place, hand;     /* the hand: at the first at or after it */

static void sieve_start(void)
{
    oldest_first.root = NULL;
    hand = 0;
}

/* A new block joins at the young end. A use only marks a block, which stays
 * where it is. */
static void sieve_insert(struct block *b, bool reuse)
{
    b->word[MARK] = reuse && b->word[PLACE] && !b->first;
    if (!reuse)
        b->word[PLACE] = 0;
    else if (!b->word[PLACE])
        b->word[PLACE] = ++last_place;
    tree_insert(&oldest_first, &b->node, b->word[PLACE]);
}

static void sieve_remove(struct block *b)
{
    tree_remove(&oldest_first, &b->node);
}

/* Move the hand from old to young blocks to the first one without a mark, and
 * take marks away on the way. */
static struct block *sieve_victim(void)
{
    struct tree_node *first = tree_at_or_after(&oldest_first, 0);
    if (!first || !first->key)
        return first ? TREE_ITEM(first, struct block, node) : NULL;
    for (struct tree_node *n = tree_at_or_after(&oldest_first, hand);;
         n = tree_next(n)) {
        n = n ? n : first;
        struct block *b = TREE_ITEM(n, struct block, node);
        hand = n->key;
        if (!b->word[MARK])
            return b;
        b->word[MARK] = false;
        counters[PASSED].value++;
    }
}

/* Move the hand on at once. Otherwise, if the victim was the youngest, the next
 * new block would be placed behind the hand. */
static void sieve_evicted(const struct block *b)
{
    bool youngest = !tree_at_or_after(&oldest_first, b->word[PLACE]);
    if (b->word[PLACE])
        hand = youngest ? 0 : b->word[PLACE];
}

static const char *sieve_check(void)
{
    return hand > last_place ? "the hand is beyond all blocks" : NULL;
}

static const struct policy sieve = {
    .kind = POLICY_REPLACE,
    .name = "sieve",
    .about = "a hand sifts out young blocks that are not used again",
    .counters = counters,
    .start = sieve_start,
    .check = sieve_check,
    .replace = {.insert = sieve_insert,
                .remove = sieve_remove,
                .victim = sieve_victim,
                .evicted = sieve_evicted},
};
POLICY(sieve);
