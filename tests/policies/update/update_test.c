/*
 * Update policies: which blocks they write when, in examples worked by hand
 * (cache_model.h), and what holds for all of them.
 *
 * link: tests/support/native/test.c
 */
#include "tests/support/native/cache_model.h"

static void dirty_at_ms(u64 ms, u64 blkno)
{
    run_to_ms(ms);
    dirty(blkno);
}

static const struct timeline timelines[] = {
    {"pu_writes_everything_every_interval", "pu",
     "at 1; dirty 7; at 20000; dirty 3; at 29999; dirty 9; at 30001; dirty 4;"
     "at 30002; dirty 7; at 60000; wrote 30000: 7 3 9, 60000: 4 7;"
     "set interval_ms=10; at 60001; dirty 5; at 61000; wrote 60010: 5;"
     "updates 102; written 6"}, /* 2, and then 100 */
    {"aipu_writes_a_block_at_the_first_scan_after_its_age", "aipu",
     "at 1500; dirty 7; at 2000; dirty 3; at 2001; dirty 9;"
     "at 20000; dirty 7;" /* modified again: as old as it was */
     "at 100000; wrote 32000: 7 3, 33000: 9;"
     "scans 100; written 3; empty_scans 98"},
    {"aipu_30_writes_blocks_that_are_30_to_60_seconds_old", "aipu",
     "set scan_ms=30000; at 1; dirty 7; at 30000; dirty 3; at 30001; dirty 9;"
     "at 200000; wrote 60000: 7 3, 90000: 9"},
    {"aipu_whole_writes_what_aipu_writes_and_looks_at_all_that_is_dirty",
     "aipu_whole",
     "at 1500; dirty 7; at 2000; dirty 3; at 2001; dirty 9;"
     "at 20000; dirty 7; at 100000; wrote 32000: 7 3, 33000: 9;"
     "scans 100; written 3;"
     "scanned 92"}, /* 7 from 2 to 32 s, 3 from 3 to 32, 9 from 3 to 33 */
    {"aipu_whole_looks_as_rarely_as_it_is_told", "aipu_whole",
     "set scan_ms=30000; at 1; dirty 7; at 30000; dirty 3; at 30001; dirty 9;"
     "at 200000; wrote 60000: 7 3, 90000: 9; scanned 5"},
    {"aipu_forces_structure_every_meta_ms_if_told_to", "aipu",
     "at 1; meta 5; at 50000; wrote 31000: 5;" /* by default at its age, as all
                                                */
     "set meta_ms=20000; at 50001; dirty 7; meta 8; at 52000;"
     "wrote 51000: 8;" /* 20 s since the last time are over */
     "meta 8 9; at 100000; wrote 71000: 8 9, 81000: 7; forced 3; written 5"},
    {"ipu_writes_each_block_at_its_age_to_the_nanosecond", "ipu",
     "at 10; dirty 7; at 12; dirty 3 4; at 29000; dirty 9;"
     "at 29001; dirty 7;" /* modified again: as old as it was */
     "drop 9; at 59999; wrote 30010: 7, 30012: 3 4;"
     "at 60005; dirty 5; at 100000; wrote 90005: 5;"
     "set age_ms=7; at 100001; dirty 6; at 100100; wrote 100008: 6;"
     "written 5; wakeups-empty_wakeups 4"},
    {"ipu_tries_a_block_that_cannot_be_written_once_a_second", "ipu",
     "bad 7; at 10; dirty 7; at 500; dirty 3; at 32500;"
     "wrote 30010: 7!, 31010: 7! 3, 32010: 7!"},
    {"bflush_writes_what_pu_writes", "bflush",
     "at 1; dirty 7; at 20000; dirty 3; at 20001; dirty 5; drop 3;"
     "at 30001; dirty 5; at 30002; dirty 7; at 60000;"
     "wrote 30000: 7 5, 60000: 7 5;" /* in the order of buffers */
     "updates 2; written 4"},
    /* Of file 10 block 1 is of age at 32 s; of file 20 block 2 at 40 s. */
    {"sprite_writes_all_of_a_file_when_its_oldest_block_is_of_age", "sprite",
     "at 2000; file 1/10; at 10000; file 2/20; at 34000; file 3/20 4/10;"
     "meta 5; at 64999; wrote 35000: 1 4, 40000: 2 3; at 65000;"
     "wrote 65000: 5; scans 13; of_age 3; written 5"},
    {"svr4_writes_data_when_its_turn_comes_and_structure_at_its_age", "svr4",
     "buffers 600;"      /* 10 each second */
     "at 1; dirty 0-24;" /* buffers 0 to 24 */
     "map 25/9; at 59999; wrote 1000: 0 1 2 3 4 5 6 7 8 9,"
     " 2000: 10 11 12 13 14 15 16 17 18 19, 3000: 20 21 22 23 24;"
     "dirty 0 12; at 70000;"
     "wrote 61000: 25 0, 62000: 12;" /* 25 was 59.999 s old at 60 s */
     "written_by_age 1; written_by_turn 27"},
    /* Inodes and summaries are metadata that belongs to no file. */
    {"svr4_writes_all_inodes_once_in_autoup_s_whatever_their_age", "svr4",
     "at 1000; meta 1; map 2/9; at 59500; meta 3; dirty 900; at 60500; meta 4;"
     "at 120000; wrote 60000: 1 3, 61000: 2 900, 120000: 4;"
     "inodes 3; written_by_age 1"},
    {"svr4_goes_round_all_of_the_cache_in_autoup_s", "svr4",
     "buffers 997;" /* not a multiple of 60, and fewer buffers used */
     "at 1; dirty 0-996; at 60000; written_now 997; scanned 997;"
     "set autoup_s=7 scan_ms=500;" /* 14 turns */
     "at 60001; dirty 0-996; at 67000; written_now 1994"},
    {"svr4_begins_with_the_first_buffer_each_time_it_is_put_to_use", "svr4",
     "at 10500; scans 10; restart svr4; at 1; dirty 0; at 59999;"
     "wrote 1000: 0"},
    {"svr4_writes_structure_when_it_is_of_age_exactly", "svr4",
     "at 1000; map 1/9; at 1001; map 2/9; at 100000;"
     "wrote 61000: 1, 62000: 2"},
    {"bsd_syncer_writes_files_after_30_s_and_structure_after_10", "bsd_syncer",
     "at 1500; file 1/10; meta 2; at 2500; file 3/20; at 20000;"
     "file 4/10;" /* its file's slot has been chosen */
     "map 5/20;"  /* goes with its file */
     "at 100000; wrote 11000: 2, 31000: 1 4, 32000: 3 5;"
     "file 4/10; at 200000; wrote 130000: 4; written 6; ticks-empty_ticks 4"},
    {"bsd_syncer_writes_what_another_left_at_its_time_or_at_once", "none",
     "at 5000; dirty 1; at 34500; file 2/2; at 90500; file 3/3;"
     "use bsd_syncer; at 200000; wrote 91000: 1 2, 120000: 3"},
    {"none_never_looks", "none",
     "at 1; dirty 7; at 1000000; wrote; looks_now 0"},
};

