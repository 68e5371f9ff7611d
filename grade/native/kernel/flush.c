/*
 * Flushes: which dirty blocks they write, in which order and how many at a
 * time, which they wait for, and what they count.
 */
#include "grade/native/kernel/blocks.h"

/* Blocks 10 to 17, dirty since 1000, 2000, ..., of the owners 1 and 2 by
 * turns. */
static void boot_dirty(const char *args)
{
    char line[256];
    snprintf(line, sizeof line, "nbuf=256 cluster_kb=0 sched=told %s", args);
    boot(line);
    told.quiet = true; /* told chooses the oldest */
    for (u64 i = 0; i < 8; i++) {
        clock_now_ns = 1000 * (i + 1);
        dirty(10 + i, 1 + i % 2);
    }
    clock_now_ns = 10000;
    forget_all();
}

/* Expect just these of blocks 10 to 17 to be dirty: "10 12". */
#define check_dirty(want) check_dirty_at(want, __LINE__)

static void check_dirty_at(const char *want, u32 line)
{
    char got[64] = "";
    u64 n = 0;
    for (u64 i = 10; i < 18; i++)
        if (is_dirty(i))
            n += sprintf(got + n, n ? " %lu" : "%lu", i);
    if (strcmp(got, want)) {
        printf("line %u: expected %s to be dirty, not %s\n", line, want, got);
        exit(1);
    }
}

/* ---- flushes that are waited for ---- */

TEST(bflush_writes_all_oldest_first_and_waits)
{
    boot_dirty("");
    check_eq(bflush(NULL), 0);
    check_commands("W0:20+2 W0:22+2 W0:24+2 W0:26+2 W0:28+2 W0:30+2 W0:32+2 "
                   "W0:34+2");
    check_dirty("");
    check_counters("bio.", "misses 8, dirtied 8, written 8");
    check_hist("bio.burst", 0, "8", 8);
    check_at_rest();
    forget("trace");
    check_eq(bflush(NULL), 0);
    check_hist("bio.burst", 0, "8", 8);
    check_trace("");
}

TEST(a_flush_is_traced_with_how_many_it_started)
{
    boot_dirty("");
    check_eq(bflush_owner(disk0(), 1), 0);
    forget("commands");
    forget("trace");
    bio_burst(disk_get(1), 3);
    bio_burst(NULL, 2);
    bio_burst(NULL, 0);
    check_trace("flush disk1 0 7 3; flush disk0 0 7 2");
    check_hist("bio.burst", 0, "2 3 4", 9);
}

TEST(bflush_of_a_disk_leaves_the_other_disks_blocks_dirty)
{
    boot_dirty("");
    bdwrite(getblk(disk_get(1), 9), 1);
    check_eq(bflush(disk_get(1)), 0);
    check_commands("W1:18+2");
    check_dirty("10 11 12 13 14 15 16 17");
    bdwrite(getblk(disk_get(1), 9), 1);
    check_eq(bflush(disk0()), 0);
    check_eq(bio_dirty(), 1);
    check_dirty("");
}

TEST(fsync_leaves_none_of_the_owners_blocks_dirty_and_all_others)
{
    boot_dirty("");
    bdwrite(getblk(disk_get(1), 9), 1);
    check_eq(bflush_owner(disk0(), 1), 0);
    check_commands("W0:20+2 W0:24+2 W0:28+2 W0:32+2");
    check_dirty("11 13 15 17");
    check_eq(bio_dirty(), 5);
    check_counters("bio.", "misses 9, dirtied 9, written 4");
}

TEST(fsync_is_by_the_owner_a_block_has_now)
{
    boot_dirty("");
    dirty(11, 1);
    dirty(12, 2);
    check_eq(bflush_owner(disk0(), 1), 0);
    check_dirty("12 13 15 17");
}

/* An owner whose list is the first one's, too. */
static u64 sharer(u64 owner)
{
    u64 other = owner + 1;
    while (owner_list(other) != owner_list(owner))
        other++;
    return other;
}

