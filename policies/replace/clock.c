/*
 * Clock, or second chance: blocks stand in the order they came. A use only
 * sets a block's mark and leaves it where it is. The hand looks at the block
 * that came first: marked, it loses the mark and goes to the end; else it is
 * the victim. A block comes in without the mark, having been used once.
 *
 * A use shows as remove and insert, so a block keeps its place as a number,
 * in word[PLACE], and is put back by it. A block nobody will want again
 * stands before all others.
 *
 * Source: Corbato, "A Paging Experiment with the Multics System", 1968.
 */
#include "kernel/policy.h"

/* The words of a block. */
enum { PLACE, MARK }; /* PLACE 0: has none yet */

static struct list first_to_last; /* by PLACE */
static u64 last_place;

static struct policy_counter counters[] = {
    {"chances", "blocks", "marked blocks that the hand passed over"},
    {0},
};

static void clock_start(void)
{
    list_init(&first_to_last);
}

static struct block *block_at(struct list *n)
{
    return LIST_ITEM(n, struct block, link);
}

static void put_by_place(struct block *b)
{
    struct list *after = first_to_last.prev;
    while (after != &first_to_last &&
           block_at(after)->word[PLACE] > b->word[PLACE])
        after = after->prev;
    list_insert_before(after->next, &b->link);
}

static void put_last(struct block *b)
{
    b->word[PLACE] = ++last_place;
    b->word[MARK] = false;
    put_by_place(b);
}

static void clock_insert(struct block *b, bool reuse)
{
    if (!reuse) {
        b->word[PLACE] = 0;
        list_push_front(&first_to_last, &b->link);
    } else if (!b->word[PLACE]) {
        put_last(b);
    } else {
        b->word[MARK] = true;
        put_by_place(b);
    }
}

static void clock_remove(struct block *b)
{
    list_remove(&b->link);
}

static struct block *clock_victim(void)
{
    struct list *n;
    while ((n = list_first(&first_to_last))) {
        struct block *b = block_at(n);
        if (!b->word[PLACE] || !b->word[MARK])
            return b;
        counters[0].value++;
        list_remove(n);
        put_last(b);
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
