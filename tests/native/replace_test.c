/*
 * Replacement: the victims of a given history, and what holds for all.
 *
 * link: tests/native/test.c tests/native/statics.c
 */
#include "tests/native/statics.h"
#include "tests/native/test.h"

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
    check(!p->check || !(p->check)());
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

/* Evict one for block i, and insert that. The victim's number. */
static u32 replace(const struct policy *p, u32 i)
{
    if (p->replace.coming)
        p->replace.coming(0, i);
    u32 gone = evict(p);
    insert(p, i, true);
    return gone;
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

static void use(const struct policy *p, u32 i)
{
    remove_block(p, i);
    insert(p, i, true);
}

static void insert_all(const struct policy *p, u32 first, u32 last)
{
    for (u32 i = first; i <= last; i++)
        insert(p, i, true);
}

static void check_victims(const struct policy *p, const u32 *want, u32 n)
{
    for (u32 i = 0; i < n; i++)
        check_eq(evict(p), want[i]);
}

/* In brackets the order, first the next that the hand looks at; * is a mark. */
TEST(clock_passes_over_what_was_used_and_leaves_it_in_its_place)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "clock");
    insert_all(p, 0, 2);
    use(p, 1);
    check_eq(evict(p), 0);
    insert(p, 3, true); /* [1* 2 3] */
    check_eq(evict(p), 2);
    insert(p, 4, true); /* [3 1 4] */
    check_victims(p, (u32[]){3, 1, 4}, 3);
    check(p->replace.victim() == NULL);
}

TEST(clock_gives_one_second_chance_however_often_a_block_was_used)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "clock");
    insert_all(p, 0, 3);
    for (u32 i = 0; i < 5; i++)
        use(p, 1);
    use(p, 2); /* [0 1* 2* 3] */
    check_eq(evict(p), 0);
    insert(p, 4, true); /* [1* 2* 3 4] */
    check_victims(p, (u32[]){3, 4, 1, 2}, 4);
    insert_all(p, 5, 7);
    for (u32 i = 5; i <= 7; i++)
        use(p, i); /* [5* 6* 7*]: all marked, so as they came */
    check_victims(p, (u32[]){5, 6, 7}, 3);
}

TEST(clock_evicts_first_what_nobody_will_want)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "clock");
    insert_all(p, 0, 2);
    use(p, 0);
    remove_block(p, 2);
    insert(p, 2, false);
    check_eq(evict(p), 2);
    check_eq(evict(p), 1);
    check_eq(evict(p), 0);
}

/* As insert, after a use; dirty or clean. */
static void insert_used(const struct policy *p, u32 i, bool dirty)
{
    static u64 uses;
    blocks[i].used = ++uses;
    blocks[i].dirtied_ns = dirty;
    insert(p, i, true);
}

/* 8 blocks, of which the window is 4. */
TEST(cflru_evicts_clean_blocks_of_its_window_before_dirty_ones)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "cflru");
    tunable_named(p, "window_percent")->value = 50;
    for (u32 i = 0; i < 8; i++)
        insert_used(p, i, i != 2 && i < 5); /* [0* 1* 2 3*] 4* 5 6 7 */
    check_eq(evict(p), 2);
    check_eq(counter_of(p, "spared"), 2);
    insert_used(p, 8, false);                 /* [0* 1* 3* 4*] 5 6 7 8 */
    check(p->replace.victim() == &blocks[0]); /* dirty: it is written */
    check_eq(counter_of(p, "dirty"), 1);
    remove_block(p, 0);
    blocks[0].dirtied_ns = 0;
    insert(p, 0, true); /* written, not used: in its place */
    check_eq(evict(p), 0);
    insert_used(p, 9, false);
    remove_block(p, 1);
    insert_used(p, 1, true); /* used: [3* 4* 5 6] 7 8 9 1* */
    check_eq(evict(p), 5);
}

TEST(cflru_without_a_window_is_lru_over_dirty_blocks_too)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "cflru");
    tunable_named(p, "window_percent")->value = 0;
    for (u32 i = 0; i < 4; i++)
        insert_used(p, i, i % 2 == 0);
    check_victims(p, (u32[]){0, 1, 2, 3}, 4);
    insert(p, 0, true);
    insert(p, 1, false);
    check_victims(p, (u32[]){1, 0}, 2); /* not wanted: first */
}