TEST(fsync_tells_owners_of_one_list_apart)
{
    boot("nbuf=64");
    dirty(5, 1);
    dirty(6, sharer(1));
    check_eq(bflush_owner(disk0(), 1), 0);
    check(!is_dirty(5) && is_dirty(6));
}

TEST(fsync_returns_the_failure_of_a_write_and_the_data_stay_dirty)
{
    boot_dirty("");
    fail_sector(0, 24, true, 1);
    check_eq(bflush_owner(disk0(), 1), (u64)-EIO);
    check_dirty("11 12 13 15 17");
    check_at_rest();
    check_eq(bflush_owner(disk0(), 2), 0);
    check_eq(bflush_owner(disk0(), 1), 0);
    check_dirty("");
}

TEST(bflush_returns_the_failure_of_a_write)
{
    boot_dirty("");
    fail_sector(0, 24, true, 1);
    check_eq(bflush(NULL), (u64)-EIO);
    check_dirty("12");
    check_eq(bflush(disk_get(1)), 0);
    check_eq(bflush(NULL), 0);
    check_dirty("");
}

TEST(a_flush_tries_a_block_that_fails_once)
{
    boot_dirty("");
    fail_sector(0, 24, true, 100);
    check_eq(bflush(NULL), (u64)-EIO);
    check_commands("W0:20+2 W0:22+2 W0:24+2 W0:26+2 W0:28+2 W0:30+2 W0:32+2 "
                   "W0:34+2");
    check_eq(bflush_owner(disk0(), 1), (u64)-EIO);
    check_commands("W0:24+2");
}

TEST(a_flush_waits_for_writes_that_others_started)
{
    boot_dirty("");
    bawrite(getblk(disk0(), 12));
    bawrite(getblk(disk0(), 50));
    check_eq(in_flight(), 2);
    check_eq(bflush_owner(disk0(), 1), 0);
    check_eq(buffer_of(12)->flags & B_WRITE, 0);
    check_dirty("11 13 15 17");
    check_commands("W0:24+2 W0:100+2 W0:20+2 W0:28+2 W0:32+2");
    check_counters("bio.", "misses 9, hits 1, dirtied 8, written 5");
    check_hist("bio.burst", 0, "3", 3);
    end_commands();
}

static int flushed;

static void flush_1(void *arg)
{
    (void)arg;
    flushed = bflush_owner(disk0(), 1);
}

TEST(fsync_does_not_wait_for_writes_of_other_owners)
{
    boot("nbuf=64 cluster_kb=0");
    struct buf *b = getblk(disk0(), 50);
    bdwrite(b, 2);
    bawrite(getblk(disk0(), 50));
    struct task *t = start(9, flush_1, NULL);
    check(has_ended(t));
    check_eq(in_flight(), 1);
    bdwrite(getblk(disk0(), 60), 1);
    bawrite(getblk(disk0(), 60));
    t = start(9, flush_1, NULL);
    check(!has_ended(t));
    end_command(1);
    run_others();
    check(has_ended(t));
    end_commands();
}

/* What is started once the flush waits is not its business. */
TEST(a_flush_ends_although_others_go_on_writing)
{
    boot("nbuf=64 cluster_kb=0");
    dirty(10, 1);
    bawrite(getblk(disk0(), 10));
    struct task *t = start(9, flush_1, NULL);
    check(!has_ended(t));
    dirty(11, 1);
    bawrite(getblk(disk0(), 11));
    end_command(0);
    run_others();
    check(!has_ended(t)); /* it looks again, at what is written now */
    end_commands();
    check(has_ended(t));
}

TEST(a_failed_write_that_another_started_is_tried_by_the_flush)
{
    boot_dirty("");
    fail_sector(0, 24, true, 1);
    bawrite(getblk(disk0(), 12));
    check_eq(bflush_owner(disk0(), 1), 0);
    check_dirty("11 13 15 17");
    check_counters("bio.", "misses 8, hits 1, dirtied 8, written 5, "
                           "write_errors 1");
}

