/*
 * Replacement: the victims of a given history, and what holds for all.
 *
 * link: tests/support/native/test.c tests/support/native/statics.c
 */
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/native/script.h"
#include "tests/support/native/statics.h"

#define BLOCKS 64

static struct block blocks[BLOCKS];
static bool evictable[BLOCKS];

/* Insert block i. If it was never used, it is used now, as the last of all. */
static void insert(const struct policy *p, u32 i, bool reuse)
{
    static u64 uses;
    blocks[i].blkno = i;
    if (!blocks[i].used)
        blocks[i].used = ++uses;
    evictable[i] = true;
    p->replace.insert(&blocks[i], reuse);
}

static void remove_block(const struct policy *p, u32 i)
{
    evictable[i] = false;
    p->replace.remove(&blocks[i]);
}

/* Evict a block, as the cache does. Return the block's number. */
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
    b->used = 0;
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

static void use(const struct policy *p, u32 i)
{
    remove_block(p, i);
    blocks[i].used = 0;
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

/* ---- histories ---- */

/*
 * What happens to a policy, as a script (script.h) of block numbers:
 *
 *   insert 0-3      these come, and are let go: clean, and wanted again
 *   use 1 2         a use of each: removed, and inserted
 *   remove 2        somebody has it
 *   unwanted 2      it is let go, and nobody will want it
 *   replace 4>0     block 4 comes, and 0 is the victim
 *   evict 3 1       the next victims, of which the blocks go
 *   none            there is no victim
 *   set NAME=VALUE  a tunable
 *   NAME VALUE      a counter has this value
 */
static const struct history {
    const char *name, *policy, *steps;
} histories[] = {
    {"lru_evicts_the_block_let_go_longest_ago", "lru",
     "insert 0-3; use 0; evict 1 2 3 0; none"},
    {"lru_evicts_first_what_nobody_will_want", "lru",
     "insert 0; unwanted 1; evict 1 0"},

    /* In brackets the order, first the next that the hand looks at; * is a
     * mark. */
    {"clock_passes_over_what_was_used_and_leaves_it_in_its_place", "clock",
     "insert 0-2; use 1; evict 0; insert 3;" /* [1* 2 3] */
     "evict 2; insert 4;"                    /* [3 1 4] */
     "evict 3 1 4; none"},
    {"clock_gives_one_second_chance_however_often_a_block_was_used", "clock",
     "insert 0-3; use 1 1 1 1 1 2;" /* [0 1* 2* 3] */
     "evict 0; insert 4;"           /* [1* 2* 3 4] */
     "evict 3 4 1 2; insert 5-7;"   /* [5 6 7] */
     "use 5 6 7; evict 5 6 7"},     /* all marked, so as they came */
    {"clock_evicts_first_what_nobody_will_want", "clock",
     "insert 0-2; use 0; remove 2; unwanted 2; evict 2 1 0"},

    /* 8 blocks: A1in keeps 2 of them, A1out has 4 numbers. */
    {"two_q_promotes_only_what_comes_again_while_it_is_remembered", "2q",
     "insert 0-7; evict 0; insert 8; evict 1;"
     "insert 0;"       /* A1in 2 to 8, Am 0, A1out 1 */
     "evict 2; use 3;" /* which changes nothing in A1in */
     "evict 3; insert 1;"
     "use 0;"              /* A1in 4 to 8, Am 1 0, A1out 2 3 */
     "evict 4 5 6 1;"      /* A1in 7 8, Am 0, A1out 3 4 5 6 */
     "insert 2;"           /* forgotten */
     "evict 7;"            /* A1in 8 2 */
     "insert 6; insert 3;" /* 3 was forgotten for 7 */
     "evict 8 0 6 2 3; none;"
     "remembered 3"}, /* 0, 1, 6 */
    {"two_q_evicts_first_what_nobody_will_want_and_forgets_it", "2q",
     "insert 0-3; use 3; remove 3; unwanted 3; evict 3 0; insert 3 0;"
     "remembered 1"}, /* 0 */
    /* 4 blocks: A1in keeps 1 of them, A1out has 2 names. When block 0 comes
     * again, its name is the older one in A1out. So the name of the victim,
     * which makes room for block 0, would push the name of block 0 out. */
    {"two_q_looks_a_name_up_before_it_makes_room", "2q",
     "insert 0-3; replace 4>0 5>1 0>2;" /* A1in 3 4 5, Am 0, A1out 1 2 */
     "remembered 1; evict 3 4 0 5"},    /* A1in keeps 5 */

    /* 4 blocks, figure 4 of the paper by hand; p is the target. */
    {"arc_learns_from_its_ghosts_whom_to_evict", "arc",
     "insert 0-3; use 0 1;" /* T1 2 3, T2 0 1 */
     "replace 4>2;"         /* T1 3 4, B1 2 */
     "replace 5>3;"         /* T1 4 5, B1 2 3 */
     "replace 2>4;"         /* p 1: T1 5, T2 0 1 2, B1 3 4 */
     "replace 6>0;"         /* T1 5 6, T2 1 2, B2 0 */
     "replace 0>5;"         /* p 0: T1 6, T2 1 2 0, B1 3 4 5, B2 - */
     "replace 7>6;"         /* T1 7, B1 4 5 6: 3 is forgotten */
     "replace 4>1;"         /* p 1: T2 2 0 4, B1 5 6, B2 1 */
     "replace 5>2;"         /* p 2: T2 0 4 5, B1 6, B2 1 2 */
     "replace 1>7;"         /* p 1: T1 -, T2 0 4 5 1, B1 6 7, B2 2 */
     "replace 3>0;"         /* T1 3, T2 4 5 1, B2 2 0 */
     "evict 4 5 1 3; none;"
     "in_b1 3; in_b2 2"}, /* 2, 4, 5; 0, 1 */
    {"arc_remembers_no_victim_of_a_t1_that_has_the_whole_cache", "arc",
     "insert 0-3; replace 4>0 0>1; in_b1 0"},
    {"arc_evicts_first_what_nobody_will_want_and_forgets_it", "arc",
     "insert 0-3; use 3; remove 3; unwanted 3; replace 4>3 3>0;"
     "in_b1 0; in_b2 0"},
    {"arc_keeps_the_place_of_a_block_in_use_and_evicts_another", "arc",
     "insert 0-3; use 0 1;"
     "remove 2 3;"          /* T1 2 3, T2 0 1: T1 is too long, but in use */
     "evict 0; insert 2 3;" /* T2 1 2 3 */
     "evict 1 2 3"},

    /* In brackets the queue, the oldest first; * is a mark, > the hand. */
    {"sieve_passes_over_what_was_used_and_leaves_it_in_its_place", "sieve",
     "insert 0-3; use 0 2;"            /* [>0* 1 2* 3] */
     "replace 4>1;"                    /* [0 >2* 3 4] */
     "replace 5>3;"                    /* [0 2 >4 5] */
     "use 0;"                          /* behind the hand: [0* 2 >4 5] */
     "replace 6>4;"                    /* [0* 2 >5 6] */
     "use 5 6;"                        /* [0* 2 >5* 6*] */
     "replace 7>2;"                    /* round: [0 >5 6 7] */
     "replace 8>5;"                    /* [0 >6 7 8] */
     "evict 6 7 8 0; none; passed 5"}, /* 0 2, 5 6 0 */
    /* The victim is the youngest, so the hand goes to the oldest, not to the
     * block that comes. */
    {"sieves_hand_begins_again_beyond_the_youngest", "sieve",
     "insert 0-2; use 0 1;" /* [>0* 1* 2] */
     "replace 3>2;"         /* [>0 1 3] */
     "replace 4>0;"         /* [>1 3 4] */
     "evict 1 3 4"},
    {"sieve_evicts_first_what_nobody_will_want", "sieve",
     "insert 0-2; use 0; remove 2; unwanted 2; evict 2 1 0"},

    /* 8 blocks: the small queue has 2 at 25 percent, the main queue 6, and 6
     * names are remembered. S is the small queue, M the main one, G the names;
     * ' is a use that counts. */
    {"s3fifo_keeps_what_was_used_twice_and_what_comes_again", "s3fifo",
     "set small_percent=25; insert 0-7;"
     "use 0 1 1;"    /* S 0' 1'' 2 3 4 5 6 7 */
     "replace 8>0;"  /* one use is not enough; G 0 */
     "replace 9>2;"  /* S 3 4 5 6 7 8 9, M 1, G 0 2 */
     "replace 0>3;"  /* S 4 to 9, M 1 0, G 2 3 */
     "use 1;"        /* M 1' 0 */
     "replace 2>4;"  /* S 5 to 9, M 1' 0 2, G 3 4 */
     "replace 3>5;"  /* S 6 to 9, M 1' 0 2 3, G 4 5 */
     "replace 4>6;"  /* S 7 8 9, M 1' 0 2 3 4, G 5 6 */
     "replace 5>7;"  /* S 8 9, M 1' 0 2 3 4 5, G 6 7 */
     "replace 10>8;" /* S 9 10, G 6 7 8 */
     "use 9 9;"      /* 9 moves to M, which has 7 then: */
     "replace 11>0;" /* 1 goes round; M 2 3 4 5 9 1, S 10 11 */
     "moved 2;"      /* 1, 9 */
     "remembered 5;" /* 0, 2 to 5 */
     "from_main 1; evict 10 2 3 4 5 9 1 11; none"},
    /* 4 blocks: the small queue has 1 at 25 percent. 0 is used nine times in
     * the main queue, 1 three times: they go as they came. */
    {"s3fifo_counts_three_uses_and_takes_one_off_each_round", "s3fifo",
     "set small_percent=25; insert 0-3; use 0 1 0 1;"
     "replace 4>2;"                 /* S 3 4, M 0 1 */
     "use 0 1 0 0 0 1 0 0 0 1 0 0;" /* M 0''' 1''' */
     "replace 5>3;"
     "use 4 5 4 5;" /* S 4'' 5'' */
     "replace 6>4;" /* S 6, M 5 0'' 1'' */
     "evict 6 5 0 1"},
    {"s3fifo_evicts_first_what_nobody_will_want_and_forgets_it", "s3fifo",
     "insert 0-3; use 3; remove 3; unwanted 3; replace 4>3 3>0; remembered 0"},

    /* 4 blocks, figure 2 of the paper by hand; p is the target, * a mark. */
    {"car_learns_from_its_ghosts_whom_to_evict", "car",
     "insert 0-3; use 0 1;" /* T1 0* 1* 2 3 */
     "replace 4>2;"         /* T1 3 4, T2 0 1, B1 2 */
     "replace 5>3;"         /* T1 4 5, B1 2 3 */
     "replace 2>4;"         /* p 1: T1 5, T2 0 1 2, B1 3 4 */
     "replace 6>5;"         /* T1 6, B1 3 4 5 */
     "replace 3>6;"         /* p 2: T1 -, T2 0 1 2 3, B1 4 5 6 */
     "use 0;"               /* T2 0* 1 2 3 */
     "replace 7>1;"         /* T1 7, T2 2 3 0, B1 4 5 6, B2 1 */
     "replace 1>2;"         /* p 1 of 3/2: T1 7, T2 3 0 1, B2 2 */
     "replace 8>7;"         /* T1 8, B1 5 6 7 */
     "evict 8 3 0 1; none;"
     "in_b1 2; in_b2 1"}, /* 2, 3; 1 */
    {"car_remembers_no_victim_of_a_t1_that_has_the_whole_cache", "car",
     "insert 0-3; replace 4>0 0>1; in_b1 0"},
    {"car_evicts_first_what_nobody_will_want_and_forgets_it", "car",
     "insert 0-3; use 3; remove 3; unwanted 3; replace 4>3 3>0;"
     "in_b1 0; in_b2 0"},
    {"car_keeps_the_place_of_a_block_in_use_and_evicts_another", "car",
     "insert 0-3; remove 0 1;" /* T1 0 1 2 3 */
     "evict 2; insert 0 1;"    /* T1 0* 1* 3 */
     "evict 3 0 1"},

    /* 4 blocks, of which one is HIR. S is the stack, the bottom first. In it,
     * 4h is an HIR block and (4) is a ghost entry. Q has the HIR blocks. The
     * first block of all is HIR, since there must be one. */
    {"lirs_keeps_what_came_again_while_it_was_in_the_stack", "lirs",
     "set hir_percent=25;"
     "insert 0-3;"  /* S 1 2 3, Q 0 */
     "replace 4>0;" /* S 1 2 3 4h, Q 4 */
     "replace 5>4;" /* S 1 2 3 (4) 5h, Q 5 */
     "replace 4>5;" /* S 2 3 (5) 4, Q 1 */
     "use 1;"       /* S 2 3 (5) 4 1h */
     "use 1;"       /* S 3 (5) 4 1, Q 2 */
     "use 3;"       /* S 4 1 3: 5 is forgotten */
     "replace 5>2;" /* S 4 1 3 5h, Q 5 */
     "use 5;"       /* S 1 3 5, Q 4 */
     "evict 4 1 3 5; none;"
     "risen 2;"      /* 1, 5 */
     "remembered 1;" /* 4 */
     "from_lir 3"},
    /* As above, but block 1, the bottom of the stack, is in use when block 4
     * comes again. So block 2 falls instead of block 1. */
    {"lirs_takes_no_block_in_use_for_the_bottom", "lirs",
     "set hir_percent=25; insert 0-3;"
     "replace 4>0;"     /* S 1 2 3 4h, Q 4 */
     "remove 1; use 4;" /* S 3 4, Q 2 */
     "insert 1;"        /* S 3 4 1 */
     "evict 2 3 4 1"},
    {"lirs_evicts_first_what_nobody_will_want_and_forgets_it", "lirs",
     "insert 0-3; use 3; remove 3; unwanted 3; replace 4>3 3>0; remembered 0"},

    /* 4 blocks: the window has one, the main part three, of which two may be
     * protected. W is the window, P probation, T protected; a name has its
     * number of uses beside it where this matters. */
    {"wtinylfu_keeps_the_block_that_was_used_more_often", "wtinylfu",
     "insert 0-3;"  /* W 3, P 0 1 2 */
     "replace 4>3;" /* 3:1 against 0:1 */
     "replace 5>4; use 5;"
     "replace 6>0;" /* 5:2 against 0:1; W 6, P 1 2 5 */
     "use 1 2;"     /* P 5, T 1 2 */
     "use 5;"       /* P 1, T 2 5 */
     "replace 0>6;" /* 6:1 against 1:2 */
     "replace 7>0;" /* 0:2, of which one long ago; equal */
     "replace 0>7;"
     "replace 8>1;"         /* 0:3; W 8, P 0, T 2 5 */
     "evict 8 0 2 5; none;" /* 8:1 against 0:3 */
     "admitted 2;"          /* 5, 0 */
     "rejected 6"},
    /* As above; after 12 uses all counts are halved. */
    {"wtinylfu_halves_what_was_used_long_ago", "wtinylfu",
     "set sample_factor=3; insert 0-3; use 3 3 3 3;"
     "use 0 0 0;"   /* 3:5, 0:4; W 3, P 1 2, T 0; 11 uses */
     "replace 4>1;" /* W 4, P 2 3; now 3:2, 0:2, others 0 */
     "halved 1;"
     "replace 5>4;" /* 4:0 against 2:0 */
     "replace 6>2;" /* 5:1 against 2:0; W 6, P 3 5 */
     "replace 7>6;" /* 6:1 against 3:2 */
     "evict 7 3 5 0"},
    {"wtinylfu_halves_each_use_also_the_first", "wtinylfu",
     "set sample_factor=3; insert 0-3; use 3;"
     "use 0 0 0 0 0 0 0; halved 1;" /* 3:1, 0:4, others 0; W 3, P 1 2, T 0 */
     "replace 4>1; admitted 1"},    /* 3:1 against 1:0 */
    {"wtinylfu_evicts_first_what_nobody_will_want", "wtinylfu",
     "insert 0-3; remove 1; unwanted 1; replace 4>1 5>4"},

    /* 4 blocks. In brackets the clock, first what came first: h is hot, t in
     * its test, c another cold block, n a name; * is a mark. m is the most hot
     * ones. */
    {"clockpro_keeps_what_was_used_again_in_its_test", "clockpro",
     "insert 0-3; use 0;"   /* [0h* 1h 2h 3t] m 3 */
     "replace 4>3 5>4;"     /* [0h* 1h 2h 3n 4n 5t] */
     "use 5; replace 6>1;"  /* [3n 4n 5h 0h 2c 6t] m 2 */
     "replace 3>2;"         /* 4's test ends; [0h 6t 3h 5c] m 1, and then 2 */
     "use 6; replace 7>5;"  /* [6h 0c 3c 7t] m 1 */
     "evict 0 3 7 6; none;" /* [7n] */
     "to_hot 2;"            /* 5, 6 */
     "remembered 1;"        /* 3 */
     "ended 1;"             /* 4 */
     "from_cold 3"},        /* 3, 4, 7 */
    {"clockpro_begins_a_test_for_a_cold_block_that_was_used_after_its_test",
     "clockpro",
     "insert 0-3; use 3; replace 4>0;" /* [2h 3h 1c 4t] m 2 */
     "use 1; replace 5>4;"             /* [2h 3h 4n 1t 5t] */
     "use 1; replace 6>5;"             /* [4n 5n 1h 2c 3c 6t] m 1 */
     "to_hot 2; evict 2 3 6 1; ended 2"},
    {"clockpro_begins_with_hot_blocks_so_that_a_part_of_a_loop_stays",
     "clockpro",
     "insert 0-3; replace 4>3 5>4 6>5 7>6;" /* [0h 1h 2h 3n 4n 5n 6n 7t] */
     "evict 7 0 1 2"},
    {"clockpro_keeps_the_mark_of_a_block_that_becomes_hot_as_the_cache_grows",
     "clockpro",
     "insert 0; use 0; insert 1-3;" /* [0h* 1h 2h 3t] */
     "use 3; replace 4>1;"          /* [3h 0h 2c 4t] */
     "evict 2 4 3 0"},
    {"clockpro_remembers_as_many_names_as_there_were_blocks", "clockpro",
     "insert 0-1;"
     "replace 2>1 3>2 4>3;" /* [0h 2n 3n 4t]: 1 is forgotten */
     "replace 1>4;"         /* [0h 3n 4n 1t] */
     "remembered 0;"
     "replace 4>1;" /* 3 is forgotten, and 4 hot */
     "remembered 1"},
    {"clockpro_evicts_first_what_nobody_will_want_and_forgets_it", "clockpro",
     "insert 0-3; use 3; remove 3; unwanted 3; replace 4>3 3>4; remembered 0"},
    {"clockpros_hands_pass_over_a_block_in_use_and_leave_it_in_its_place",
     "clockpro",
     "insert 0-3; remove 0 3;" /* [0h 1h 2h 3t] */
     "evict 1; insert 0 3;"    /* [0h* 2h 3t*], then [3h 0h 2c] */
     "evict 2 3 0"},

    /* 4 blocks; one refault is enough to protect a tier. In brackets a
     * generation, first what came first; ' is a use that counts. */
    {"mglru_protects_the_tier_whose_blocks_came_again", "mglru",
     "set least_refaults=1 margin_percent=100; insert 0-3;"
     "use 0;"       /* [0'' 1' 2' 3'] [] */
     "replace 4>0;" /* tier 1: 0 of 1 came again */
     "replace 0>1;" /* tier 1: 1 of 1; tier 0: 0 of 1 */
     "use 2;"       /* [2'' 3' 4' 0'] [] */
     "replace 5>3;" /* [4' 0' 5'] [2]; tier 1: 1 of 2 */
     "use 4 0 5;"   /* all of them are protected, 2 is left: */
     "replace 6>2;" /* [] [4 0 5 6'] [], tier 1: 1 of 5 */
     "protected 4; born 1; ended 0;"
     "replace 7>4;" /* [0 5 6' 7'] [] */
     "ended 1; evict 0 5 6 7; none; refaults 1"},
    {"mglru_evicts_what_came_first_while_it_has_learned_nothing", "mglru",
     "insert 0-3; use 0 0 0 0 0 0 0 0 0; evict 0 1 2 3; protected 0"},
    {"mglru_evicts_first_what_nobody_will_want_and_forgets_it", "mglru",
     "insert 0-3; use 3; remove 3; unwanted 3; replace 4>3 3>0; refaults 0"},
    {"mglru_keeps_the_place_of_a_block_in_use_and_evicts_another", "mglru",
     "insert 0-3; remove 0; evict 1; insert 0; evict 0 2 3"},
};

static const struct policy *of_history;

/* Do a word of a step, most of which name a block or a range: insert, use,
 * remove, make unwanted, or expect as victim; "replace 5>3" expects that block
 * 5 evicts 3. */
static void do_to_blocks(const char *verb, const char *word)
{
    const struct policy *p = of_history;
    if (strcmp(verb, "none") == 0) {
        check(p->replace.victim() == NULL);
        return;
    }
    if (strcmp(verb, "set") == 0) {
        tunable_named(p, name_in(word))->value = value_in(word);
        return;
    }
    if (strcmp(verb, "replace") == 0) {
        u32 i, gone;
        check(sscanf(word, "%u>%u", &i, &gone) == 2);
        check_eq(replace(p, i), gone);
        return;
    }
    struct range r = range_of(word);
    for (u64 i = r.first; i <= r.last; i++) {
        if (strcmp(verb, "insert") == 0)
            insert(p, i, true);
        else if (strcmp(verb, "use") == 0)
            use(p, i);
        else if (strcmp(verb, "remove") == 0)
            remove_block(p, i);
        else if (strcmp(verb, "unwanted") == 0)
            insert(p, i, false);
        else if (strcmp(verb, "evict") == 0)
            check_eq(evict(p), i);
        else
            check_eq(counter_of(p, verb), i);
    }
}

TEST_ROWS(history, struct history, histories)
{
    of_history = policy_named(POLICY_REPLACE, row->policy);
    script_run(row->steps, do_to_blocks);
}

/* Insert block i, dirty or clean, after it was used once more. */
static void insert_used(const struct policy *p, u32 i, bool dirty)
{
    blocks[i].used = 0;
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
    check_eq(counter_of(p, "spared"), 1);
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

/* Blocks 0 and 2 are dirty, and with a window of 0 percent that makes no
 * difference. */
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

/* ---- work, counted in pages: each block has one of its own ---- */

#define MANY 2000
#define PAGE 4096

static u8 *pages;
static u32 touched;

/* A page that was out of bounds is touched: count it, and let it be. */
static void let_in(int, siginfo_t *info, void *)
{
    u8 *at = (u8 *)((u64)info->si_addr / PAGE * PAGE);
    if (at < pages || at >= pages + MANY * PAGE)
        _exit(3);
    touched++;
    mprotect(at, PAGE, PROT_READ | PROT_WRITE);
}

static struct block *own_page(u32 i)
{
    return (struct block *)(pages + i * PAGE);
}

/* Return how many blocks the policy looks at to choose its victim, `want`. */
static u32 seen_by_victim(const struct policy *p, const struct block *want)
{
    touched = 0;
    mprotect(pages, MANY * PAGE, PROT_NONE);
    struct block *found = p->replace.victim();
    u32 seen = touched;
    mprotect(pages, MANY * PAGE, PROT_READ | PROT_WRITE);
    check(found == want);
    return seen;
}

/* The paths in trees of 2,000 blocks have about 30 nodes, where the window has
 * 1,000 dirty blocks. */
TEST(cflru_finds_a_clean_block_without_a_walk_past_dirty_ones)
{
    const struct policy *p = policy_named(POLICY_REPLACE, "cflru");
    struct sigaction act = {.sa_sigaction = let_in, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &act, NULL);
    pages = mmap(NULL, MANY * PAGE, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(pages != MAP_FAILED);
    tunable_named(p, "window_percent")->value = 60;
    for (u32 i = 0; i < MANY; i++) {
        *own_page(i) = (struct block){
            .blkno = i, .used = i + 1, .dirtied_ns = i < MANY / 2};
        p->replace.insert(own_page(i), true);
    }
    check(seen_by_victim(p, own_page(MANY / 2)) < 200);
    tunable_named(p, "window_percent")->value = 40;
    check(p->replace.victim() == own_page(0)); /* the window shrinks */
    check(seen_by_victim(p, own_page(0)) < 200);
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

static const struct scan {
    const char *name, *policy;
    u32 outlive;
} scans[] = {
    {"two_q_keeps_its_working_set_through_a_scan", "2q", 4},
    {"arc_keeps_its_working_set_through_a_scan", "arc", 4},
    {"car_keeps_its_working_set_through_a_scan", "car", 4},
    {"lirs_keeps_its_working_set_through_a_scan", "lirs", 4},
    {"s3fifo_keeps_its_working_set_through_a_scan", "s3fifo", 4},
    {"wtinylfu_keeps_its_working_set_through_a_scan", "wtinylfu", 4},
    {"sieve_keeps_its_working_set_through_a_scan", "sieve", 4},
    {"clockpro_keeps_its_working_set_through_a_scan", "clockpro", 4},
    {"lru_loses_its_working_set_to_a_scan", "lru", 0},
};

TEST_ROWS(scan, struct scan, scans)
{
    check_eq(outlive_a_scan(row->policy), row->outlive);
}

/* 2q remembers the names of as many victims as kout_percent of the buffers,
 * however large the cache is: the last `names`, and not the name before these.
 */
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

/* Use a cache of 16 blocks at random; some blocks are popular. Return a number
 * that depends on which blocks are cached after each use. ahead: a block that
 * is not cached is read ahead before it is used. */
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

/* Each tunable in turn has its least and its largest value, for a random
 * run. */
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
