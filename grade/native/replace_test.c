/*
 * Replacement: the victims of a given history, and what holds for all.
 *
 * link: grade/native/test.c kernel/queue.c policies
 */
#include "grade/native/test.h"

#define BLOCKS 64

static struct block blocks[BLOCKS];
static bool evictable[BLOCKS];

static void insert(const struct policy *p, u32 i, bool reuse)
{
    blocks[i].blkno = i;
    evictable[i] = true;
    p->replace.insert(&blocks[i], reuse);
}

static void remove_block(const struct policy *p, u32 i)
{
    evictable[i] = false;
    p->replace.remove(&blocks[i]);
}

/* Evict one, as the cache does. Its number. */
static u32 evict(const struct policy *p)
{
    struct block *b = p->replace.victim();
    check(b >= blocks && b < blocks + BLOCKS);
    u32 i = b - blocks;
    check(evictable[i]);
    check_eq(b->blkno, i);
    remove_block(p, i);
    if (p->replace.evicted)
        p->replace.evicted(b);
    memset(b->word, 0, sizeof(b->word));
    return i;
}

TEST(lru_evicts_the_block_let_go_longest_ago)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "lru");
    for (u32 i = 0; i < 4; i++)
        insert(p, i, true);
    remove_block(p, 0); /* used again */
    insert(p, 0, true);
    check_eq(evict(p), 1);
    check_eq(evict(p), 2);
    check_eq(evict(p), 3);
    check_eq(evict(p), 0);
    check(p->replace.victim() == NULL);
}

TEST(lru_evicts_first_what_nobody_will_want)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "lru");
    insert(p, 0, true);
    insert(p, 1, false);
    check_eq(evict(p), 1);
    check_eq(evict(p), 0);
}

/* Random uses and evictions; a victim is always evictable, and there is one
 * whenever anything is. */
static void run_random(const struct policy *p, u64 seed)
{
    u32 count = 0;

    memset(blocks, 0, sizeof(blocks));
    memset(evictable, 0, sizeof(evictable));
    policy_start(p);
    for (u32 step = 0; step < 2000; step++) {
        u32 i = random_u64(&seed) % BLOCKS;
        if (random_u64(&seed) % 8 == 0 && count > 0) {
            evict(p);
            count--;
        } else if (evictable[i]) {
            remove_block(p, i);
            count--;
        } else {
            insert(p, i, random_u64(&seed) % 4);
            count++;
        }
        check((p->replace.victim() != NULL) == (count > 0));
    }
    while (count-- > 0)
        evict(p);
    check(p->replace.victim() == NULL);
    if (p->stop)
        p->stop();
}

TEST(every_victim_is_evictable)
{
    POLICY_EACH (p)
        for (u64 seed = 0; (*p)->kind == POLICY_REPLACE && seed < 50; seed++)
            run_random(*p, seed);
}