TEST(a_failed_write_that_another_started_is_an_error_if_it_fails_again)
{
    boot_dirty("");
    fail_sector(0, 24, true, 2);
    bawrite(getblk(disk0(), 12));
    check_eq(bflush_owner(disk0(), 1), (u64)-EIO);
    check_eq(bflush_owner(disk0(), 1), 0);
}

static void flush_any(void *disk)
{
    flushed = bflush(disk);
}

static void make_pending(u64 blkno)
{
    struct buf *b = buffer_of(blkno);
    b->flags |= B_PENDING;
    list_remove(&b->dirty);
    list_push_back(&bcache.pending, &b->dirty);
}

/* While the flush waits for the write of block 50, another writes block 12,
 * which the flush wants, as when the scheduler takes up an offer; and that
 * fails. The flush has not started it. */
static void fail_meanwhile(void (*flush)(void *), bool pending)
{
    boot_dirty("");
    bdwrite(getblk(disk0(), 50), 1);
    bawrite(getblk(disk0(), 50));
    struct task *t = start(9, flush, NULL);
    fail_sector(0, 24, true, 1);
    bawrite(getblk(disk0(), 12));
    end_command(1);
    if (pending)
        make_pending(12);
    end_commands();
    check(has_ended(t) && is_dirty(12));
    check_eq(flushed, (u64)-EIO);
}

TEST(fsync_returns_the_failure_of_a_write_that_another_starts_meanwhile)
{
    fail_meanwhile(flush_1, false);
}

TEST(bflush_returns_the_failure_of_a_write_that_another_starts_meanwhile)
{
    fail_meanwhile(flush_any, false);
}

TEST(bflush_returns_the_failure_of_a_write_that_is_due_again)
{
    fail_meanwhile(flush_any, true);
}

/* Another has written block 12, and it is dirty anew, as old by the clock as
 * the flush: no failure. */
TEST(a_write_that_another_has_done_meanwhile_is_no_failure)
{
    boot_dirty("");
    bdwrite(getblk(disk0(), 50), 1);
    bawrite(getblk(disk0(), 50));
    struct task *t = start(9, flush_1, NULL);
    bawrite(getblk(disk0(), 12));
    end_command(1);
    dirty(12, 1);
    end_commands();
    check(has_ended(t) && is_dirty(12));
    check_eq(flushed, 0);
}

TEST(a_flush_waits_for_all_writes_of_others_however_they_end)
{
    boot_dirty("");
    for (u64 i = 0; i < 3; i++)
        bawrite(getblk(disk0(), 10 + 2 * i));
    struct task *t = start(9, flush_1, NULL);
    end_command(1);
    end_command(0);
    run_others();
    check(!has_ended(t));
    end_command(0);
    run_others();
    check_commands("W0:20+2 W0:24+2 W0:28+2 W0:32+2");
    end_commands();
    check(has_ended(t));
}

/* The failed block is another disk's. */
TEST(bflush_returns_no_failure_of_another_disk)
{
    boot_dirty("");
    fail_sector(0, 24, true, 1);
    check_eq(bwrite(getblk(disk0(), 12)), (u64)-EIO);
    check_eq(bflush(disk_get(1)), 0);
    fail_sector(0, 24, true, 1);
    check_eq(bflush(disk0()), (u64)-EIO);
}

TEST(what_becomes_dirty_meanwhile_is_not_the_flushs_business)
{
    boot_dirty("");
    struct task *t = start(9, flush_1, NULL);
    clock_now_ns = 20000;
    dirty(18, 1);
    end_commands();
    check(has_ended(t) && is_dirty(18));
    check_eq(flushed, 0);
    fail_sector(0, 36, true, 1);
    bawrite(getblk(disk0(), 18));
    end_commands();
    check_eq(bflush_owner(disk0(), 1), 0);
}

TEST(a_failure_of_what_became_dirty_later_is_not_the_flushs)
{
    boot("nbuf=64 cluster_kb=0");
    clock_now_ns = 1000;
    dirty(10, 1);
    struct task *t = start(9, flush_1, NULL);
    clock_now_ns = 2000;
    fail_sector(0, 22, true, 1);
    dirty(11, 1);
    bawrite(getblk(disk0(), 11));
    end_command(1);
    end_command(0);
    run_others();
    check(has_ended(t));
    check_eq(flushed, 0);
    check(is_dirty(11));
}