/* 8 blocks: A1in keeps 2 of them, A1out has 4 numbers. */
TEST(two_q_promotes_only_what_comes_again_while_it_is_remembered)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "2q");
    insert_all(p, 0, 7);
    check_eq(evict(p), 0);
    insert(p, 8, true);
    check_eq(evict(p), 1);
    insert(p, 0, true); /* A1in 2 to 8, Am 0, A1out 1 */
    check_eq(evict(p), 2);
    use(p, 3); /* changes nothing in A1in */
    check_eq(evict(p), 3);
    insert(p, 1, true);
    use(p, 0); /* A1in 4 to 8, Am 1 0, A1out 2 3 */
    check_victims(p, (u32[]){4, 5, 6}, 3);
    check_eq(evict(p), 1); /* A1in 7 8, Am 1 0, A1out 3 4 5 6 */
    insert(p, 2, true);    /* forgotten */
    check_eq(evict(p), 7); /* A1in 7 8 2 */
    insert(p, 6, true);
    insert(p, 3, true); /* forgotten for 7 */
    check_eq(evict(p), 8);
    check_victims(p, (u32[]){0, 6, 2, 3}, 4);
    check(p->replace.victim() == NULL);
    check_eq(counter_of(p, "remembered"), 3); /* 0, 1, 6 */
}

TEST(two_q_evicts_first_what_nobody_will_want_and_forgets_it)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "2q");
    insert_all(p, 0, 3);
    use(p, 3);
    remove_block(p, 3);
    insert(p, 3, false);
    check_eq(evict(p), 3);
    check_eq(evict(p), 0);
    insert(p, 3, true);
    insert(p, 0, true);
    check_eq(counter_of(p, "remembered"), 1); /* 0 */
}

/* 4 blocks, figure 4 of the paper by hand; p is the target. */
TEST(arc_learns_from_its_ghosts_whom_to_evict)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "arc");
    insert_all(p, 0, 3);
    use(p, 0);
    use(p, 1);                  /* T1 2 3, T2 0 1 */
    check_eq(replace(p, 4), 2); /* T1 3 4, B1 2 */
    check_eq(replace(p, 5), 3); /* T1 4 5, B1 2 3 */
    check_eq(replace(p, 2), 4); /* p 1: T1 5, T2 0 1 2, B1 3 4 */
    check_eq(replace(p, 6), 0); /* T1 5 6, T2 1 2, B2 0 */
    check_eq(replace(p, 0), 5); /* p 0: T1 6, T2 1 2 0, B1 3 4 5, B2 - */
    check_eq(replace(p, 7), 6); /* T1 7, B1 4 5 6: 3 is forgotten */
    check_eq(replace(p, 4), 1); /* p 1: T2 2 0 4, B1 5 6, B2 1 */
    check_eq(replace(p, 5), 2); /* p 2: T2 0 4 5, B1 6, B2 1 2 */
    check_eq(replace(p, 1), 7); /* p 1: T1 -, T2 0 4 5 1, B1 6 7, B2 2 */
    check_eq(replace(p, 3), 0); /* T1 3, T2 4 5 1, B2 2 0 */
    check_victims(p, (u32[]){4, 5, 1, 3}, 4);
    check(p->replace.victim() == NULL);
    check_eq(counter_of(p, "in_b1"), 3); /* 2, 4, 5 */
    check_eq(counter_of(p, "in_b2"), 2); /* 0, 1 */
}

TEST(arc_remembers_no_victim_of_a_t1_that_has_the_whole_cache)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "arc");
    insert_all(p, 0, 3);
    check_eq(replace(p, 4), 0);
    check_eq(replace(p, 0), 1);
    check_eq(counter_of(p, "in_b1"), 0);
}

TEST(arc_evicts_first_what_nobody_will_want_and_forgets_it)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "arc");
    insert_all(p, 0, 3);
    use(p, 3);
    remove_block(p, 3);
    insert(p, 3, false);
    check_eq(replace(p, 4), 3);
    check_eq(replace(p, 3), 0);
    check_eq(counter_of(p, "in_b1") + counter_of(p, "in_b2"), 0);
}

TEST(arc_keeps_the_place_of_a_block_in_use_and_evicts_another)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "arc");
    insert_all(p, 0, 3);
    use(p, 0);
    use(p, 1);
    remove_block(p, 2);
    remove_block(p, 3); /* T1 2 3, T2 0 1: T1 is too long, but in use */
    check_eq(evict(p), 0);
    insert(p, 2, true);
    insert(p, 3, true); /* T2 1 2 3 */
    check_victims(p, (u32[]){1, 2, 3}, 3);
}

