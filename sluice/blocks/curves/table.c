/*
 * A table of blocks (curves.h). NEAR blocks that follow each other have slots
 * that follow each other, because requests use such blocks together. At most
 * 3/4 of the slots are used.
 */
#include <stdlib.h>

#include "sluice/blocks/curves/curves.h"

#define NEAR  8UL
#define FIRST (1UL << 12) /* slots; their number is a power of two */

void table_init(struct table *t)
{
    *t = (struct table){memory(FIRST, sizeof(struct slot)), FIRST, 0};
}

void table_free(struct table *t)
{
    free(t->slots);
    *t = (struct table){0};
}

/* The slot where the search for a block begins: NEAR neighbours are side by
 * side, and a hash of block / NEAR says where. The multiplier is 2^64 divided
 * by the golden ratio, as D. Knuth has it (The Art of Computer Programming 3,
 * 6.4). */
static u64 home(const struct table *t, u64 block)
{
    u64 spread = block / NEAR * 0x9e3779b97f4a7c15UL;
    return ((spread >> 20) * NEAR + block % NEAR) & (t->nslots - 1);
}

/* Return the slot of a block, or the empty one where it would go. */
static u64 find_slot(const struct table *t, u64 block)
{
    u64 i = home(t, block);
    while (t->slots[i].block && t->slots[i].block != block + 1)
        i = (i + 1) & (t->nslots - 1);
    return i;
}

u64 *table_find(const struct table *t, u64 block)
{
    struct slot *s = &t->slots[find_slot(t, block)];
    return s->block ? &s->value : NULL;
}

static void grow(struct table *t)
{
    struct table old = *t;
    t->nslots *= 2;
    t->slots = memory(t->nslots, sizeof(struct slot));
    for (u64 i = 0; i < old.nslots; i++)
        if (old.slots[i].block)
            t->slots[find_slot(t, old.slots[i].block - 1)] = old.slots[i];
    free(old.slots);
}

u64 *table_put(struct table *t, u64 block)
{
    if (t->used >= t->nslots / 4 * 3)
        grow(t);
    struct slot *s = &t->slots[find_slot(t, block)];
    if (!s->block) {
        *s = (struct slot){block + 1, 0};
        t->used++;
    }
    return &s->value;
}

/* Remove a block. Each later block of the run whose search begins at the hole
 * or before it moves into the hole, which then is where that block was (The Art
 * of Computer Programming 3, 6.4, algorithm R). Distances are taken modulo the
 * number of slots. */
void table_remove(struct table *t, u64 block)
{
    u64 hole = find_slot(t, block), last = t->nslots - 1;
    if (!t->slots[hole].block)
        return;
    t->used--;
    for (u64 i = (hole + 1) & last; t->slots[i].block; i = (i + 1) & last) {
        u64 from = home(t, t->slots[i].block - 1);
        if (((i - from) & last) < ((i - hole) & last))
            continue;
        t->slots[hole] = t->slots[i];
        hole = i;
    }
    t->slots[hole].block = 0;
}
