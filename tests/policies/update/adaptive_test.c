/*
 * Update and write policies that look at the load: which blocks they write
 * when, in examples worked by hand (cache_model.h).
 *
 * link: tests/support/native/test.c
 */
#include "tests/support/native/cache_model.h"
#include "policies/lib/ghost.h"
#include "policies/lib/marks.h"

/* Make n blocks dirty, from `first` on. */
static void dirty_n(u64 first, u64 n)
{
    for (u64 i = 0; i < n; i++)
        dirty(first + i);
}

/* Give a block a buffer, dirty or clean. */
static void drop_after(u64 blkno, bool keep)
{
    dirty(blkno);
    if (!keep)
        drop(blkno);
}

static const struct timeline timelines[] = {
    /* ldcl. 12 goes from age 3 to 4. 32 finds two in each of 1, 2 and 3, and
     * stays; then 33 finds three in its own, and goes to 2. */
    {"ldcl_chooses_the_least_full_age_when_none_in_range_has_room", "none",
     "at 1000; dirty 10-12;" /* age 3 */
     "at 2000; dirty 20-21;" /* age 2 */
     "at 3000; dirty 30-33;" /* age 1 */
     "at 4000; use ldcl; set threshold=2 range_s=2; at 4000;"
     "overfull 2; moved 2; moved_s 2;"
     "set age_s=4; at 4999; wrote; at 5000; wrote 5000: 10 11 12"},
    {"ldcl_writes_at_once_what_it_moves_to_the_last_age", "ldcl",
     "set age_s=4 threshold=2; at 1000; dirty 1-11; at 1999; wrote;"
     "at 2000;" /* ages 1, 2, 3, 4 get two each, then 4, 4 is even */
     "wrote 2000: 7 8; at 3000; dirty_now 6"},
    /* 14 of the 20 are beyond the threshold, until the age at which they are
     * due: in 60 scans. */
    {"ldcl_without_range_is_ipu", "ldcl",
     "set range_s=0; at 1500; dirty 1-20; at 61999; wrote; moved 0; at 62000;"
     "wrote 62000: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20;"
     "overfull 840; scans 62; scanned 1220; written 20"},

    /* The figures of Linux 6.12, measured in its guest: 8 MiB were written just
     * before, so that the disk has its part of the limit, but for the last. */
    {"linux_writes_a_lone_block_in_the_sixth_look_after_it_became_dirty",
     "linux",
     "set background_percent=100; at 10000; meta 1000-2999; drop 1000-2999;"
     "at 11000; dirty 7; at 40999; wrote; at 41000; wrote 41000: 7;"
     "expired 1; share 0"},
    {"linux_writes_a_lone_block_in_the_first_look_after_an_idle_time", "linux",
     "set background_percent=100; at 10000; meta 1000-2999; drop 1000-2999;"
     "at 60000; dirty 7; at 64999; wrote; at 100000; wrote 65000: 7;"
     "expired 0; share 1"},
    {"linux_looks_only_while_a_block_is_dirty", "linux",
     "at 60000; looks 0; dirty 7; at 65000; looks 1; at 120000; looks 1"},
    {"linux_writes_a_file_when_its_oldest_block_is_of_age", "linux",
     "set background_percent=100; at 10000; meta 1000-2999; drop 1000-2999;"
     "at 11000; file 1/20; at 12000; file 9/21; at 15000; file 2-4/20;"
     "at 41000; wrote 41000: 1 2 3 4; at 46000; wrote 46000: 9"},
    {"linux_writes_all_metadata_when_its_oldest_block_is_of_age", "linux",
     "set background_percent=100; at 10000; meta 1000-2999; drop 1000-2999;"
     "at 11000; meta 1; at 12000; file 9/21; at 15000; meta 2 3;"
     "at 41000; wrote 41000: 1 2 3; at 46000; wrote 46000: 9"},
    {"linux_writes_the_oldest_at_once_above_the_background_limit", "linux",
     "at 1000; dirty 1-100;" /* of 1000 buffers: 100 */
     "at 1001; wrote; looks 0;"
     "set chunk=3; dirty 101; at 1002; wrote 1001: 1 2 3;"
     "set background_percent=9; dirty 102; at 1003;"
     "wrote 1002: 4 5 6 7 8 9 10 11 12; dirty_now 90;"
     "background 12; expired 0; looks 2; share 0"},

    /* hac: at 100 dirty, 8 requests. */
    {"hac_fills_the_queue_by_how_much_is_dirty", "hac",
     "at 950; dirty 1-12; at 1000;"
     "wrote; dirty 21-33;"       /* 8 * 12 / 100 = 0; 8 * 25 / 100 = 2 */
     "at 1100; wrote 1100: 1 2;" /* and with 23: 1, then 22: 1 ... to 12 */
     "at 1200; wrote 1200: 3;"
     "reads 1; dirty 41-68;" /* 50: 4, of which the read takes 1 */
     "at 1300; wrote 1300: 4 5 6; busy_looks 0;"
     "busy 1; writes 1;" /* 47: 3, which is there */
     "at 1400; wrote; busy_looks 1; moved 6"},
    {"hac_writes_what_is_of_age_whatever_the_queue", "hac",
     "reads 1000; at 1050; dirty 1-201; at 31099; wrote; set age_ms=30050;"
     "at 31100; dirty_now 0; due 201; moved 0"},
    {"hac_accepts_a_share_of_its_queue_rounded_down", "hac",
     "set queue=100; reads 1; at 1; dirty 1-100; at 100; dirty_now 1;"
     "moved 99"},

    /* Without reads awol does as ahlw. Their marks begin at 100 and 50; a step
     * takes 5 s. Twice as fast writers halve the high mark. */
    {"ahlw_begins_to_write_earlier_when_writers_are_faster", "ahlw",
     "at 5001; dirty 1-30;" /* until 10 s: the first step with a rate */
     "at 10001; dirty 101-160; at 14999; above_high 0;"
     "at 15000; high_sum 250; low_sum 125; above_high 1; dirty_now 25"},

    {"alru_writes_what_was_unused_for_two_minutes_every_twenty_seconds", "alru",
     "at 1500; dirty 7; at 20500; dirty 3; at 21000; dirty 9; at 200000;"
     /* 7 is of second 1 and 3 of 20; both are stale at 140 s; 9 at 141. */
     "wrote 140000: 7 3, 160000: 9; wake_ups 10; written 3"},
    /* A read at 135 s: at 140 s, and not at 160, it is less than 10 s ago. Then
     * one as long ago as it must be, and a second more. */
    {"alru_does_not_write_while_the_cache_is_in_use", "alru",
     "at 1000; dirty 7; at 135000; hit 99; at 300000; wrote 160000: 7;"
     "active 1; restart alru; at 1000; dirty 7; at 129000; hit 99; at 300000;"
     "wrote 140000: 7"},
    {"alru_writes_a_batch_after_the_other_while_nobody_uses_the_cache", "alru",
     "set flush_max=2; at 1000; dirty 1-5; at 139000;"
     "writing 1;" /* until 140.025 s, something is being written */
     "at 140025; writing 0; at 140050;"
     "wrote 140000: 1 2, 140030: 3 4, 140040: 5; batches 2"},
    {"alru_stops_between_batches_when_the_cache_is_used", "alru",
     "set flush_max=2; at 1000; dirty 1-5; at 140005; miss 99; at 200000;"
     "wrote 140000: 1 2, 160010: 3 4, 160020: 5"},

    /* acp, with chunks of 10 blocks: 3 blocks in the first, 4 in the second, 1
     * in the third. */
    {"acp_writes_the_chunk_with_the_most_dirty_blocks_first", "acp",
     "set chunk_blocks=10; at 1; dirty 5 21 13 3 19 11 10 9; at 100;"
     "wrote 10: 13 19 11 10, 20: 5 3 9, 30: 21; chunks 3; written 8"},
    {"acp_goes_on_with_a_chunk_until_it_has_no_more", "acp",
     "set chunk_blocks=10; at 1; dirty 5 21 13 3 19 11 10 9;"
     "set flush_max=2; at 11; dirty 22-29;" /* now this chunk has the most */
     "at 200; wrote 10: 13 19, 20: 11 10, 40: 21 22, 50: 23 24, 60: 25 26,"
     " 70: 27 28, 80: 29, 90: 5 3, 100: 9"},
    {"acp_writes_one_batch_at_a_time", "acp",
     "set chunk_blocks=10; at 1; dirty 5 21 13 3 19 11 10 9; at 10;"
     "writing 4; busy_looks 0; at 45; writing 0; at 100;" /* the batch */
     "wrote 10: 13 19 11 10, 50: 5 3 9, 60: 21; busy_looks 3"},
    {"acp_sleeps_for_a_second_when_nothing_is_dirty", "acp",
     "looks 0; at 10009; looks 10; dirty 1; at 12000; wrote 10010: 1"},
    /* Block 5 cannot be written, so its chunk, 0 to 9, stays dirty. The chunks
     * of 10 and of 21 are written in between. */
    {"acp_does_not_choose_a_chunk_twice_in_turn_while_another_is_dirty", "acp",
     "set chunk_blocks=10; at 1; dirty 5 21 13 3 19 11 10 9; drop 13 19 11;"
     "bad 5; at 45; wrote 10: 5! 3 9, 20: 10, 30: 5!, 40: 21"},
};