/* In brackets the queue, the oldest first; * is a mark, > the hand. */
TEST(sieve_passes_over_what_was_used_and_leaves_it_in_its_place)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "sieve");
    insert_all(p, 0, 3);
    use(p, 0);
    use(p, 2);                  /* [>0* 1 2* 3] */
    check_eq(replace(p, 4), 1); /* [0 >2* 3 4] */
    check_eq(replace(p, 5), 3); /* [0 2 >4 5] */
    use(p, 0);                  /* behind the hand: [0* 2 >4 5] */
    check_eq(replace(p, 6), 4); /* [0* 2 >5 6] */
    use(p, 5);
    use(p, 6);                  /* [0* 2 >5* 6*] */
    check_eq(replace(p, 7), 2); /* round: [0 >5 6 7] */
    check_eq(replace(p, 8), 5); /* [0 >6 7 8] */
    check_victims(p, (u32[]){6, 7, 8, 0}, 4);
    check(p->replace.victim() == NULL);
    check_eq(counter_of(p, "passed"), 5); /* 0 2, 5 6 0 */
}

/* The victim is the youngest, so the hand goes to the oldest, not to the block
 * that comes. */
TEST(sieves_hand_begins_again_beyond_the_youngest)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "sieve");
    insert_all(p, 0, 2);
    use(p, 0);
    use(p, 1);                  /* [>0* 1* 2] */
    check_eq(replace(p, 3), 2); /* [>0 1 3] */
    check_eq(replace(p, 4), 0); /* [>1 3 4] */
    check_victims(p, (u32[]){1, 3, 4}, 3);
}

TEST(sieve_evicts_first_what_nobody_will_want)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "sieve");
    insert_all(p, 0, 2);
    use(p, 0);
    remove_block(p, 2);
    insert(p, 2, false);
    check_victims(p, (u32[]){2, 1, 0}, 3);
}

/* 8 blocks: the small queue has 2 at 25 percent, the main queue 6, and 6 names
 * are remembered. S is the small queue, M the main one, G the names; ' is a use
 * that counts. */
TEST(s3fifo_keeps_what_was_used_twice_and_what_comes_again)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "s3fifo");
    tunable_named(p, "small_percent")->value = 25;
    insert_all(p, 0, 7);
    use(p, 0);
    use(p, 1);
    use(p, 1);                   /* S 0' 1'' 2 3 4 5 6 7 */
    check_eq(replace(p, 8), 0);  /* one use is not enough; G 0 */
    check_eq(replace(p, 9), 2);  /* S 3 4 5 6 7 8 9, M 1, G 0 2 */
    check_eq(replace(p, 0), 3);  /* S 4 to 9, M 1 0, G 2 3 */
    use(p, 1);                   /* M 1' 0 */
    check_eq(replace(p, 2), 4);  /* S 5 to 9, M 1' 0 2, G 3 4 */
    check_eq(replace(p, 3), 5);  /* S 6 to 9, M 1' 0 2 3, G 4 5 */
    check_eq(replace(p, 4), 6);  /* S 7 8 9, M 1' 0 2 3 4, G 5 6 */
    check_eq(replace(p, 5), 7);  /* S 8 9, M 1' 0 2 3 4 5, G 6 7 */
    check_eq(replace(p, 10), 8); /* S 9 10, G 6 7 8 */
    use(p, 9);
    use(p, 9);                   /* 9 moves to M, which has 7 then: */
    check_eq(replace(p, 11), 0); /* 1 goes round; M 2 3 4 5 9 1, S 10 11 */
    check_eq(counter_of(p, "moved"), 2);      /* 1, 9 */
    check_eq(counter_of(p, "remembered"), 5); /* 0, 2 to 5 */
    check_eq(counter_of(p, "from_main"), 1);
    check_victims(p, (u32[]){10, 2, 3, 4, 5, 9, 1, 11}, 8);
    check(p->replace.victim() == NULL);
}

/* 4 blocks: the small queue has 1 at 25 percent. 0 is used nine times in the
 * main queue, 1 three times: they go as they came. */