/* ---- buffers that somebody has ---- */

TEST(a_flush_waits_for_a_dirty_buffer_that_somebody_has)
{
    boot_dirty("");
    struct buf *b = getblk(disk0(), 12);
    struct task *t = start(9, flush_1, NULL);
    check_commands("W0:20+2");
    check_eq(stat_of("bio.flush_sleeps"), 1);
    end_command(0);
    check(!has_ended(t));
    brelse(b);
    run_others();
    check_commands("W0:24+2 W0:28+2 W0:32+2");
    end_commands();
    check(has_ended(t));
    check_dirty("11 13 15 17");
    check_counters("bio.",
                   "misses 8, hits 1, dirtied 8, written 4, flush_sleeps 1");
    check_hist("bio.burst", 0, "4", 4);
    check_at_rest();
}

/* The block after it in the list leaves the list while the flush waits. */
TEST(a_flush_goes_on_from_the_beginning_after_it_waited_for_a_buffer)
{
    boot_dirty("");
    struct buf *b = getblk(disk0(), 10);
    struct task *t = start(9, flush_1, NULL);
    bawrite(getblk(disk0(), 12));
    end_command(0);
    brelse(b);
    run_others();
    end_commands();
    check(has_ended(t));
    check_commands("W0:24+2 W0:20+2 W0:28+2 W0:32+2");
    check_dirty("11 13 15 17");
}

TEST(a_flush_does_not_write_what_somebody_has_written_meanwhile)
{
    boot_dirty("");
    struct buf *b = getblk(disk0(), 10);
    struct task *t = start(9, flush_1, NULL);
    bawrite(b);
    run_others();
    end_commands();
    check(has_ended(t));
    check_commands("W0:20+2 W0:24+2 W0:28+2 W0:32+2");
    check_dirty("11 13 15 17");
    check_at_rest();
}

/* Cleaned and dirty again: younger than the flush. */
TEST(a_flush_does_not_write_what_is_dirty_anew)
{
    boot_dirty("");
    struct buf *b = getblk(disk0(), 10);
    struct task *t = start(9, flush_1, NULL);
    bawrite(b);
    end_command(0);
    dirty(10, 1);
    end_commands();
    check(has_ended(t));
    check(is_dirty(10));
    check_at_rest();
}

TEST(a_flush_does_not_write_what_has_another_owner_meanwhile)
{
    boot_dirty("");
    struct buf *b = getblk(disk0(), 10);
    struct task *t = start(9, flush_1, NULL);
    bdwrite(b, 2);
    run_others();
    end_commands();
    check(has_ended(t));
    check_dirty("10 11 13 15 17");
    check_at_rest();
}

/* ---- batches ---- */

static struct request *youngest(struct queue *q, u64 now_ns)
{
    (void)now_ns;
    return LIST_ITEM(q->arrived[1].prev, struct request, by_age);
}

TEST(a_flush_shows_the_scheduler_64_writes_at_a_time)
{
    rig.depth = 1;
    boot("nbuf=256 sched=told cluster_kb=0");
    dirty_all(100, 100);
    told.next = youngest;
    told.quiet = true;
    rig.idle = end_oldest;
    struct task *t = start(9, flush_1, NULL);
    check(has_ended(t));
    forget_all();
    check_eq(bflush(NULL), 0);
    /* The 64th of the first batch goes first; the second batch is there by
     * the time that it is done. */
    char text[8192] = "W0:326+2";
    u64 n = strlen(text);
    for (u64 i = 0; i < 99; i++) {
        u64 blkno = 199 - i - (i >= 36);
        n += sprintf(text + n, " W0:%lu+2", 2 * blkno);
    }
    check_commands(text);
    check_hist("bio.burst", 0, "100", 100);
}

