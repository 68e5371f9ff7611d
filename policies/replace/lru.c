/*
 * LRU, least recently used: the victim is the buffer that was let go longest
 * ago.
 *
 * The buffers are on one list, the oldest first. A buffer that will not be
 * wanted again goes to the front, so that it is the next victim. There is no
 * tunable.
 *
 * Source: the free list of the classical cache: Bach, "The Design of the UNIX
 * Operating System", section 3.2.
 */
#include "kernel/policy/replace.h"

static struct list oldest_first;

static void lru_start(void)
{
    list_init(&oldest_first);
}

static void lru_insert(struct block *b, bool reuse)
{
    if (reuse)
        list_push_back(&oldest_first, &b->link);
    else
        list_push_front(&oldest_first, &b->link);
}

static void lru_remove(struct block *b)
{
    list_remove(&b->link);
}

static struct block *lru_victim(void)
{
    struct list *first = list_first(&oldest_first);
    return first ? LIST_ITEM(first, struct block, link) : NULL;
}

static const struct policy lru = {
    .kind = POLICY_REPLACE,
    .name = "lru",
    .about = "least recently used",
    .start = lru_start,
    .replace = {.insert = lru_insert,
                .remove = lru_remove,
                .victim = lru_victim},
};
POLICY(lru);