TEST_ROWS(timeline, struct timeline, timelines)
{
    model_script(row->policy, row->steps);
}

/* ---- ldcl ---- */

/* The paper's example: six blocks of age 3, six of age 2, and one more. */
TEST(ldcl_moves_a_block_from_age_2_to_4_when_2_and_3_are_full)
{
    model_start("none");
    run_to_ms(1000);
    dirty_n(10, 6);
    run_to_ms(2000);
    dirty_n(20, 6);
    struct block *seventh = dirty(26);
    run_to_ms(4000);
    model_use_update("ldcl");
    run_to_ms(4000);
    check_eq(seventh->mark, 2);
    check_eq(counter("scanned"), 13);
    check_eq(counter("moved"), 1);
    check_eq(counter("moved_s"), 2);
    check_eq(counter("overfull"), 0);
    run_to_ms(100000);
    check_writes("60000: 26; 61000: 10 11 12 13 14 15; "
                 "62000: 20 21 22 23 24 25");
}

/* A share is a half of the 1000 buffers. 3 blocks of each become dirty at once.
 */
static void dirty_both_halves(u64 shares)
{
    model_start("ldcl");
    tune("age_s", 4);
    tune("threshold", 3);
    tune("shares", shares);
    run_to_ms(1000);
    for (u64 i = 0; i < 600; i++)
        drop_after(i, i % 500 < 3);
}