TEST(s3fifo_counts_three_uses_and_takes_one_off_each_round)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "s3fifo");
    tunable_named(p, "small_percent")->value = 25;
    insert_all(p, 0, 3);
    for (u32 i = 0; i < 4; i++)
        use(p, i % 2);
    check_eq(replace(p, 4), 2); /* S 3 4, M 0 1 */
    for (u32 i = 0; i < 12; i++)
        use(p, i % 4 == 1); /* M 0''' 1''' */
    check_eq(replace(p, 5), 3);
    for (u32 i = 0; i < 4; i++)
        use(p, 4 + i % 2);      /* S 4'' 5'' */
    check_eq(replace(p, 6), 4); /* S 6, M 5 0'' 1'' */
    check_victims(p, (u32[]){6, 5, 0, 1}, 4);
}

TEST(s3fifo_evicts_first_what_nobody_will_want_and_forgets_it)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "s3fifo");
    insert_all(p, 0, 3);
    use(p, 3);
    remove_block(p, 3);
    insert(p, 3, false);
    check_eq(replace(p, 4), 3);
    check_eq(replace(p, 3), 0);
    check_eq(counter_of(p, "remembered"), 0);
}

/* 4 blocks, figure 2 of the paper by hand; p is the target, * a mark. */
TEST(car_learns_from_its_ghosts_whom_to_evict)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "car");
    insert_all(p, 0, 3);
    use(p, 0);
    use(p, 1);                  /* T1 0* 1* 2 3 */
    check_eq(replace(p, 4), 2); /* T1 3 4, T2 0 1, B1 2 */
    check_eq(replace(p, 5), 3); /* T1 4 5, B1 2 3 */
    check_eq(replace(p, 2), 4); /* p 1: T1 5, T2 0 1 2, B1 3 4 */
    check_eq(replace(p, 6), 5); /* T1 6, B1 3 4 5 */
    check_eq(replace(p, 3), 6); /* p 2: T1 -, T2 0 1 2 3, B1 4 5 6 */
    use(p, 0);                  /* T2 0* 1 2 3 */
    check_eq(replace(p, 7), 1); /* T1 7, T2 2 3 0, B1 4 5 6, B2 1 */
    check_eq(replace(p, 1), 2); /* p 1 of 3/2: T1 7, T2 3 0 1, B2 2 */
    check_eq(replace(p, 8), 7); /* T1 8, B1 5 6 7 */
    check_victims(p, (u32[]){8, 3, 0, 1}, 4);
    check(p->replace.victim() == NULL);
    check_eq(counter_of(p, "in_b1"), 2); /* 2, 3 */
    check_eq(counter_of(p, "in_b2"), 1); /* 1 */
}

TEST(car_remembers_no_victim_of_a_t1_that_has_the_whole_cache)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "car");
    insert_all(p, 0, 3);
    check_eq(replace(p, 4), 0);
    check_eq(replace(p, 0), 1);
    check_eq(counter_of(p, "in_b1"), 0);
}

TEST(car_evicts_first_what_nobody_will_want_and_forgets_it)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "car");
    insert_all(p, 0, 3);
    use(p, 3);
    remove_block(p, 3);
    insert(p, 3, false);
    check_eq(replace(p, 4), 3);
    check_eq(replace(p, 3), 0);
    check_eq(counter_of(p, "in_b1") + counter_of(p, "in_b2"), 0);
}

TEST(car_keeps_the_place_of_a_block_in_use_and_evicts_another)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "car");
    insert_all(p, 0, 3);
    remove_block(p, 0);
    remove_block(p, 1); /* T1 0 1 2 3 */
    check_eq(evict(p), 2);
    insert(p, 0, true);
    insert(p, 1, true); /* T1 0* 1* 3 */
    check_victims(p, (u32[]){3, 0, 1}, 3);
}

/* 4 blocks, of which one is HIR. S is the stack, the bottom first; h is an HIR
 * block there, names are in brackets; Q has the HIR blocks. The first block of
 * all is HIR, since there must be one. */
