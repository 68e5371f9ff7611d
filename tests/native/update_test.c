/*
 * Update policies: which blocks they write when, in examples worked by hand
 * (cache_model.h), and what holds for all of them.
 *
 * link: tests/native/test.c
 */
#include "tests/native/cache_model.h"

static void dirty_at_ms(u64 ms, u64 blkno)
{
    run_to_ms(ms);
    dirty(blkno);
}

TEST(pu_writes_everything_every_interval)
{
    model_start("pu");
    dirty_at_ms(1, 7);
    dirty_at_ms(20000, 3);
    dirty_at_ms(29999, 9);
    dirty_at_ms(30001, 4);
    dirty_at_ms(30002, 7);
    run_to_ms(60000);
    check_writes("30000: 7 3 9; 60000: 4 7");
    tune("interval_ms", 10);
    dirty_at_ms(60001, 5);
    run_to_ms(61000);
    check_writes("60010: 5");
    check_eq(counter("updates"), 2 + 100);
    check_eq(counter("written"), 6);
}

TEST(aipu_writes_a_block_at_the_first_scan_after_its_age)
{
    model_start("aipu");
    dirty_at_ms(1500, 7);
    dirty_at_ms(2000, 3);
    dirty_at_ms(2001, 9);
    dirty_at_ms(20000, 7); /* modified again: as old as it was */
    run_to_ms(100000);
    check_writes("32000: 7 3; 33000: 9");
    check_eq(counter("scans"), 100);
    check_eq(counter("written"), 3);
    check_eq(counter("empty_scans"), 98);
}

TEST(aipu_30_writes_blocks_that_are_30_to_60_seconds_old)
{
    model_start("aipu");
    tune("scan_ms", 30000);
    dirty_at_ms(1, 7);
    dirty_at_ms(30000, 3);
    dirty_at_ms(30001, 9);
    run_to_ms(200000);
    check_writes("60000: 7 3; 90000: 9");
}

TEST(aipu_forces_structure_every_meta_ms_if_told_to)
{
    model_start("aipu");
    run_to_ms(1);
    dirty_meta(5);
    run_to_ms(50000);
    check_writes("31000: 5"); /* by default at its age, as all */
    tune("meta_ms", 20000);
    dirty_at_ms(50001, 7);
    dirty_meta(8);
    run_to_ms(52000);
    check_writes("51000: 8"); /* 20 s since the last time are over */
    dirty_meta(8);
    dirty_meta(9);
    run_to_ms(100000);
    check_writes("71000: 8 9; 81000: 7");
    check_eq(counter("forced"), 3);
    check_eq(counter("written"), 5);
}

TEST(ipu_writes_each_block_at_its_age_to_the_nanosecond)
{
    model_start("ipu");
    dirty_at_ms(10, 7);
    dirty_at_ms(12, 3);
    dirty_at_ms(12, 4);
    dirty_at_ms(29000, 9);
    dirty_at_ms(29001, 7); /* modified again: as old as it was */
    drop(9);
    run_to_ms(59999);
    check_writes("30010: 7; 30012: 3 4");
    dirty_at_ms(60005, 5);
    run_to_ms(100000);
    check_writes("90005: 5");
    tune("age_ms", 7);
    dirty_at_ms(100001, 6);
    run_to_ms(100100);
    check_writes("100008: 6");
    check_eq(counter("written"), 5);
    check_eq(counter("wakeups") - counter("empty_wakeups"), 4);
}

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

TEST(ipu_tries_a_block_that_cannot_be_written_once_a_second)
{
    model_start("ipu");
    model.bad_blkno = 7;
    dirty_at_ms(10, 7);
    dirty_at_ms(500, 3);
    run_to_ms(32500);
    check_writes("30010: 7!; 31010: 7! 3; 32010: 7!");
}

TEST(bflush_writes_what_pu_writes)
{
    model_start("bflush");
    dirty_at_ms(1, 7);
    dirty_at_ms(20000, 3);
    dirty_at_ms(20001, 5);
    drop(3);
    dirty_at_ms(30001, 5);
    dirty_at_ms(30002, 7);
    run_to_ms(60000);
    check_writes("30000: 7 5; 60000: 7 5"); /* in the order of buffers */
    check_eq(counter("updates"), 2);
    check_eq(counter("written"), 4);
}

/* Buffers that an update of n blocks, all of those used, looks at. */
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

TEST(bflush_scans_with_the_square_of_what_is_dirty_and_pu_in_proportion)
{
    check_eq(scanned_for("pu", 100), 100);
    check_eq(scanned_for("pu", 1000), 1000);
    /* 1 + 2 + ... + n, and n to find that no more is dirty. */
    check_eq(scanned_for("bflush", 100), 100 * 101 / 2 + 100);
    check_eq(scanned_for("bflush", 1000), 1000 * 1001 / 2 + 1000);
    check_eq(counter("scanned"), 5150 + 501500);
}

TEST(sprite_writes_all_of_a_file_when_its_oldest_block_is_of_age)
{
    model_start("sprite");
    run_to_ms(2000);
    dirty_file(1, 10);
    run_to_ms(10000);
    dirty_file(2, 20);
    run_to_ms(34000);
    dirty_file(3, 20);
    dirty_file(4, 10);
    dirty_meta(5);
    run_to_ms(64999);
    /* Of file 10 block 1 is of age at 32 s; of file 20 block 2 at 40 s. */
    check_writes("35000: 1 4; 40000: 2 3");
    run_to_ms(65000);
    check_writes("65000: 5");
    check_eq(counter("scans"), 13);
    check_eq(counter("of_age"), 3);
    check_eq(counter("written"), 5);
}

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

