/*
 * Flushes that are waited for, bflush and fsync: which dirty blocks they write,
 * in which order and how many at a time, what they wait for and return.
 *
 * - bflush writes all dirty blocks of a disk, or of all disks (NULL);
 *   bflush_owner, which fsync uses, those of one owner, a file.
 * - boot_dirty makes blocks 10 to 17 dirty, one after the other; the even ones
 *   belong to owner 1, the odd ones to owner 2 (flush.h). check_dirty expects
 *   which of them are dirty. Block 10 is sectors 20 and 21 of disk 0.
 * - dirty(5, 1) makes block 5 dirty for owner 1; bawrite(getblk(..)) starts a
 *   write of a block, as another process would.
 * - start(9, flush_1, NULL) has process 9 flush owner 1's blocks; its result is
 *   in `flushed`. A command ends when the test sleeps, by end_command(i), the
 *   i-th in flight, or by end_commands. fail_sector makes writes fail.
 * - check_commands("W0:20+2") expects the commands since the last check;
 *   check_counters these counters, and 0 of all others with the prefix.
 */
#include "tests/kernel/cache/flush.h"

/* All eight blocks are written, in the order in which they became dirty. A
 * second flush finds nothing to write. */
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

/* bio_burst notes a burst of writes, of a disk or of all; one of no writes is
 * not noted. */
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

/* Block 9 of disk 1 is dirty too. First disk 1 is flushed, then disk 0. */
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

/* The even blocks of disk 0 are written. Block 9 of disk 1 belongs to owner 1
 * of that disk, another file. */
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

/* The four writes of a flush that is waited for are marked so; those of
 * bflush_smooth are not. */
TEST(a_scheduler_is_told_which_writes_somebody_waits_for)
{
    boot_dirty("");
    check_eq(bflush_owner(disk0(), 1), 0);
    u64 written = 0;
    for (struct io *io = bcache.free_ios; io; io = io_next(io), written++)
        check(io->request.waited);
    check_eq(written, 4);
    check_eq(bflush_smooth(disk0(), 0), 4);
    check(!buffer_of(11)->io->request.waited);
    end_commands();
}

TEST(fsync_is_by_the_owner_a_block_has_now)
{
    boot_dirty("");
    dirty(11, 1);
    dirty(12, 2);
    check_eq(bflush_owner(disk0(), 1), 0);
    check_dirty("12 13 15 17");
}

/* Owners are spread over lists; the other owner shares owner 1's list. */
TEST(fsync_tells_owners_of_one_list_apart)
{
    boot("nbuf=64");
    dirty(5, 1);
    dirty(6, sharer(1));
    check_eq(bflush_owner(disk0(), 1), 0);
    check(!is_dirty(5) && is_dirty(6));
}

/* The write of block 12 fails once. The next fsync writes it. */
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

/* The write of block 12 fails once. The flush of disk 1 succeeds, and so does
 * the next of all. */
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

/* Block 12 can never be written. Each flush writes it once, and returns the
 * error. */
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

/* Block 12 of owner 1 is being written already. The flush writes the other
 * three, and waits for all four; the write of block 50 is not its business. */
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

/* As a process: flush owner 1's blocks. */
static void flush_1(void *arg)
{
    (void)arg;
    flushed = bflush_owner(disk0(), 1);
}

/* A write of owner 2 is under way, and the flush of owner 1 returns at once. It
 * waits for a write of owner 1. */
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

/* A flush does not wait for writes that start while it waits. */
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

/* Another process began the write of block 12, which fails. The flush writes
 * the block again, and succeeds. */
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

/* As a process: flush a disk, or all. */
static void flush_any(void *disk)
{
    flushed = bflush(disk);
}

/* While the flush waits for the write of block 50, another process writes block
 * 12, which the flush wants. (A scheduler that takes up a candidate does the
 * same.) The write of block 12, which the flush has not started, fails. */
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

/* flushed is what the flush returned. */
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

/* Three blocks of owner 1 are being written. Their writes end in another order
 * than they began, and the flush waits for the last. */
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

/* The block whose write fails is disk 0's. */
TEST(bflush_returns_no_failure_of_another_disk)
{
    boot_dirty("");
    fail_sector(0, 24, true, 1);
    check_eq(bwrite(getblk(disk0(), 12)), (u64)-EIO);
    check_eq(bflush(disk_get(1)), 0);
    fail_sector(0, 24, true, 1);
    check_eq(bflush(disk0()), (u64)-EIO);
}

/* Block 18 becomes dirty while the flush waits: it stays dirty, and its later
 * failure is not reported. */
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

/* The flush begins when only block 10 is dirty. The write of block 11 fails
 * meanwhile, and the flush succeeds. */
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

/* The flush comes to block 12, which the test holds. It waits for the release,
 * and goes on with 12. */
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
    check_hist("bio.age_flushed", 0, "", 0); /* somebody waits */
    check_at_rest();
}

/* While the flush waits for block 10, which somebody has, block 12, the next
 * one of the list, is written and leaves the list. */
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

/* The flush waits for the buffer of block 10, whose holder starts its write.
 * There is no second write. */
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

/* While the flush waits for block 10, the block is written and becomes dirty
 * again. So it is younger than the flush. */
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

/* The flush waits for the buffer of block 10, whose holder gives it to owner
 * 2. */
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

/* Return the youngest write of the queue. */
static struct request *youngest(struct queue *q, u64 now_ns)
{
    (void)now_ns;
    return LIST_ITEM(q->arrived[1].prev, struct request, by_age);
}

/* The scheduler takes the youngest request. Of blocks 100 to 199 it sees 100 to
 * 163 first, so 163 (sector 326) goes first. By the end of that write the rest
 * is there, and goes from 199 down. */
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
    char text[8192] = "W0:326+2";
    u64 n = strlen(text);
    for (u64 blkno = 199; blkno >= 100; blkno--)
        if (blkno != 163)
            n += sprintf(text + n, " W0:%lu+2", 2 * blkno);
    check_commands(text);
    check_hist("bio.burst", 0, "100", 100);
}

/* Three neighbours of disk 0 become dirty, then three of disk 1, then one more
 * of disk 0. Each disk merges the neighbours it has in a row. */
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