TEST(lirs_keeps_what_came_again_while_it_was_in_the_stack)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "lirs");
    tunable_named(p, "hir_percent")->value = 25;
    insert_all(p, 0, 3);        /* S 1 2 3, Q 0 */
    check_eq(replace(p, 4), 0); /* S 1 2 3 4h, Q 4 */
    check_eq(replace(p, 5), 4); /* S 1 2 3 (4) 5h, Q 5 */
    check_eq(replace(p, 4), 5); /* S 2 3 (5) 4, Q 1 */
    use(p, 1);                  /* S 2 3 (5) 4 1h */
    use(p, 1);                  /* S 3 (5) 4 1, Q 2 */
    use(p, 3);                  /* S 4 1 3: 5 is forgotten */
    check_eq(replace(p, 5), 2); /* S 4 1 3 5h, Q 5 */
    use(p, 5);                  /* S 1 3 5, Q 4 */
    check_victims(p, (u32[]){4, 1, 3, 5}, 4);
    check(p->replace.victim() == NULL);
    check_eq(counter_of(p, "risen"), 2);      /* 1, 5 */
    check_eq(counter_of(p, "remembered"), 1); /* 4 */
    check_eq(counter_of(p, "from_lir"), 3);
}

/* As above, but 1, which was the bottom, is in use when 4 comes again: 2 falls
 * in its place. */
TEST(lirs_takes_no_block_in_use_for_the_bottom)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "lirs");
    tunable_named(p, "hir_percent")->value = 25;
    insert_all(p, 0, 3);
    check_eq(replace(p, 4), 0); /* S 1 2 3 4h, Q 4 */
    remove_block(p, 1);
    use(p, 4);          /* S 3 4, Q 2 */
    insert(p, 1, true); /* S 3 4 1 */
    check_victims(p, (u32[]){2, 3, 4, 1}, 4);
}

TEST(lirs_evicts_first_what_nobody_will_want_and_forgets_it)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "lirs");
    insert_all(p, 0, 3);
    use(p, 3);
    remove_block(p, 3);
    insert(p, 3, false);
    check_eq(replace(p, 4), 3);
    check_eq(replace(p, 3), 0);
    check_eq(counter_of(p, "remembered"), 0);
}

/* 4 blocks: the window has one, the main part three, of which two may be
 * protected. W is the window, P probation, T protected; a number of uses is
 * with the name where it matters. */
TEST(wtinylfu_keeps_the_block_that_was_used_more_often)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "wtinylfu");
    insert_all(p, 0, 3);        /* W 3, P 0 1 2 */
    check_eq(replace(p, 4), 3); /* 3:1 against 0:1 */
    check_eq(replace(p, 5), 4);
    use(p, 5);
    check_eq(replace(p, 6), 0); /* 5:2 against 0:1; W 6, P 1 2 5 */
    use(p, 1);
    use(p, 2);                  /* P 5, T 1 2 */
    use(p, 5);                  /* P 1, T 2 5 */
    check_eq(replace(p, 0), 6); /* 6:1 against 1:2 */
    check_eq(replace(p, 7), 0); /* 0:2, of which one long ago; equal */
    check_eq(replace(p, 0), 7);
    check_eq(replace(p, 8), 1);               /* 0:3; W 8, P 0, T 2 5 */
    check_victims(p, (u32[]){8, 0, 2, 5}, 4); /* 8:1 against 0:3 */
    check(p->replace.victim() == NULL);
    check_eq(counter_of(p, "admitted"), 2); /* 5, 0 */
    check_eq(counter_of(p, "rejected"), 6);
}

/* As above; after 12 uses all counts are halved, and first uses forgotten. */
TEST(wtinylfu_halves_what_was_used_long_ago)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "wtinylfu");
    tunable_named(p, "sample_factor")->value = 3;
    insert_all(p, 0, 3);
    for (u32 i = 0; i < 4; i++)
        use(p, 3);
    for (u32 i = 0; i < 3; i++)
        use(p, 0);              /* 3:5, 0:4; W 3, P 1 2, T 0; 11 uses */
    check_eq(replace(p, 4), 1); /* W 4, P 2 3; now 3:2, 0:1, others 0 */
    check_eq(counter_of(p, "halved"), 1);
    check_eq(replace(p, 5), 4); /* 4:0 against 2:0 */
    check_eq(replace(p, 6), 2); /* 5:1 against 2:0; W 6, P 3 5 */
    check_eq(replace(p, 7), 6); /* 6:1 against 3:2 */
    check_victims(p, (u32[]){7, 3, 5, 0}, 4);
}

TEST(wtinylfu_evicts_first_what_nobody_will_want)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "wtinylfu");
    insert_all(p, 0, 3);
    remove_block(p, 1);
    insert(p, 1, false);
    check_eq(replace(p, 4), 1);
    check_eq(replace(p, 5), 4);
}

/* 4 blocks. In brackets the clock, first what came first: h is hot, t in its
 * test, c another cold block, n a name; * is a mark. m is the most hot ones. */