/* Two halves of the cache have three blocks each that are due at one time. As
 * one share, some would move; as two, none does. */
TEST(ldcl_counts_each_share_of_the_cache_on_its_own)
{
    dirty_both_halves(1); /* six of age 0: three of them are a second older */
    run_to_ms(10000);
    check_writes("4000: 500 501 502; 5000: 0 1 2");
    u64 moved = counter("moved"), scanned = counter("scanned");
    dirty_both_halves(2);
    run_to_ms(10000);
    check_writes("5000: 0 1 2 500 501 502");
    check_eq(counter("moved") - moved, 0);
    check_eq(counter("scanned") - scanned, 4 * 6);
}

/* ---- hac ---- */

/* Two disks: one has three requests more than the four accepted, one has a
 * request. */
TEST(hac_fills_each_disks_queue_and_passes_over_the_blocks_of_a_busy_one)
{
    model_start("hac");
    model.disks = 2;
    model.queue.queued_writes = 7;
    model.others[0].queued_reads = 1;
    run_to_ms(1);
    for (u64 b = 1; b <= 50; b++)
        dirty(b)->disk = b % 2; /* 50: four requests */
    run_to_ms(100);
    check_writes("100: 1 3 5");
    check_eq(counter("looks"), 1);
    check_eq(counter("busy_looks"), 1); /* though the second is not */
    model.queue.queued_writes = 2;      /* 47: three requests */
    run_to_ms(200);
    check_writes("200: 2 7 9");
    check_eq(counter("busy_looks"), 1);
    check_eq(counter("moved"), 6);
}

/* ---- the marks of ahlw and awol ---- */

static struct cache_state state;

/* A step in which this many blocks became dirty and this many clean. */
static void step(struct marks *m, u64 dirtied, u64 cleaned)
{
    state.dirtied += dirtied;
    state.written += cleaned;
    marks_step(m, &state, 400);
}

/* step(&m, d, c) tells of a step of time in which d blocks became dirty and c
 * became clean. High falls as d grows, and low in addition as c falls. */
TEST(marks_follow_the_rates_of_dirtying_and_cleaning)
{
    struct marks m;
    state = (struct cache_state){.buffers = 1000};
    marks_start(&m, 100, 50);
    step(&m, 9, 9);    /* of the time before: no rate */
    step(&m, 200, 80); /* the first rates */
    check_eq(m.high, 100);
    check_eq(m.low, 50);
    step(&m, 160, 80); /* 100 * 200/160 = 125, 50 * 200/160 = 62.5 */
    check_eq(m.high, 125);
    check_eq(m.low, 62);
    step(&m, 200, 60); /* 125 * 160/200 = 100, 62.5 * 160/200 * 60/80 */
    check_eq(m.high, 100);
    check_eq(m.low, 37);
    step(&m, 200, 74); /* 37.5 * 74/60 = 46.25 */
    check_eq(m.low, 46);
}

/* The rate of dirtying grows ten times and falls again, but in each step the
 * marks change by a factor of 2 at most. */
TEST(marks_at_most_double_or_halve_in_a_step)
{
    struct marks m;
    state = (struct cache_state){.buffers = 1000};
    marks_start(&m, 100, 50);
    step(&m, 0, 0);
    step(&m, 100, 100);
    step(&m, 1000, 100); /* a tenth */
    check_eq(m.high, 50);
    check_eq(m.low, 25);
    step(&m, 1, 100);
    check_eq(m.high, 100);
    check_eq(m.low, 50);
    step(&m, 0, 0); /* d: twice; c: 0, so half */
    check_eq(m.high, 200);
    check_eq(m.low, 25);
    step(&m, 0, 0); /* idle: as they are */
    check_eq(m.high, 200);
    check_eq(m.low, 25);
}

/* A limit of 400 blocks lowers both marks. The next step begins at what they
 * would be without the limit. */
TEST(marks_go_on_from_where_no_limit_bent_them)
{
    struct marks m;
    state = (struct cache_state){.buffers = 1000};
    marks_start(&m, 300, 200);
    step(&m, 0, 0);
    step(&m, 100, 100);
    step(&m, 50, 100); /* 600 and 400; but 400 at most, and 400 * 400/600 */
    check_eq(m.high, 400);
    check_eq(m.low, 266);
    step(&m, 100, 100);
    check_eq(m.high, 300);
    check_eq(m.low, 200);
    marks_step(&m, &state, 0);
    check_eq(m.high, 1);
    check_eq(m.low, 0);
}

/* marks.c's arithmetic: ratios in parts of ONE, marks in parts of a block,
 * both rounded to the nearest. */
#define RATIO 65536UL
#define BLOCK 1024UL

static u64 nearest(u64 a, u64 b)
{
    return (2 * a + b) / (2 * b);
}