TEST_ROWS(timeline, struct timeline, timelines)
{
    model_script(row->policy, row->steps);
}

/* With nothing dirty there are 10 scans in 300 s. Then a block becomes dirty
 * each ms, and each is written by a scan of its own 30 s later. */
TEST(ipu_sleeps_while_nothing_is_of_age)
{
    model_start("ipu");
    run_to_ms(300000);
    check_eq(model.looks, 10);
    for (u64 i = 0; i < 1000; i++)
        dirty_at_ms(300000 + i, i);
    run_to_ms(329999);
    check_eq(model.looks, 10);
    run_to_ms(330999);
    check_eq(model.looks, 10 + 1000);
    check_eq(model.now.written, 1000);
}

/* Return how many buffers the policy looks at in an update. Of the buffers, n
 * are in use, and all of these are dirty. */
static u64 scanned_for(const char *policy, u64 n)
{
    model_start(policy);
    run_to_ms(1);
    for (u64 i = 0; i < n; i++)
        dirty(i);
    run_to_ms(30000);
    check_eq(model.now.written, n);
    return model.scanned;
}

/* How many blocks each policy looks at to write 100 and 1,000 dirty blocks. */
TEST(bflush_scans_with_the_square_of_what_is_dirty_and_pu_in_proportion)
{
    check_eq(scanned_for("pu", 100), 100);
    check_eq(scanned_for("pu", 1000), 1000);
    /* 1 + 2 + ... + n, and n to find that no more is dirty. */
    check_eq(scanned_for("bflush", 100), 100 * 101 / 2 + 100);
    check_eq(scanned_for("bflush", 1000), 1000 * 1001 / 2 + 1000);
    check_eq(counter("scanned"), 5150 + 501500);
}