TEST(clockpro_keeps_what_was_used_again_in_its_test)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "clockpro");
    insert_all(p, 0, 3);
    use(p, 0);                  /* [0t* 1t 2t 3t] m 0 */
    check_eq(replace(p, 4), 1); /* [2c 3c 0h 4t] m 3: three tests ended */
    check_eq(replace(p, 5), 2);
    check_eq(replace(p, 6), 3); /* [0h 4t 5t 6t] */
    use(p, 0);
    check_eq(replace(p, 7), 4); /* [0h* 4n 5t 6t 7t] */
    check_eq(replace(p, 4), 5); /* [0h* 5n 6t 7t 4h] m 2 */
    use(p, 6);                  /* hot, so 0 loses its mark, 7 its test: */
    check_eq(replace(p, 8), 7); /* [4h 6h 0h 8t] m 1, and then 3 */
    check_eq(replace(p, 9), 8); /* [4h 6h 0h 8n 9t] */
    check_eq(replace(p, 8), 9); /* [0h 9n 8h 4c 6c] m 2 */
    check_victims(p, (u32[]){4, 6, 0, 8}, 4);
    check(p->replace.victim() == NULL);
    check_eq(counter_of(p, "to_hot"), 2);     /* 0, 6 */
    check_eq(counter_of(p, "remembered"), 2); /* 4, 8 */
    check_eq(counter_of(p, "ended"), 6);      /* 1 2 3, 5 7, 9 */
    check_eq(counter_of(p, "from_cold"), 4);  /* 4, 5, 8, 9 */
}

TEST(clockpro_begins_a_test_for_a_cold_block_that_was_used_after_its_test)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "clockpro");
    insert_all(p, 0, 3);
    use(p, 0);
    use(p, 1);                  /* [0t* 1t* 2t 3t] */
    check_eq(replace(p, 4), 2); /* [3c 0h 1t 4t] */
    check_eq(replace(p, 5), 3);
    check_eq(replace(p, 6), 1); /* [0h 1n 4t 5t 6t] */
    check_eq(replace(p, 1), 4); /* [0h 4n 5t 6t 1h] */
    check_eq(counter_of(p, "remembered"), 1);
    check_victims(p, (u32[]){5, 6, 0, 1}, 4);
}

TEST(clockpro_remembers_as_many_names_as_there_were_blocks)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "clockpro");
    insert_all(p, 0, 1);
    for (u32 i = 2; i <= 4; i++)
        check_eq(replace(p, i), i - 2); /* [1n 2n 3t 4t]: 0 is forgotten */
    check_eq(replace(p, 0), 3);         /* [2n 3n 4t 0t] */
    check_eq(counter_of(p, "remembered"), 0);
    check_eq(replace(p, 3), 4); /* [4n 0t 3h] */
    check_eq(counter_of(p, "remembered"), 1);
}

TEST(clockpro_evicts_first_what_nobody_will_want_and_forgets_it)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "clockpro");
    insert_all(p, 0, 3);
    use(p, 3);
    remove_block(p, 3);
    insert(p, 3, false);
    check_eq(replace(p, 4), 3);
    check_eq(replace(p, 3), 0);
    check_eq(counter_of(p, "remembered"), 0);
}

TEST(clockpros_hands_pass_over_a_block_in_use_and_leave_it_in_its_place)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "clockpro");
    insert_all(p, 0, 3);
    remove_block(p, 0);
    remove_block(p, 1); /* [0t 1t 2t 3t] */
    check_eq(evict(p), 2);
    insert(p, 0, true);
    insert(p, 1, true); /* [0t* 1t* 2n 3t], then [1c* 3c 0h], [3c 0h 1t] */
    check_victims(p, (u32[]){3, 1, 0}, 3);
}

/* 4 blocks; one refault is enough to protect a tier. In brackets a generation,
 * first what came first; ' is a use that counts. */