static u64 ratio_of(u64 a, u64 b)
{
    const u64 most = RATIO * RATIO / 2;
    if (a == b)
        return RATIO;
    return b ? MIN(nearest(a * RATIO, b), most) : most;
}

static u64 by_at_most_two(u64 mark, u64 ratio)
{
    u64 by = ratio < RATIO / 2 ? RATIO / 2 : MIN(ratio, 2 * RATIO);
    return nearest(mark * by, RATIO);
}

/* After a step in which these blocks became dirty and clean, and the step
 * before.
 */
static void want_marks(struct marks *m, const u64 now[2], const u64 before[2],
                       u64 buffers)
{
    u64 by_dirtied = ratio_of(before[0], now[0]);
    u64 by_both = by_dirtied * ratio_of(now[1], before[1]) / RATIO;
    m->exact_high = by_at_most_two(m->exact_high, by_dirtied);
    m->exact_low = by_at_most_two(m->exact_low, by_both);
    m->exact_high = MAX(BLOCK, MIN(m->exact_high, buffers * BLOCK));
    m->exact_low = MIN(m->exact_low, buffers * BLOCK);
}

/* Check a step's marks: the exact ones are those wanted, and the high mark, in
 * blocks, is at most `most`; then the low mark falls in proportion. */
static void check_limits(const struct marks *m, const struct marks *want,
                         u64 most)
{
    u64 share = MIN(RATIO, ratio_of(most * BLOCK, want->exact_high));
    u64 high = MAX(1, MIN(want->exact_high / BLOCK, most));
    u64 low = want->exact_low * share / RATIO / BLOCK;
    check_eq(m->exact_high, want->exact_high);
    check_eq(m->exact_low, want->exact_low);
    check_eq(m->high, high);
    check_eq(m->low, MIN(low, high));
}

/* Blocks that are being written are not clean yet. */
TEST(marks_are_exactly_those_of_their_formulas)
{
    for (u64 seed = 0; seed < 200; seed++) {
        u64 random = seed, last[2] = {0}, buffers = 16 + seed * seed;
        struct marks m, want;
        state = (struct cache_state){.buffers = buffers};
        marks_start(&m, 1 + buffers / 10, 1 + buffers / 20);
        want = m;
        for (u32 i = 0; i < 30; i++) {
            u64 now[] = {random_u64(&random) % 50, random_u64(&random) % 50};
            u64 most = random_u64(&random) % (buffers + 1);
            state.dirtied += now[0];
            state.written += now[1] - state.writing;
            state.writing = random_u64(&random) % 9;
            state.written += state.writing;
            marks_step(&m, &state, most);
            if (i > 1)
                want_marks(&want, now, last, buffers);
            check_limits(&m, &want, most);
            memcpy(last, now, sizeof last);
        }
    }
}

/* Without reads awol does as ahlw. */
static const char *const by_marks[] = {"ahlw", "awol"};

TEST(ahlw_and_awol_write_down_to_the_low_mark_above_the_high_one)
{
    for (u32 i = 0; i < NELEM(by_marks); i++)
        model_script(by_marks[i],
                     "at 1000; dirty 1-100; at 2000; wrote;"
                     "looks_now 0;" /* nor asked */
                     "dirty 101; at 2001; looks_now 1; dirty_now 50;"
                     "above_high 1; written 51; steps 0;"
                     "at 30999; dirty_now 50;"
                     "at 35000;" /* the step after their age */
                     "dirty_now 0; due 50; steps 7; above_high 1");
}

/* The high mark begins at 100 blocks. As many become dirty; at the first step,
 * 5 s later, none is above the mark, and nothing is written. */
TEST(ahlw_and_awol_write_nothing_at_the_high_mark_when_they_step)
{
    for (u32 i = 0; i < NELEM(by_marks); i++)
        model_script(by_marks[i], "at 1; dirty 1-100; at 5000; wrote; steps 1;"
                                  "above_high 0");
}

/* The marks begin at 100 and 50. In the third step half as many blocks become
 * dirty as in the second, and as many clean. So the high mark would be doubled;
 * but it may be 150 at most. The low mark grows in proportion, to 75. */
TEST(ahlw_and_awol_let_the_high_mark_be_no_more_than_most_percent)
{
    for (u32 i = 0; i < NELEM(by_marks); i++) {
        model_start(by_marks[i]);
        tune("most_percent", 15);
        model.now.written = 100;
        for (u32 step = 1; step <= 3; step++) {
            model.now.dirtied += step == 3 ? 50 : 100;
            model.now.written += 100;
            run_to_ms(5000 * step);
        }
        check_eq(counter("high_sum"), 100 + 100 + 150);
        check_eq(counter("low_sum"), 50 + 50 + 75);
    }
}

/* The high mark may begin at most_percent, and no higher. */
TEST(ahlw_and_awol_refuse_to_begin_above_most_percent)
{
    for (u32 i = 0; i < NELEM(by_marks); i++) {
        const struct policy *p = model_start(by_marks[i]);
        check(!p->refuses());
        tune("high_percent", 40); /* as most_percent */
        check(!p->refuses());
        tune("high_percent", 41);
        check(p->refuses() != NULL);
        tune("most_percent", 41);
        check(!p->refuses());
    }
}

/* ---- awol ---- */