TEST(each_disks_writes_of_a_batch_go_together)
{
    boot("nbuf=64");
    for (u64 i = 0; i < 3; i++)
        dirty(10 + i, 0);
    for (u64 i = 0; i < 3; i++)
        bdwrite(getblk(disk_get(1), 20 + i), 0);
    dirty(13, 0);
    check_eq(bflush(NULL), 0);
    check_commands("W0:20+6=3 W1:40+6=3 W0:26+2");
    check_eq(disk0()->plugged + disk_get(1)->plugged, 0);
}

/* ---- bflush_smooth ---- */

TEST(bflush_smooth_writes_what_is_old_enough_and_waits_for_none)
{
    boot_dirty("");
    check_eq(bflush_smooth(NULL, 7000), 3); /* up to 3000 */
    check_dirty("13 14 15 16 17");
    check_eq(in_flight(), 3);
    check_commands("W0:20+2 W0:22+2 W0:24+2");
    check_counters("bio.", "misses 8, dirtied 8, written 3, scanned 4, due 3");
    check_hist("bio.burst", 0, "3", 3);
    check_eq(bflush_smooth(NULL, 7000), 0);
    check_counters("bio.", "misses 8, dirtied 8, written 3, scanned 5, due 3");
    check_hist("bio.burst", 0, "3", 3);
    end_commands();
    check_at_rest();
}

TEST(bflush_smooth_of_a_disk_passes_the_others_over)
{
    boot_dirty("");
    clock_now_ns = 500;
    bdwrite(getblk(disk_get(1), 9), 0);
    clock_now_ns = 10000;
    check_eq(bflush_smooth(disk_get(1), 0), 1);
    check_commands("W1:18+2");
    check_eq(bflush_smooth(disk0(), 8999), 1);
    check_commands("W0:20+2");
    end_commands();
}

TEST(an_age_beyond_the_beginning_of_time_is_of_nothing)
{
    boot_dirty("");
    check_eq(bflush_smooth(NULL, 10000), 0);
    check_eq(bflush_smooth(NULL, 20000), 0);
    check_eq(bflush_smooth(NULL, 9001), 0);
    check_eq(bflush_smooth(NULL, 9000), 1);
    end_commands();
}

TEST(what_is_dirty_since_the_first_nanosecond_is_not_older_than_that)
{
    clock_now_ns = 1;
    boot("nbuf=64");
    dirty(10, 1);
    check_eq(bflush_smooth(NULL, 5), 0);
    check_eq(bflush_smooth(NULL, 0), 1);
    end_commands();
}

TEST(a_block_whose_write_fails_is_tried_once_a_flush)
{
    boot_dirty("");
    fail_sector(0, 20, true, 100);
    check_eq(bflush_smooth(NULL, 8000), 2);
    end_commands();
    check_dirty("10 12 13 14 15 16 17");
    check_eq(bflush_smooth(NULL, 8000), 1);
    end_commands();
    check_commands("W0:20+2 W0:22+2 W0:20+2");
    check_dirty("10 12 13 14 15 16 17");
}

/* ---- the flush_ calls ---- */

TEST(the_oldest_dirty_block_is_known)
{
    boot("nbuf=64");
    check_eq(oldest_dirty_ns(), NEVER_NS);
    clock_now_ns = 5000;
    dirty(5, 0);
    clock_now_ns = 6000;
    dirty(6, 0);
    check_eq(oldest_dirty_ns(), 5000);
}

/* A look in which `fn` is called; how many writes it started in all. */
static u64 look(u64 (*fn)(void))
{
    bio_look_begins();
    u64 n = fn();
    check_eq(bio_look_ends(), n);
    return n;
}

static u64 older(void)
{
    return flush_older(7000);
}

TEST(flush_older_writes_what_is_so_old)
{
    boot_dirty("");
    check_eq(look(older), 3);
    check_commands("W0:20+2 W0:22+2 W0:24+2");
    check_counters("bio.", "misses 8, dirtied 8, written 3, scanned 4, due 3");
    check_hist("bio.burst", 0, "", 0);
    end_commands();
}