TEST(mglru_protects_the_tier_whose_blocks_came_again)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "mglru");
    tunable_named(p, "least_refaults")->value = 1;
    tunable_named(p, "margin_percent")->value = 100;
    insert_all(p, 0, 3);
    use(p, 0);                  /* [0'' 1' 2' 3'] [] */
    check_eq(replace(p, 4), 0); /* tier 1: 0 of 1 came again */
    check_eq(replace(p, 0), 1); /* tier 1: 1 of 1; tier 0: 0 of 1 */
    use(p, 2);                  /* [2'' 3' 4' 0'] [] */
    check_eq(replace(p, 5), 3); /* [4' 0' 5'] [2]; tier 1: 1 of 2 */
    use(p, 4);
    use(p, 0);
    use(p, 5);                  /* all of them are protected, 2 is left: */
    check_eq(replace(p, 6), 2); /* [] [4 0 5 6'] [], tier 1: 1 of 5 */
    check_eq(counter_of(p, "protected"), 4);
    check_eq(counter_of(p, "born"), 1);
    check_eq(counter_of(p, "ended"), 0);
    check_eq(replace(p, 7), 4); /* [0 5 6' 7'] [] */
    check_eq(counter_of(p, "ended"), 1);
    check_victims(p, (u32[]){0, 5, 6, 7}, 4);
    check(p->replace.victim() == NULL);
    check_eq(counter_of(p, "refaults"), 1);
}

/* The births are planted: it takes long until a cache has had so many. */
TEST(mglru_counts_a_refault_until_four_generations_were_born)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "mglru");
    u64 *youngest = static_of("mglru.c", "youngest");
    insert_all(p, 0, 3);
    check_eq(evict(p), 0);
    check_eq(evict(p), 1);
    *youngest += 3;
    insert(p, 0, true);
    check_eq(counter_of(p, "refaults"), 1);
    *youngest += 1;
    insert(p, 1, true);
    check_eq(counter_of(p, "refaults"), 1);
}

TEST(mglru_evicts_what_came_first_while_it_has_learned_nothing)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "mglru");
    insert_all(p, 0, 3);
    for (u32 i = 0; i < 9; i++)
        use(p, 0);
    check_victims(p, (u32[]){0, 1, 2, 3}, 4);
    check_eq(counter_of(p, "protected"), 0);
}

TEST(mglru_evicts_first_what_nobody_will_want_and_forgets_it)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "mglru");
    insert_all(p, 0, 3);
    use(p, 3);
    remove_block(p, 3);
    insert(p, 3, false);
    check_eq(replace(p, 4), 3);
    check_eq(replace(p, 3), 0);
    check_eq(counter_of(p, "refaults"), 0);
}

TEST(mglru_keeps_the_place_of_a_block_in_use_and_evicts_another)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "mglru");
    insert_all(p, 0, 3);
    remove_block(p, 0);
    check_eq(evict(p), 1);
    insert(p, 0, true);
    check_victims(p, (u32[]){0, 2, 3}, 3);
}

/* 4 blocks: A1in keeps 1 of them, A1out has 2 names. Block 0 is the older of
 * these when it comes, so its victim's name would push it out. */
TEST(two_q_looks_a_name_up_before_it_makes_room)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "2q");
    insert_all(p, 0, 3);
    check_eq(replace(p, 4), 0);
    check_eq(replace(p, 5), 1);
    check_eq(replace(p, 0), 2); /* A1in 3 4 5, Am 0, A1out 1 2 */
    check_eq(counter_of(p, "remembered"), 1);
    check_victims(p, (u32[]){3, 4, 0, 5}, 4); /* A1in keeps 5 */
}

/* Use block i of a cache of `size`; was it there? */
static bool access_block(const struct policy *p, u32 i, u32 *count, u32 size)
{
    if (evictable[i]) {
        use(p, i);
        return true;
    }
    if (*count == size) {
        replace(p, i);
    } else {
        ++*count;
        insert(p, i, true);
    }
    return false;
}

/* Of 4 blocks read again and again, how many outlive a scan of 44? */
static u32 outlive_a_scan(const char *name)
{
    const struct policy *p = policy_named(POLICY_REPLACE, name);
    u32 count = 0, hits = 0;
    for (u32 i = 0; i < 20; i++) /* 0 to 3 go and are remembered */
        access_block(p, i, &count, 16);
    for (u32 i = 0; i < 40; i++)
        access_block(p, i % 4, &count, 16);
    for (u32 i = 20; i < 64; i++)
        access_block(p, i, &count, 16);
    for (u32 i = 0; i < 4; i++)
        hits += access_block(p, i, &count, 16);
    return hits;
}

TEST(two_q_keeps_its_working_set_through_a_scan)
{
    check_eq(outlive_a_scan("2q"), 4);
}

TEST(arc_keeps_its_working_set_through_a_scan)
{
    check_eq(outlive_a_scan("arc"), 4);
}