/* 10 buffers, of which writes may take up to 4. */
static void start_small(u64 reading)
{
    model_start("none");
    model.now.buffers = 10;
    model_use_update("awol");
    tune("reading", reading);
    run_to_ms(1);
}

TEST(awol_sees_what_write_buffering_took_and_would_take)
{
    start_small(0);
    for (u64 b = 1; b <= 10; b++)
        read_block(b, false);
    check_eq(counter("ghost_misses"), 0);
    read_block(7, true); /* among the 6 wanted last */
    check_eq(counter("ghost_hits"), 0);
    read_block(3, true); /* 10 9 8 7 6 5 are not it */
    check_eq(counter("ghost_hits"), 1);
    read_block(1, false); /* the cache without dirty blocks would have it */
    check_eq(counter("ghost_misses"), 1);
    read_block(11, false); /* never seen; 2 is forgotten */
    read_block(2, false);
    check_eq(counter("ghost_misses"), 1);
    dirty(12); /* 4 is forgotten: written blocks are cached too */
    read_block(4, false);
    check_eq(counter("ghost_misses"), 1);
    dirty(30);
    read_block(30, true); /* a hit of the write buffer */
    check_eq(counter("ghost_hits"), 1);
    check_eq(counter("reads"), 17);
    check_eq(counter("hits"), 3);
}

/* Return the upper limit of the high mark after 20 reads. 12 of them hit, 5 of
 * these in what write buffering would take. 2 miss because of it. */
static u64 most_after_reads(u64 reading)
{
    start_small(reading);
    for (u64 b = 1; b <= 6; b++)
        read_block(b, false);
    for (u64 i = 0; i < 7; i++)
        read_block(6, true);
    for (u64 b = 101; b <= 103; b++)
        read_block(b, true); /* ghost hits, also 1 and 2: not wanted of late */
    read_block(1, true);
    read_block(2, true);
    read_block(3, false); /* ghost misses: nine names, 3 the oldest, then 4 */
    read_block(4, false);
    check_eq(counter("reads"), 20);
    check_eq(counter("hits"), 12);
    check_eq(counter("ghost_hits"), 5);
    check_eq(counter("ghost_misses"), 2);
    run_to_ms(5000);
    check_eq(counter("steps"), 1);
    return counter("most_sum");
}

TEST(awol_bounds_the_high_mark_as_the_formula_is_printed)
{
    check_eq(most_after_reads(0), 2); /* 4 (1 - (12 - 5 + 2)/20) = 2.2 */
}

TEST(awol_bounds_the_high_mark_with_the_sign_turned)
{
    check_eq(most_after_reads(1), 0); /* 4 (1 - (12 + 5 + 2)/20) = 0.2 */
}

TEST(awol_bounds_the_high_mark_by_ghosts_alone)
{
    check_eq(most_after_reads(2), 2); /* 4 (1 - (5 + 2)/20) = 2.6 */
}

/* ---- oaw ---- */

/* Use oaw with a floor of 2 requests, at 1 s. */
static void start_oaw(void)
{
    model_start("none");
    model_use_write("oaw");
    tune_write("floor", 2);
    run_to_ms(1000);
}

/* The mean is the floor, 2. With 2 requests queued a filled block is written at
 * once; with 3 it is held back. */
TEST(oaw_holds_writes_back_while_the_queue_is_longer_than_its_mean)
{
    start_oaw();
    model.queue.queued_reads = 1;
    model.queue.queued_writes = 1;
    check_eq(write_data(1, true), WRITE_ASYNC);
    check_eq(write_data(2, false), WRITE_DELAYED);
    model.queue.queued_writes = 2;
    check_eq(write_data(3, true), WRITE_HELD_BACK);
    check_eq(counter_write("at_once"), 1);
    check_eq(counter_write("held_back"), 1);
    check_writes("1000: 1");
}

/* Six blocks are held back. Each second the queue is filled up to one more than
 * the mean. */
TEST(oaw_releases_first_in_first_out_each_second_while_the_queue_is_short)
{
    start_oaw();
    model.queue.queued_reads = 10;
    for (u64 b = 1; b <= 6; b++)
        write_data(b, true);
    write_data(3, false); /* modified in part: delayed from now on */
    run_to_ms(3999);
    check_writes(""); /* the queue is long */
    model.queue.queued_reads = 1;
    run_to_ms(4000);
    check_writes("4000: 1 2"); /* to a queue of 3, longer than 2 */
    model.queue.queued_reads = 0;
    run_to_ms(10000);
    check_writes("5000: 4 5 6"); /* 3 is for the update policy */
    check_eq(counter_write("released"), 5);
}

/* The queue was 3.9 long on average in ten seconds, so from 11 s on a write is
 * held back only if 5 requests are queued. The next ten seconds have no queue:
 * the mean is the floor, 2. */
TEST(oaw_takes_the_mean_of_the_queue_every_ten_seconds)
{
    start_oaw();
    run_to_ms(10000); /* the first second began the first probe */
    model.queue.queued_ns = 39 * NS_PER_S; /* over 10 s: 3.9, so 4 */
    model.queue.queued_reads = 4;
    check_eq(write_data(1, true), WRITE_HELD_BACK);
    run_to_ms(11000);
    check_eq(write_data(2, true), WRITE_ASYNC);
    model.queue.queued_reads = 5;
    check_eq(write_data(3, true), WRITE_HELD_BACK);
    run_to_ms(21000); /* no queue in these 10 s: the floor */
    model.queue.queued_reads = 3;
    check_eq(write_data(4, true), WRITE_HELD_BACK);
}