static u64 oldest(void)
{
    return flush_oldest(2);
}

TEST(flush_oldest_writes_so_many)
{
    boot_dirty("");
    check_eq(look(oldest), 2);
    check_commands("W0:20+2 W0:22+2");
    check_counters("bio.", "misses 8, dirtied 8, written 2, scanned 2, due 2");
    end_commands();
}

TEST(flush_all_writes_all)
{
    boot_dirty("");
    bdwrite(getblk(disk_get(1), 9), 0);
    check_eq(look(flush_all), 9);
    check_counters("bio.", "misses 9, dirtied 9, written 9, scanned 9, due 9");
    end_commands();
    check_eq(bio_dirty(), 0);
}

static u64 owners_then_all(void)
{
    u64 n = flush_owner(1);
    check_eq(n, 4);
    check_eq(flush_owner(1), 0);
    check_eq(flush_owner(99), 0);
    return n + flush_all();
}

TEST(flush_owner_writes_one_files_blocks_and_a_look_adds_up)
{
    boot_dirty("");
    check_eq(look(owners_then_all), 8);
    check_commands("W0:20+2 W0:24+2 W0:28+2 W0:32+2 W0:22+2 W0:26+2 W0:30+2 "
                   "W0:34+2");
    check_counters("bio.", "misses 8, dirtied 8, written 8, scanned 8, due 8");
    end_commands();
}

TEST(flush_owner_tells_owners_of_one_list_apart)
{
    boot("nbuf=64");
    dirty(5, 1);
    dirty(6, sharer(1));
    bio_look_begins();
    check_eq(flush_owner(1), 1);
    check_eq(bio_look_ends(), 1);
    check(!is_dirty(5) && is_dirty(6));
    end_commands();
}

/* ---- a policy's lists ---- */

static struct list due;

static void list_due(u64 a, u64 b)
{
    list_init(&due);
    list_push_back(&due, &buffer_of(a)->block.owing);
    list_push_back(&due, &buffer_of(b)->block.owing);
}

static u64 listed(void)
{
    return flush_list(&due);
}

static u64 listed_files(void)
{
    return flush_files(&due);
}

TEST(flush_list_writes_the_blocks_of_the_list_and_no_others_of_their_files)
{
    boot_dirty("");
    list_due(15, 12);
    check_eq(look(listed), 2);
    check_commands("W0:30+2 W0:24+2");
    check_dirty("10 11 13 14 16 17");
    check_counters("bio.", "misses 8, dirtied 8, written 2, scanned 2, due 2");
    end_commands();
}

TEST(flush_files_writes_the_rest_of_their_files_too)
{
    boot_dirty("");
    list_due(14, 12);
    check_eq(look(listed_files), 4);
    check_commands("W0:28+2 W0:20+2 W0:24+2 W0:32+2");
    check_dirty("11 13 15 17");
    /* Two of the list, four of the file: the second's file is due already. */
    check_counters("bio.", "misses 8, dirtied 8, written 4, scanned 6, due 4");
    end_commands();
}

TEST(flush_files_of_a_block_of_no_file_is_of_that_block)
{
    boot("nbuf=64 cluster_kb=0");
    dirty_all(10, 3);
    list_due(10, 12);
    check_eq(look(listed_files), 2);
    check_dirty("11");
    check_counters("bio.", "misses 3, dirtied 3, written 2, scanned 2, due 2");
    end_commands();
}

/* ---- blocks that are shown ---- */

static enum visit answers[64];
static u32 nshown;

static enum visit say(struct block *b, u64 now_ns)
{
    check_eq(now_ns, clock_now_ns);
    note("%lu", b->blkno);
    return answers[nshown++];
}

static u64 by_age(void)
{
    return flush_by_age(say);
}

TEST(flush_by_age_shows_each_dirty_block_oldest_first)
{
    boot_dirty("");
    answers[1] = FLUSH;
    answers[4] = FLUSH;
    check_eq(look(by_age), 2);
    check_notes("10; 11; 12; 13; 14; 15; 16; 17");
    check_commands("W0:22+2 W0:28+2");
    check_counters("bio.", "misses 8, dirtied 8, written 2, scanned 8, due 2");
    end_commands();
}