/* Buffers that scans look at while 100 blocks, dirty from 0.5 to 1.49 s, grow
 * old and are written. */
static u64 scanned_until_of_age(const char *policy)
{
    model_start(policy);
    for (u64 n = 0; n < 100; n++)
        dirty_at_ms(500 + 10 * n, n);
    run_to_ms(40000);
    check_eq(model.now.written, 100);
    return model.scanned;
}

TEST(
    aipu_whole_looks_at_a_block_in_each_scan_of_its_life_and_aipu_when_it_is_due)
{
    /* Scans 1 to 31 each end at a block that is too young. */
    check_eq(scanned_until_of_age("aipu"), 100 + 31);
    /* 31 scans each; the block of 1 s, which scan 1 has missed, has 30. */
    check_eq(scanned_until_of_age("aipu_whole"), 99 * 31 + 30);
}

/* Each file is dropped 29,999 ms after it became dirty. */
TEST(sprite_does_not_write_a_file_that_lives_less_than_its_age)
{
    model_start("sprite");
    for (u64 i = 0; i < 20; i++) {
        run_to_ms(1 + i * 29999);
        dirty_file(i, i + 1);
        run_to_ms((i + 1) * 29999);
        drop(i);
    }
    check_writes("");
}

/* 190 s pass in which the daemon cannot look: the wheel goes round once, and
 * whatever is on it is written. */
TEST(bsd_syncer_writes_all_that_is_late_when_it_looks_late)
{
    model_start("bsd_syncer");
    run_to_ms(10500);
    for (u64 i = 0; i < 70; i++) {
        dirty_at_ms(10500 + 300 * i, i);
        dirty_meta(100 + i);
    }
    run_to_ms(32000);
    u64 left = model.now.dirty, ticks = counter("ticks");
    check(left > 70);
    stall_to_ms(222000);
    run_to_ms(222000);
    check_eq(model.now.dirty, 0);
    check_eq(counter("ticks") - ticks, 64);
    run_to_ms(225000);
    check_eq(counter("ticks") - ticks, 67);
}

/* Return how many of 997 buffers, all of them in use, svr4's first turn looks
 * at. */
static u64 first_turn(u64 scan_ms)
{
    model_start("svr4");
    model.now.buffers = 997;
    tune("scan_ms", scan_ms);
    run_to_ms(1);
    for (u64 i = 0; i < 997; i++)
        dirty(i);
    u64 before = counter("scanned");
    run_to_ms(scan_ms);
    return counter("scanned") - before;
}

TEST(svr4_has_as_many_turns_as_autoup_s_has_scans_rounded_up)
{
    check_eq(first_turn(1000), 997 / 60);
    check_eq(first_turn(7000), 997 / 9); /* 8.57 */
    check_eq(first_turn(59999), 997 / 2);
    check_eq(first_turn(60000), 997);
}