/* With delay=1 each write only makes its block dirty, however many requests are
 * queued. */
TEST(oaw_delays_what_programs_write_if_it_is_told_so)
{
    start_oaw();
    tune_write("delay", 1);
    model.queue.queued_reads = 10;
    check_eq(write_data(1, true), WRITE_DELAYED);
    check_eq(write_data(2, false), WRITE_DELAYED);
    model.queue.queued_reads = 0;
    check_eq(write_data(3, true), WRITE_DELAYED);
    run_to_ms(5000);
    check_writes("");
    check_eq(counter_write("at_once"), 0);
    check_eq(counter_write("held_back"), 0);
}

/* ---- throttled ---- */

/* Up to 200 dirty blocks nobody waits. Beyond, blocks are written; with
 * dirty_percent=1 all but 10. */
TEST(throttled_keeps_what_is_dirty_within_its_share)
{
    model_start("none");
    model_use_write("throttled"); /* of 1000 buffers: 200 */
    run_to_ms(1);
    for (u64 b = 0; b < 200; b++)
        check_eq(write_data(b, true), WRITE_DELAYED);
    check_writes("");
    write_data(200, true);
    check(model.now.dirty <= 200 && model.now.written > 0);
    tune_write("dirty_percent", 1);
    write_data(201, false);
    check(model.now.dirty <= 10);
}

TEST(throttled_allows_one_block_of_the_smallest_cache)
{
    const struct policy *p = policy_named(POLICY_WRITE, "throttled");
    tunable_named(p, "dirty_percent")->value = 1;
    check_eq(p->write.most_dirty(16), 1);
    check_eq(p->write.most_dirty(101), 2);
}

/* ---- balanced ---- */

/* Of 1000 buffers, 150 are free, 175 the setpoint and 200 the limit. */
static const struct policy *balanced_with(u64 dirty_blocks)
{
    model_start("none");
    const struct policy *p = model_use_write("balanced");
    model.now.dirty = dirty_blocks;
    return p;
}

/* True if a writer that has just made a block dirty may go on. */
static bool may_go_on(const struct policy *p)
{
    return model.now.dirty + model.now.writing <= p->write.most_dirty(1000);
}

/* Return how many blocks become dirty until a writer has to wait, after
 * `cleaned` blocks have become clean. */
static u64 dirtied_for(u64 cleaned, u64 dirty_blocks)
{
    u64 n = 0;
    const struct policy *p = balanced_with(dirty_blocks);
    model.now.written += cleaned;
    for (; may_go_on(p) && n < 1000; n++)
        model.now.dirtied++;
    return n;
}

/* With no block cleaned a writer goes on without end at 150 dirty blocks, and
 * makes one dirty at 151. */
TEST(balanced_lets_writers_go_on_below_the_middle_of_its_two_limits)
{
    check_eq(dirtied_for(0, 150), 1000);
    check_eq(dirtied_for(0, 151), 1); /* which is one too many */
    model_start("none");
    model_use_write("balanced");
    run_to_ms(1);
    for (u64 b = 0; b < 150; b++)
        check_eq(write_data(b, true), WRITE_DELAYED);
    check_writes("");
}

/* The ratio is 1 + ((175 - dirty) / 25)^3: 1.88, 1.11, 1, 0.12 and 0. */
TEST(balanced_lets_more_become_dirty_than_clean_below_its_setpoint)
{
    check_eq(dirtied_for(16, 151), 30 + 1);
    check_eq(dirtied_for(20, 163), 22 + 1);
    check_eq(dirtied_for(20, 175), 20 + 1);
    check_eq(dirtied_for(20, 199), 2 + 1);
    check_eq(dirtied_for(20, 200), 0 + 1);
}

/* The writer is far faster than the disk, which cleans two blocks at a time,
 * and the cache has 3,600 blocks. The setpoint is 630, and `free` is 540.
 * Linux 6.12 settles as close: at 6,020, with a setpoint of 6,014 and a limit
 * of 7,200. */
TEST(balanced_lets_a_fast_writer_come_to_the_setpoint)
{
    const struct policy *p = balanced_with(0);
    model.now.buffers = 3600;
    for (u32 i = 0; i < 20000; i++) {
        while (model.now.dirty <= p->write.most_dirty(3600)) {
            model.now.dirty++;
            model.now.dirtied++;
        }
        model.now.dirty -= 2;
        model.now.written += 2;
    }
    check(model.now.dirty >= 620 && model.now.dirty <= 640);
}

/* 150 dirty blocks are the middle. A block that becomes clean pays for the last
 * dirty one, and one is in credit. */
TEST(balanced_keeps_the_credit_of_a_clean_block_below_the_middle)
{
    const struct policy *p = balanced_with(151);
    model.now.dirtied++;
    check(!may_go_on(p));
    model.now.written++;
    model.now.dirty--; /* 150: 1 for the debt, 1 in credit */
    check(may_go_on(p));
    model.now.dirty++;
    model.now.dirtied++;
    check(may_go_on(p));
}

