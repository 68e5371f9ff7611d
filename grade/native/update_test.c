/*
 * Update policies: which blocks they write when, in examples worked by hand
 * (cache_model.h), and what holds for all of them.
 *
 * link: grade/native/test.c
 */
#include "grade/native/cache_model.h"

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
        model.bad_blkno = NEVER_NS;
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
