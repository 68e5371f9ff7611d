/*
 * LRU's stack (curves.h): F. Olken's way, 1981, with a Fenwick tree.
 *
 * - Each use has a *place*, in the order of time. A bit says of a place whether
 *   it is the last use of its block. The depth of a block is the number of bits
 *   from its place on.
 * - GROUP places are one group, whose bits are counted directly. The tree has
 *   the sums of groups.
 * - When no place is left, the bits that are set move together, and the places
 *   become at least twice as many as the blocks. So memory is that of the
 *   blocks in use, and the cost of moving is shared by as many uses.
 */
#include <stdlib.h>

#include "kernel/base/types.h"
#include "sluice/blocks/curves/curves.h"

#define WORD   64UL
#define WORDS  8UL /* of a group: a line of the processor's cache */
#define GROUP  (WORD * WORDS)
#define GROUPS 64UL /* at first */

static u64 bits_of(u64 word)
{
    return __builtin_popcountl(word);
}

static void make_room(struct stack *s, u64 ngroups)
{
    s->ngroups = ngroups;
    s->used = memory(ngroups * WORDS, sizeof(u64));
    s->sums = memory(ngroups + 1, sizeof(u64));
}

void stack_init(struct stack *s)
{
    *s = (struct stack){0};
    table_init(&s->at);
    make_room(s, GROUPS);
}

/* Return how many bits are set before a place: in whole groups, then in whole
 * words of its group, then in its word. Node i of the tree (Fenwick's) has the
 * sum of the L groups before group i; L is the value of i's lowest bit. */
static u64 before(const struct stack *s, u64 place)
{
    u64 found = 0, group = place / GROUP;
    for (u64 i = group; i; i &= i - 1) /* without its lowest bit */
        found += s->sums[i];
    for (u64 word = group * WORDS; word < place / WORD; word++)
        found += bits_of(s->used[word]);
    return found + bits_of(s->used[place / WORD] & ((1UL << place % WORD) - 1));
}

/* Invert a place's bit, and add `by` to all sums in which its group is. */
static void change(struct stack *s, u64 place, u64 by)
{
    s->used[place / WORD] ^= 1UL << place % WORD;
    for (u64 i = place / GROUP + 1; i <= s->ngroups; i += i & -i)
        s->sums[i] += by;
}

/* Set the first n bits. Node i sums the bits from low to high, of which those
 * below n are set. */
static void fill(struct stack *s, u64 n)
{
    for (u64 word = 0; word < n / WORD; word++)
        s->used[word] = ~0UL;
    if (n % WORD)
        s->used[n / WORD] = (1UL << n % WORD) - 1;
    for (u64 i = 1; i <= s->ngroups; i++) {
        u64 low = (i - (i & -i)) * GROUP, high = i * GROUP;
        s->sums[i] = MIN(n, high) - MIN(n, low);
    }
}

/* Give the blocks the first places, in their order, and make room for at least
 * as many more. A block's new place is the number of bits before its old place.
 */
static void move_together(struct stack *s)
{
    struct stack old = *s;
    for (u64 i = 0; i < s->at.nslots; i++)
        if (s->at.slots[i].block)
            s->at.slots[i].value = before(&old, s->at.slots[i].value);
    make_room(s, MAX(GROUPS, 2 * s->at.used / GROUP + 1));
    fill(s, s->at.used);
    s->next = s->at.used;
    free(old.used);
    free(old.sums);
}

u64 stack_depth(const struct stack *s, u64 block)
{
    const u64 *place = table_find(&s->at, block);
    return place ? s->at.used - before(s, *place) : 0;
}

/* A block's place has its bit set; a block that is used moves to the next place
 * behind all others. */
u64 stack_use(struct stack *s, u64 block)
{
    if (s->next == s->ngroups * GROUP)
        move_together(s);
    u64 blocks = s->at.used, depth = 0;
    u64 *place = table_put(&s->at, block);
    bool is_known = s->at.used == blocks;
    if (is_known) {
        depth = blocks - before(s, *place);
        change(s, *place, -1UL);
    }
    *place = s->next++;
    change(s, *place, 1);
    return depth;
}

void stack_remove(struct stack *s, u64 block)
{
    const u64 *place = table_find(&s->at, block);
    if (!place)
        return;
    change(s, *place, -1UL);
    table_remove(&s->at, block);
}