TEST(car_keeps_its_working_set_through_a_scan)
{
    check_eq(outlive_a_scan("car"), 4);
}

TEST(lirs_keeps_its_working_set_through_a_scan)
{
    check_eq(outlive_a_scan("lirs"), 4);
}

TEST(s3fifo_keeps_its_working_set_through_a_scan)
{
    check_eq(outlive_a_scan("s3fifo"), 4);
}

TEST(wtinylfu_keeps_its_working_set_through_a_scan)
{
    check_eq(outlive_a_scan("wtinylfu"), 4);
}

TEST(sieve_keeps_its_working_set_through_a_scan)
{
    check_eq(outlive_a_scan("sieve"), 4);
}

TEST(clockpro_keeps_its_working_set_through_a_scan)
{
    check_eq(outlive_a_scan("clockpro"), 4);
}

TEST(lru_loses_its_working_set_to_a_scan)
{
    check_eq(outlive_a_scan("lru"), 0);
}

/* The names of a cache's victims, or of four times as many, are known however
 * large it is: the last `names` of them, and not the one before. */
static void check_remembers(u64 buffers, u64 percent)
{
    const u64 names = buffers * percent / 100, evictions = 2 * names;
    cache_buffers = buffers;
    const struct policy *p = policy_named(POLICY_REPLACE, "2q");
    struct block *many = calloc(buffers, sizeof *many), *b = many;
    u64 before = counter_of(p, "remembered");

    tunable_named(p, "kout_percent")->value = percent;
    for (u64 i = 0; i < evictions + buffers; i++) {
        if (i >= buffers) {
            b = p->replace.victim();
            check_eq(b->blkno, i - buffers);
            p->replace.remove(b);
            p->replace.evicted(b);
        }
        *b = (struct block){.blkno = i};
        p->replace.insert(b++, true);
    }
    for (u64 oldest = 0; oldest < 2; oldest++) {
        p->replace.remove(many);
        *many = (struct block){.blkno = evictions - names - 1 + oldest};
        p->replace.insert(many, true);
        check_eq(counter_of(p, "remembered") - before, oldest);
    }
    free(many);
}

TEST(two_q_remembers_names_for_a_cache_of_any_size)
{
    check_remembers(3000, 400);
    check_remembers(100000, 50);
    check_remembers(100000, 400);
}

/* Random uses of a cache of 16 blocks, some of which are popular: a number that
 * depends on which blocks are there after each. ahead: a block that comes is
 * there before it is used. */
static u64 history_of(const struct policy *p, bool ahead)
{
    u64 seed = 1, mixed = 0;
    u32 count = 0;
    memset(blocks, 0, sizeof(blocks));
    memset(evictable, 0, sizeof(evictable));
    policy_start(p);
    for (u32 step = 0; step < 4000; step++) {
        u32 i = random_u64(&seed) % (step % 2 ? 8 : BLOCKS);
        blocks[i].first = false;
        if (!access_block(p, i, &count, 16) && ahead) {
            blocks[i].first = true;
            use(p, i);
        }
        for (u32 k = 0; k < BLOCKS; k++)
            mixed = mixed * 31 + evictable[k];
    }
    return mixed;
}

TEST(the_first_use_of_a_block_that_was_read_ahead_is_no_second_one)
{
    POLICY_EACH (p)
        if ((*p)->kind == POLICY_REPLACE)
            check_eq(history_of(*p, true), history_of(*p, false));
}

/* Random uses and evictions; a victim is always evictable, and there is one
 * whenever anything is. */
static void run_random(const struct policy *p, u64 seed)
{
    u32 count = 0;

    memset(blocks, 0, sizeof(blocks));
    memset(evictable, 0, sizeof(evictable));
    if (p->start)
        p->start();
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
        for (u64 seed = 0; (*p)->kind == POLICY_REPLACE && seed < 50; seed++) {
            policy_start(*p);
            run_random(*p, seed);
        }
}

TEST(every_victim_is_evictable_at_the_tunables_extremes)
{
    POLICY_EACH (p) {
        if ((*p)->kind != POLICY_REPLACE)
            continue;
        policy_start(*p);
        for (struct tunable *t = (*p)->tunables; t && t->name; t++) {
            t->value = t->min;
            run_random(*p, 1);
            t->value = t->max;
            run_random(*p, 2);
            t->value = t->def;
        }
    }
}