/* Three blocks became dirty at the setpoint, 175. The writer goes on when three
 * writes have ended, not when they have begun. */
TEST(balanced_has_a_writer_wait_until_its_block_has_been_made_up_for)
{
    const struct policy *p = balanced_with(175);
    u64 pauses = counter_write("pauses"), stops = counter_write("stops");
    model.now.dirtied += 3;
    check(!may_go_on(p));
    model.now.written += 3; /* but they are being written still */
    model.now.dirty -= 3;
    model.now.writing = 3;
    check(!may_go_on(p));
    model.now.writing = 1;
    check(!may_go_on(p));
    model.now.writing = 0;
    model.now.dirty += 3;
    check(may_go_on(p));
    check_eq(counter_write("pauses") - pauses, 3);
    check_eq(counter_write("stops") - stops, 0);
}

/* Above 200 no clean block helps. Once below 150, what writers owed is
 * forgotten. */
TEST(balanced_stops_writers_above_the_limit_and_forgives_below_the_middle)
{
    const struct policy *p = balanced_with(201);
    u64 stops = counter_write("stops");
    model.now.written += 100;
    check(!may_go_on(p));
    check_eq(counter_write("stops") - stops, 1);
    model.now.dirtied += 100;
    model.now.dirty = 150;
    check(may_go_on(p));
    model.now.dirty = 160;
    check(may_go_on(p));
}

TEST(balanced_gives_no_more_credit_than_a_burst)
{
    check_eq(dirtied_for(500, 175), 32 + 1);
}

/* Both percentages may be 20. A background of 21 is above the limit. */
TEST(balanced_refuses_a_limit_below_the_background)
{
    const struct policy *p = policy_named(POLICY_WRITE, "balanced");
    check(!p->refuses());
    tunable_named(p, "background_percent")->value = 20; /* as dirty_percent */
    check(!p->refuses());
    tunable_named(p, "background_percent")->value = 21;
    check(p->refuses() != NULL);
}

/* 1 % of 16 buffers is less than a block, but a writer may always make one
 * dirty. */
TEST(balanced_allows_one_block_of_the_smallest_cache)
{
    model_start("none");
    const struct policy *p = model_use_write("balanced");
    tune_write("background_percent", 0);
    tune_write("dirty_percent", 1);
    run_to_ms(1);
    dirty(1);
    check_eq(p->write.most_dirty(16), 1);
}

/* ---- alru ---- */

/* Blocks 7 and 8 become dirty at 1 s. Block 7 is used again, so it is written
 * 60 s later than block 8. */
TEST(alru_takes_a_block_that_was_used_again_for_younger)
{
    model_start("alru");
    run_to_ms(1000);
    struct block *b = dirty(7);
    dirty(8);
    run_to_ms(70000);
    b->used++; /* seen at 80 s */
    run_to_ms(300000);
    check_writes("140000: 8; 200000: 7");
}

/* ---- awol against a model ---- */

#define NAMES                                                      \
    8192 /* a ghost cache's room, as policies/update/awol.c has it \
          */

/* Names, the oldest first. */
struct names {
    u64 n, at[200];
};

/* True if the name is in the list. */
static bool have(const struct names *names, u64 name)
{
    for (u64 i = 0; i < names->n; i++) {
        if (names->at[i] == name)
            return true;
    }
    return false;
}

/* Make a name the last of its list, whose first ones are dropped beyond
 * `most`. */
static void make_youngest(struct names *names, u64 name, u64 most)
{
    u64 n = 0;
    for (u64 i = 0; i < names->n; i++) {
        if (names->at[i] != name)
            names->at[n++] = names->at[i];
    }
    names->at[n++] = name;
    u64 gone = n > most ? n - most : 0;
    memmove(names->at, names->at + gone, (n - gone) * sizeof *names->at);
    names->n = n - gone;
}

static struct {
    struct names full, least;
    u64 reads, hits, ghost_hits, ghost_misses;
    u64 steps, most_sum, high_sum, low_sum;
    u64 last[4]; /* of the first four, at the last step */
    struct marks marks;
    u64 most_percent, reading; /* the tunables */
} want;

/* Start awol on a cache of random size with random tunables; the model `want`
 * begins with its marks. */
static void start_awol(u64 *seed)
{
    model_start("none");
    model.now.buffers = 10 + random_u64(seed) % 60;
    model_use_update("awol");
    memset(&want, 0, sizeof want);
    want.most_percent = 10 + random_u64(seed) % 90;
    want.reading = random_u64(seed) % 3;
    tune("most_percent", want.most_percent);
    tune("reading", want.reading);
    u64 high = model.now.buffers / 10;
    marks_start(&want.marks, high, high / 2);
}

static u64 want_least(void)
{
    return model.now.buffers - model.now.buffers * want.most_percent / 100;
}

/* Count a read in the model, and report it to the policy. full: what a cache
 * without dirty blocks would hold; least: what is left when write buffering has
 * all it may. */