/* A round of 2 s may have scans 2,000 ms apart, and no further. */
TEST(svr4_refuses_scans_further_apart_than_a_round)
{
    const struct policy *p = model_start("svr4");
    check(!p->refuses());
    tune("autoup_s", 2);
    tune("scan_ms", 2000);
    check(!p->refuses());
    tune("scan_ms", 2001);
    check(p->refuses() != NULL);
}

/* ---- what holds for all ---- */

/* A policy that looks each millisecond does not look for a whole day. */
#define LOOKS 4000

/* A day, or as many looks, with blocks made dirty now and then. */
static void run_a_day(void)
{
    u64 seed = 1, end_ms = model.now_ns / NS_PER_MS + 24 * 3600 * 1000;
    u64 first_look = model.looks;
    for (u64 ms = model.now_ns / NS_PER_MS + 1;
         ms < end_ms && model.looks - first_look < LOOKS;
         ms += 1 + random_u64(&seed) % 20000) {
        dirty_at_ms(ms, random_u64(&seed) % 50);
        dirty_file(50 + random_u64(&seed) % 50, 2);
        dirty_meta(100 + random_u64(&seed) % 10);
        read_block(random_u64(&seed) % 200, ms % 2);
    }
}

/* Each tunable in turn has its least and its largest value for a day of the
 * model. */
TEST(every_update_policy_bears_its_tunables_extremes)
{
    POLICY_EACH (p) {
        if ((*p)->kind != POLICY_UPDATE)
            continue;
        model_start((*p)->name);
        run_a_day();
        for (struct tunable *t = (*p)->tunables; t && t->name; t++) {
            tune(t->name, t->min);
            run_a_day();
            tune(t->name, t->max);
            run_a_day();
            tune(t->name, t->def);
        }
    }
}

static bool writes_by_itself(const struct policy *p)
{
    return p->kind == POLICY_UPDATE && strcmp(p->name, "none") != 0;
}

/* Block 30 fails for ten minutes. The others are written meanwhile, and block
 * 30 afterwards. */
TEST(nothing_stays_dirty_for_ever_also_when_one_block_cannot_be_written)
{
    POLICY_EACH (p) {
        if (!writes_by_itself(*p))
            continue;
        model_start((*p)->name);
        model.bad_blkno = 30;
        for (u64 i = 0; i < 100; i++) {
            run_to_ms(1 + i * 77);
            dirty_file(i, i % 7);
        }
        run_to_ms(600000);
        check_eq(model.now.dirty, 1);
        model.bad_blkno = UNLIMITED;
        run_to_ms(1200000);
        check_eq(model.now.dirty, 0);
    }
}

/* 100 dirty blocks are dropped before any policy has written one. */
TEST(dropped_blocks_are_not_written)
{
    POLICY_EACH (p) {
        if (!writes_by_itself(*p))
            continue;
        model_start((*p)->name);
        run_to_ms(500);
        for (u64 i = 0; i < 100; i++)
            dirty_file(i, i % 7);
        for (u64 i = 0; i < 100; i++)
            drop(i);
        run_to_ms(600000);
        check_eq(model.now.written, 0);
    }
}

/* For each pair of policies: 50 blocks became dirty under the first, and the
 * second writes each once. */
TEST(a_policy_that_takes_over_writes_what_the_one_before_left)
{
    POLICY_EACH (from) {
        if ((*from)->kind != POLICY_UPDATE)
            continue;
        POLICY_EACH (to) {
            if (!writes_by_itself(*to))
                continue;
            model_start((*from)->name);
            for (u64 i = 0; i < 50; i++)
                dirty_at_ms(1 + i * 100, i);
            model_use_update((*to)->name);
            run_to_ms(600000);
            check_eq(model.now.dirty, 0);
            check_eq(model.now.written, 50);
        }
    }
}