TEST(flush_by_age_ends_at_stop)
{
    boot_dirty("");
    answers[1] = FLUSH;
    answers[3] = STOP;
    answers[4] = FLUSH;
    check_eq(look(by_age), 1);
    check_notes("10; 11; 12; 13");
    check_dirty("10 12 13 14 15 16 17");
    end_commands();
}

TEST(flush_by_age_ends_at_the_last_that_it_writes)
{
    boot_dirty("");
    answers[0] = FLUSH;
    answers[2] = FLUSH_LAST;
    check_eq(look(by_age), 2);
    check_notes("10; 11; 12");
    check_dirty("11 13 14 15 16 17");
    end_commands();
}

static u64 in_cache(void)
{
    return flush_in_cache(2, 4, say);
}

TEST(flush_in_cache_shows_buffers_clean_or_dirty_in_their_order)
{
    boot_dirty(""); /* block 10 + i has buffer i */
    check_eq(bwrite(getblk(disk0(), 13)), 0);
    forget_all();
    answers[0] = FLUSH;
    answers[1] = FLUSH_LAST; /* of a clean block: no last one */
    answers[2] = PASS;
    answers[3] = FLUSH;
    check_eq(look(in_cache), 2);
    check_notes("12; 13; 14; 15");
    check_dirty("10 11 14 16 17");
    check_counters("bio.", "misses 8, hits 1, dirtied 8, written 3, "
                           "scanned 4, due 2");
    end_commands();
}

static u64 in_end_of_cache(void)
{
    return flush_in_cache(5, 100, say);
}

TEST(flush_in_cache_ends_with_the_buffers_that_were_used_and_at_stop)
{
    boot_dirty("");
    check_eq(look(in_end_of_cache), 0);
    check_notes("15; 16; 17");
    nshown = 0;
    answers[1] = STOP;
    check_eq(look(in_end_of_cache), 0);
    check_notes("15; 16");
}

static u64 all_in_cache(void)
{
    return flush_in_cache(0, NEVER_NS, say);
}

/* Its time is 0 while it is written, and it may be with somebody. */
TEST(a_block_that_is_being_written_is_not_due)
{
    boot_dirty("");
    rig.idle = nothing_ends;
    bawrite(getblk(disk0(), 10));
    for (u32 i = 0; i < 8; i++)
        answers[i] = FLUSH;
    check_eq(look(all_in_cache), 7);
    end_commands();
    check_dirty("");
}

/* Somebody has the buffer of a clean block, and has changed it. */
TEST(a_block_that_becomes_dirty_is_due_when_it_is_let_go)
{
    boot("nbuf=64");
    read_in(10);
    struct buf *b = bread(disk0(), 10);
    b->flags |= B_DELWRI;
    answers[0] = FLUSH;
    check_eq(look(all_in_cache), 0);
    b->flags &= ~B_DELWRI;
    brelse(b);
}

/* ---- looks ---- */

static u64 all_twice(void)
{
    u64 n = flush_all();
    end_commands();
    return n + flush_all();
}

TEST(no_block_is_tried_twice_in_one_look)
{
    boot_dirty("");
    fail_sector(0, 20, true, 100);
    check_eq(look(all_twice), 8);
    check_dirty("10");
    forget("commands");
    check_eq(look(all_twice), 1);
    check_commands("W0:20+2");
    check_eq(look(all_twice), 1);
}

TEST(a_look_begins_to_count_anew)
{
    boot_dirty("");
    check_eq(look(oldest), 2);
    check_eq(look(oldest), 2);
    bio_look_begins();
    check_eq(bio_look_ends(), 0);
    end_commands();
}

/* What was due and could not be written waits on the pending list. */
TEST(what_is_due_already_is_not_found_due_again)
{
    boot_dirty("");
    make_pending(11);
    list_due(11, 13);
    check_eq(look(listed), 1);
    check_commands("W0:22+2 W0:26+2");
    end_commands();
}