static void want_read(const struct policy *p, const struct block *b, bool hit)
{
    u64 most = model.now.buffers;
    want.reads++;
    want.hits += hit;
    want.ghost_misses += !hit && have(&want.full, b->blkno);
    want.ghost_hits += hit && !b->dirtied_ns && !have(&want.least, b->blkno);
    make_youngest(&want.full, b->blkno, most);
    make_youngest(&want.least, b->blkno, want_least());
    p->update.wanted(b, hit);
}

/* The formulas of awol.c's head. */
static u64 want_most(void)
{
    u64 now[] = {want.reads, want.hits, want.ghost_hits, want.ghost_misses};
    u64 grown[4];
    for (u32 i = 0; i < 4; i++) {
        grown[i] = now[i] - want.last[i];
        want.last[i] = now[i];
    }
    i64 reads = grown[0], c = grown[1], gh = grown[2], gm = grown[3];
    i64 against[] = {c - gh + gm, c + gh + gm, gh + gm};
    i64 left = reads - against[want.reading];
    u64 most = model.now.buffers * want.most_percent / 100;
    return !reads ? most : left > 0 ? most * left / reads : 0;
}

/* Let five seconds pass, in which the policy and the model set their marks. */
static void step_awol(const struct policy *p)
{
    u64 most = want_most();
    model.now_ns += 5000 * NS_PER_MS;
    p->update.scan(model.now_ns);
    marks_step(&want.marks, &model.now, most);
    want.steps++;
    want.most_sum += most;
    want.high_sum += want.marks.high;
    want.low_sum += want.marks.low;
}

/* Do one random thing: 1 of 64 is a step, 7 a block that is written, 8 one that
 * becomes dirty, and the others are reads. */
static void awol_at_random(const struct policy *p, u64 *seed)
{
    struct block b = {.blkno = random_u64(seed) % (2 * model.now.buffers)};
    u64 what = random_u64(seed) % 64;
    if (what == 0) {
        model.now.written += random_u64(seed) % 9;
        step_awol(p);
    } else if (what < 8) {
        make_youngest(&want.least, b.blkno, want_least());
        p->update.leaves(&b);
    } else if (what < 16) {
        model.now.dirtied++;
        make_youngest(&want.full, b.blkno, model.now.buffers);
        p->update.dirtied(&b, model.now_ns);
    } else {
        b.dirtied_ns = random_u64(seed) % 4 == 0;
        want_read(p, &b, random_u64(seed) % 2);
    }
}

/* For 40 seeds, 2,000 random calls each: all counters are equal to those of the
 * model. */
TEST(awol_counts_and_bounds_its_marks_as_its_model)
{
    for (u64 seed = 1; seed <= 40; seed++) {
        u64 random = seed;
        const struct policy *p = model_start("awol");
        for (struct policy_counter *c = p->counters; c->name; c++)
            c->value = 0;
        memset(want.last, 0, sizeof want.last);
        start_awol(&random);
        step_awol(p); /* what was counted before is no growth */
        want.most_sum = counter("most_sum");
        want.high_sum = counter("high_sum");
        want.low_sum = counter("low_sum");
        for (u32 i = 0; i < 2000; i++)
            awol_at_random(p, &random);
        check_eq(counter("reads"), want.reads);
        check_eq(counter("hits"), want.hits);
        check_eq(counter("ghost_hits"), want.ghost_hits);
        check_eq(counter("ghost_misses"), want.ghost_misses);
        check_eq(counter("steps"), want.steps);
        check_eq(counter("most_sum"), want.most_sum);
        check_eq(counter("high_sum"), want.high_sum);
        check_eq(counter("low_sum"), want.low_sum);
    }
}

/* In a cache of this many buffers, the policy follows one block in `every`, and
 * each ghost cache has room for `most` names: the first of them is there until
 * one more comes. */
static void check_follows(u64 buffers, u64 every, u64 most)
{
    model_start("none");
    model.now.buffers = buffers;
    const struct policy *p = model_use_update("awol");
    u64 reads = counter("reads"), misses = counter("ghost_misses");
    for (u64 i = 0; i < most * every; i++)
        p->update.wanted(&(struct block){.blkno = i}, false);
    check_eq(counter("reads") - reads, most);
    check_eq(counter("ghost_misses") - misses, 0);
    p->update.wanted(&(struct block){.blkno = 0}, false); /* the youngest now */
    check_eq(counter("ghost_misses") - misses, 1);
    struct block written = {.blkno = most * every};
    p->update.dirtied(&written, 1); /* 1 * every is forgotten */
    p->update.wanted(&(struct block){.blkno = every}, false);
    check_eq(counter("ghost_misses") - misses, 1);
    written.blkno = most * every + 1; /* not followed, if any is not */
    p->update.dirtied(&written, 1);
    p->update.wanted(&(struct block){.blkno = 3 * every}, false);
    check_eq(counter("ghost_misses") - misses, every > 1 ? 2 : 1);
}

TEST(awol_follows_every_nth_block_of_a_cache_that_is_larger_than_its_ghosts)
{
    check_follows(NAMES, 1, NAMES);
    check_follows(NAMES + 1, 2, (NAMES + 1) / 2);
    check_follows(2 * NAMES, 2, NAMES);
    check_follows(2 * NAMES + 1, 3, (2 * NAMES + 1) / 3);
}
