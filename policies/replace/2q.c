/*
 * 2Q, two queues: a block must prove itself before it may stay long.
 *
 * A block first goes through A1in, a queue in which further uses change
 * nothing, since most of them are correlated with the first use. When it leaves
 * A1in, its name is remembered in A1out, which holds no data. A block that is
 * read again while its name is remembered goes to Am, a list in the order of
 * last use. So blocks that are read once, as in a scan, pass through A1in and
 * leave Am alone.
 *
 * The victim is from A1in while A1in has more than kin_percent of the blocks,
 * otherwise from Am. A1out remembers names for up to kout_percent of the
 * blocks. "The blocks" are the largest number that was evictable at once, about
 * the size of the cache. A block that will not be wanted again is the next
 * victim, and is not remembered.
 *
 * A block's name is looked up in A1out before a victim is chosen for it,
 * because the victim's name may remove the block's name. While the block is
 * read, its name is in `coming`, which holds buffers / 128 names, and at
 * least 64.
 *
 * The kernel reports a use as remove and insert. So a block in A1in stores its
 * place as a number in word[PLACE], and insert puts it back there.
 *
 * Source: Johnson and Shasha, "2Q: A Low Overhead High Performance Buffer
 * Management Replacement Algorithm", VLDB 1994 (the full version).
 */
#include "kernel/policy/replace.h"
#include "policies/lib/ghost.h"

enum { KIN_PERCENT, KOUT_PERCENT };

static struct tunable tunables[] = {
    {"kin_percent", "percent", 25, 1, 99, "of the blocks, which A1in keeps"},
    {"kout_percent", "percent", 50, 0, 400,
     "of the blocks, whose names A1out has"},
    {0},
};

enum { FROM_A1IN, FROM_AM, REMEMBERED };

static struct policy_counter counters[] = {
    {"from_a1in", "blocks", "victims that had not proved themselves"},
    {"from_am", "blocks", "victims that had"},
    {"remembered", "blocks", "that came again while A1out had their name"},
    {0},
};

/* The words of a block: the list that it is on, or was on when it was last
 * released, and its place in the order of this list. */
enum { WHERE, PLACE };
enum { NEW, UNWANTED, A1IN, AM, LISTS };

static struct {
    struct tree blocks; /* the next victim has the lowest PLACE */
    u64 n;
} lists[LISTS];
static u64 most_evictable, last_place;

static struct ghosts a1out, coming;

/* Forget the block's ghost entry. True if it had one. */
static bool recall(const struct block *b)
{
    bool remembered = ghosts_forget(&coming, b->disk, b->blkno) ||
                      ghosts_forget(&a1out, b->disk, b->blkno);
    counters[REMEMBERED].value += remembered;
    return remembered;
}

/* The capacity of A1out: one more than its limit, until it is shortened. */
static u64 most_names(u64 buffers)
{
    return buffers * tunables[KOUT_PERCENT].max / 100 + 1;
}

static u64 most_coming(u64 buffers)
{
    return MAX(64, buffers / 128);
}

static u64 bytes(u64 buffers)
{
    return GHOSTS_BYTES(most_names(buffers) + most_coming(buffers));
}

static struct policy_memory memory = {.bytes = bytes};

static void two_q_start(void)
{
    for (u32 i = 0; i < LISTS; i++) {
        lists[i].blocks.root = NULL;
        lists[i].n = 0;
    }
    u64 names = most_names(memory.buffers);
    void *next = ghosts_init(&a1out, memory.start, names);
    ghosts_init(&coming, next, most_coming(memory.buffers));
    most_evictable = 0;
}

static void two_q_coming(u32 disk, u64 blkno)
{
    if (ghosts_forget(&a1out, disk, blkno))
        ghosts_remember(&coming, disk, blkno);
}

/* A block stays in A1in, and in its place there, when it is used again. Any
 * other one moves to the end of its list. */
static void two_q_insert(struct block *b, bool reuse)
{
    bool keeps_place = reuse && b->word[WHERE] == A1IN;
    if (!reuse)
        b->word[WHERE] = UNWANTED;
    else if (b->word[WHERE] != A1IN && b->word[WHERE] != AM)
        b->word[WHERE] = recall(b) ? AM : A1IN;
    if (!keeps_place)
        b->word[PLACE] = ++last_place;
    u64 to = b->word[WHERE];
    tree_insert(&lists[to].blocks, &b->node, b->word[PLACE]);
    lists[to].n++;
    most_evictable =
        MAX(most_evictable, lists[UNWANTED].n + lists[A1IN].n + lists[AM].n);
}

static void two_q_remove(struct block *b)
{
    tree_remove(&lists[b->word[WHERE]].blocks, &b->node);
    lists[b->word[WHERE]].n--;
}

/* Take unwanted blocks first, then A1in's while it has more than kin_percent,
 * then Am's. */
static struct block *two_q_victim(void)
{
    u64 kin = most_evictable * tunables[KIN_PERCENT].value / 100;
    u32 from = lists[UNWANTED].n                     ? UNWANTED
               : lists[A1IN].n > kin || !lists[AM].n ? A1IN
                                                     : AM;
    struct tree_node *n = tree_at_or_after(&lists[from].blocks, 0);
    return n ? TREE_ITEM(n, struct block, node) : NULL;
}

/* A victim of A1in leaves its name in A1out, which has a part of the cache's
 * length. */
static void two_q_evicted(const struct block *b)
{
    if (b->word[WHERE] == A1IN) {
        ghosts_remember(&a1out, b->disk, b->blkno);
        ghosts_shrink(&a1out,
                      most_evictable * tunables[KOUT_PERCENT].value / 100);
    }
    counters[FROM_A1IN].value += b->word[WHERE] == A1IN;
    counters[FROM_AM].value += b->word[WHERE] == AM;
}

static const char *two_q_check(void)
{
    for (u32 i = 0; i < LISTS; i++) {
        if (!lists[i].blocks.root != !lists[i].n)
            return "the blocks of a list are miscounted";
    }
    return NULL;
}

static const struct policy two_q = {
    .kind = POLICY_REPLACE,
    .name = "2q",
    .about = "two queues: only what is read again may stay long",
    .tunables = tunables,
    .counters = counters,
    .memory = &memory,
    .start = two_q_start,
    .check = two_q_check,
    .replace = {.coming = two_q_coming,
                .insert = two_q_insert,
                .remove = two_q_remove,
                .victim = two_q_victim,
                .evicted = two_q_evicted},
};
POLICY(two_q);