TEST(svr4_writes_data_when_its_turn_comes_and_structure_at_its_age)
{
    model_start("svr4");
    model.now.buffers = 600; /* 10 each second */
    run_to_ms(1);
    for (u64 i = 0; i < 25; i++)
        dirty(i); /* buffers 0 to 24 */
    dirty_map(25, 9);
    run_to_ms(59999);
    check_writes("1000: 0 1 2 3 4 5 6 7 8 9; 2000: 10 11 12 13 14 15 16 17 18 "
                 "19; 3000: 20 21 22 23 24");
    dirty(0);
    dirty(12);
    run_to_ms(70000);
    check_writes("61000: 25 0; 62000: 12"); /* 25 was 59.999 s old at 60 s */
    check_eq(counter("written_by_age"), 1);
    check_eq(counter("written_by_turn"), 27);
}

/* Inodes and summaries are structure that belongs to no file. */
TEST(svr4_writes_all_inodes_once_in_autoup_s_whatever_their_age)
{
    model_start("svr4");
    run_to_ms(1000);
    dirty_meta(1);
    dirty_map(2, 9);
    run_to_ms(59500);
    dirty_meta(3);
    dirty(900);
    run_to_ms(60500);
    dirty_meta(4);
    run_to_ms(120000);
    check_writes("60000: 1 3; 61000: 2 900; 120000: 4");
    check_eq(counter("inodes"), 3);
    check_eq(counter("written_by_age"), 1);
}

TEST(svr4_goes_round_all_of_the_cache_in_autoup_s)
{
    model_start("svr4");
    model.now.buffers = 997; /* not a multiple of 60, and fewer buffers used */
    run_to_ms(1);
    for (u64 i = 0; i < 997; i++)
        dirty(i);
    run_to_ms(60000);
    check_eq(model.now.written, 997);
    check_eq(counter("scanned"), 997);
    tune("autoup_s", 7);
    tune("scan_ms", 500); /* 14 turns */
    run_to_ms(60001);
    for (u64 i = 0; i < 997; i++)
        dirty(i);
    run_to_ms(67000);
    check_eq(model.now.written, 2 * 997);
}

TEST(bsd_syncer_writes_files_after_30_s_and_structure_after_10)
{
    model_start("bsd_syncer");
    run_to_ms(1500);
    dirty_file(1, 10);
    dirty_meta(2);
    run_to_ms(2500);
    dirty_file(3, 20);
    run_to_ms(20000);
    dirty_file(4, 10); /* its file's slot has been chosen */
    dirty_map(5, 20);  /* goes with its file */
    run_to_ms(100000);
    check_writes("11000: 2; 31000: 1 4; 32000: 3 5");
    dirty_file(4, 10);
    run_to_ms(200000);
    check_writes("130000: 4");
    check_eq(counter("written"), 6);
    check_eq(counter("ticks") - counter("empty_ticks"), 4);
}

TEST(bsd_syncer_writes_what_another_left_at_its_time_or_at_once)
{
    model_start("none");
    dirty_at_ms(5000, 1);
    run_to_ms(34500);
    dirty_file(2, 2);
    run_to_ms(90500);
    dirty_file(3, 3);
    model_use_update("bsd_syncer");
    run_to_ms(200000);
    check_writes("91000: 1 2; 120000: 3");
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

/* Buffers that the first of its turns looks at, of 997 that are used. */
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

TEST(svr4_begins_with_the_first_buffer_each_time_it_is_put_to_use)
{
    model_start("svr4");
    run_to_ms(10500);
    check_eq(counter("scans"), 10);
    model_start("svr4");
    run_to_ms(1);
    dirty(0);
    run_to_ms(59999);
    check_writes("1000: 0");
}

TEST(svr4_writes_structure_when_it_is_of_age_exactly)
{
    model_start("svr4");
    run_to_ms(1000);
    dirty_map(1, 9);
    run_to_ms(1001);
    dirty_map(2, 9);
    run_to_ms(100000);
    check_writes("61000: 1; 62000: 2");
}

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

TEST(none_never_looks)
{
    model_start("none");
    dirty_at_ms(1, 7);
    run_to_ms(1000000);
    check_writes("");
    check_eq(model.looks, 0);
}

/* ---- what holds for all ---- */

/* A day of looks, with blocks made dirty now and then. */
static void run_a_day(void)
{
    u64 seed = 1, end_ms = model.now_ns / NS_PER_MS + 24 * 3600 * 1000;
    u64 first_look = model.looks;
    for (u64 ms = model.now_ns / NS_PER_MS + 1;
         ms < end_ms && model.looks - first_look < 20000;
         ms += 1 + random_u64(&seed) % 20000) {
        dirty_at_ms(ms, random_u64(&seed) % 50);
        dirty_file(50 + random_u64(&seed) % 50, 2);
        dirty_meta(100 + random_u64(&seed) % 10);
        read_block(random_u64(&seed) % 200, ms % 2);
    }
}

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
