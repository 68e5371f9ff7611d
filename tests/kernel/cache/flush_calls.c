/*
 * Flushes for which no process waits: bflush_smooth, and the flush_ calls of
 * policies. The tests check which buffers they look at, which writes they
 * start, and what they count.
 *
 * - boot_dirty makes blocks 10 to 17 dirty since 1000 to 8000 ns, and the time
 *   is 10000; even ones belong to file 1, odd ones to file 2 (flush.h). Block
 *   10 is sectors 20 and 21. check_dirty expects which of them are dirty.
 * - An update policy calls flush_ functions in its scan, between scan_begins
 *   and scan_ends. look(fn) makes a scan that calls fn, and returns how many
 *   writes it started. Each function below is what a scan calls in one test.
 * - check_counters("bio.", ...): scanned are the blocks that a flush looked at,
 *   due those that it chose to write. check_hist("bio.burst", ...) has how many
 *   writes each burst had. check_commands expects the disk's commands.
 */
#include "kernel/cache/lost.h"
#include "tests/kernel/cache/flush.h"

/* ---- bflush_smooth ---- */

/* At 10000 ns, what is 7000 ns old is dirty since 3000 or earlier: three
 * blocks. A fourth is looked at. */
TEST(bflush_smooth_writes_what_is_old_enough_and_waits_for_none)
{
    boot_dirty("");
    check_eq(bflush_smooth(NULL, 7000), 3);
    check_dirty("13 14 15 16 17");
    check_eq(in_flight(), 3);
    check_commands("W0:20+2 W0:22+2 W0:24+2");
    check_counters("bio.", "misses 8, dirtied 8, written 3, scanned 4, due 3");
    check_hist("bio.burst", 0, "3", 3);
    check_hist("bio.age_flushed", 0, "6976 8000 8960", 24000);
    check_eq(bflush_smooth(NULL, 7000), 0);
    check_counters("bio.", "misses 8, dirtied 8, written 3, scanned 5, due 3");
    check_hist("bio.burst", 0, "3", 3);
    end_commands();
    check_at_rest();
}

/* Block 9 of disk 1 is the oldest. The flush of disk 1 writes it alone, and
 * that of disk 0 only block 10. */
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

/* Block 10 is 9000 ns old at 10000 ns; no block is older than that. */
TEST(an_age_beyond_the_beginning_of_time_is_of_nothing)
{
    boot_dirty("");
    check_eq(bflush_smooth(NULL, 10000), 0);
    check_eq(bflush_smooth(NULL, 20000), 0);
    check_eq(bflush_smooth(NULL, 9001), 0);
    check_eq(bflush_smooth(NULL, 9000), 1);
    end_commands();
}

/* At 1 ns a block cannot be dirty for 5 ns. */
TEST(what_is_dirty_since_the_first_nanosecond_is_not_older_than_that)
{
    clock_now_ns = 1;
    boot("nbuf=64");
    dirty(10, 1);
    check_eq(bflush_smooth(NULL, 5), 0);
    check_eq(bflush_smooth(NULL, 0), 1);
    end_commands();
}

/* Block 10 fails and stays dirty. A flush tries it again after a pause of
 * RETRY_NS. */
TEST(a_block_whose_write_fails_is_tried_once_a_flush)
{
    boot_dirty("");
    fail_sector(0, 20, true, 100);
    check_eq(bflush_smooth(NULL, 8000), 2);
    end_commands();
    check_dirty("10 12 13 14 15 16 17");
    clock_now_ns += RETRY_NS;
    check_eq(bflush_smooth(NULL, RETRY_NS + 8000), 1);
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

/* Make a scan in which `fn` is called. Return how many writes it started. */
static u64 look(u64 (*fn)(void))
{
    scan_begins();
    u64 n = fn();
    check_eq(scan_ends(), n);
    return n;
}

/* Flush what has been dirty for 7000 ns. */
static u64 older(void)
{
    return flush_older(7000);
}

/* Blocks 10 to 12 are old enough. Block 13 is looked at, and ends the flush. */
TEST(flush_older_writes_what_is_so_old)
{
    boot_dirty("");
    check_eq(look(older), 3);
    check_commands("W0:20+2 W0:22+2 W0:24+2");
    check_counters("bio.", "misses 8, dirtied 8, written 3, scanned 4, due 3");
    check_hist("bio.burst", 0, "", 0);
    end_commands();
}

/* The write policy allows writes while the queue is shorter than this. */
static u64 queue_most;

/* Decide as a write policy: write now while fewer than queue_most requests are
 * queued, else hold back. */
static enum write_mode decide_by_queue(const struct write_info *w)
{
    note("%lu%s at %lu", w->blkno, w->filled ? "" : " in part", w->queued);
    check(!w->program);
    return w->queued < queue_most ? WRITE_ASYNC : WRITE_HELD_BACK;
}

/* Boot with a write policy that holds back what would make the queue longer
 * than `most`. */
static void boot_holding_back(u64 most)
{
    queue_most = most;
    told_write.write.decide = decide_by_queue;
    told_write.write.every_origin = true;
    boot_dirty("write=told");
    forget("notes");
}

/* Three blocks are due, and the policy lets two go. It is not asked about the
 * third again, until bflush writes all. */
TEST(a_write_policy_can_hold_back_what_is_due)
{
    boot_holding_back(2);
    check_eq(look(older), 2);
    check_notes("10 at 0; 11 at 1; 12 at 2");
    check_commands("W0:20+2 W0:22+2");
    check(is_dirty(12) && buffer_of(12)->block.held_back);
    check_eq(bcache.nheld_back, 1);
    check_eq(bcache.npending[0], 0);
    end_commands();
    forget("notes");
    check_eq(look(older), 0); /* it is not asked about the block again */
    check_notes("");
    check_eq(bflush_smooth(NULL, 6000), 1); /* nor by a program */
    check_notes("13 at 0");
    end_commands();
    check_eq(bflush(NULL), 0);
    check_eq(bcache.nheld_back, 0);
}

TEST(a_write_policy_that_asks_for_it_alone_holds_back_what_is_due)
{
    boot_holding_back(0);
    told_write.write.every_origin = false;
    check_eq(look(older), 3);
    check_notes("");
    end_commands();
}

/* Release all that is held back, as a write policy does each second. */
static void release_all(u64 now_ns)
{
    (void)now_ns;
    flush_all();
}

/* The policy holds back all eight blocks, and releases them in its call
 * each_second. */
TEST(a_write_policy_releases_what_it_holds_back)
{
    boot_holding_back(0);
    told_write.write.each_second = release_all;
    check_eq(look(flush_all), 0);
    check_eq(bcache.nheld_back, 8);
    forget("notes");
    scan_begins();
    write_second(clock_now_ns);
    check_eq(scan_ends(), 8);
    check_notes("");
    check_eq(bcache.nheld_back, 0);
    end_commands();
}

/* Flush the two oldest. */
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

/* ---- a policy's lists ---- */

static struct list due;

/* List two blocks as due, as an update policy does. */
static void list_due(u64 a, u64 b)
{
    list_init(&due);
    list_push_back(&due, &buffer_of(a)->block.owing);
    list_push_back(&due, &buffer_of(b)->block.owing);
}

/* Flush the files of the listed blocks. */
static u64 listed_files(void)
{
    return flush_files(&due);
}

/* Flush the listed files twice, of which the second finds nothing, and then
 * all. */
static u64 files_then_all(void)
{
    list_due(14, 10);
    u64 n = flush_files(&due);
    check_eq(n, 4);
    check_eq(flush_files(&due), 0);
    return n + flush_all();
}

TEST(flush_files_writes_one_files_blocks_and_a_scan_adds_up)
{
    boot_dirty("");
    check_eq(look(files_then_all), 8);
    check_counters("bio.", "misses 8, dirtied 8, written 8, scanned 12, due 8");
    end_commands();
}

/* Owner 1 and sharer(1) share a list of dirty blocks. A flush of owner 1's file
 * leaves the other's block dirty. */
TEST(flush_files_tells_owners_of_one_list_apart)
{
    boot("nbuf=64");
    dirty(5, 1);
    dirty(6, sharer(1));
    scan_begins();
    list_init(&due);
    list_push_back(&due, &buffer_of(5)->block.owing);
    check_eq(flush_files(&due), 1);
    check_eq(scan_ends(), 1);
    check(!is_dirty(5) && is_dirty(6));
    end_commands();
}

/* Blocks 14 and 12, both of file 1, are named. 14 is written first, then the
 * other blocks of its file, 12 among them. */
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

/* Blocks 10 and 12 are due. They belong to no file, so block 11 is not written
 * with them. */
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

/* ---- flush_by_age and flush_in_cache, which show blocks to the policy ---- */

static enum visit answers[64];
static u32 nshown;

/* Note the block that is shown, and return the answer that the test has set for
 * it. */
static enum visit answer(struct block *b, u64 now_ns)
{
    check_eq(now_ns, clock_now_ns);
    note("%lu", b->blkno);
    return answers[nshown++];
}

/* Show all dirty blocks by age. */
static u64 by_age(void)
{
    return flush_by_age(answer);
}

/* The policy answers FLUSH for the second and the fifth block, and is shown all
 * eight. */
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

/* FLUSH for the second block, STOP for the fourth: those behind are not
 * shown. */
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

/* FLUSH_LAST for the third block: it is written, and no other is shown. */
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

/* Show the buffers 2 to 5 of the cache. */
static u64 in_cache(void)
{
    return flush_in_cache(2, 4, answer);
}

/* Shows buffers 2 to 5, which hold blocks 12 to 15. FLUSH_LAST for the clean
 * block 13 does not end it. */
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

/* Show buffer 5 and all behind it. */
static u64 in_end_of_cache(void)
{
    return flush_in_cache(5, 100, answer);
}

/* The walk begins at the sixth of eight buffers, so it shows three; with STOP
 * for the second only two. */
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

/* Show all buffers. */
static u64 all_in_cache(void)
{
    return flush_in_cache(0, UNLIMITED, answer);
}

/* While it is written its time of becoming dirty is 0. */
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

/* ---- scans ---- */

/* Flush all, end the writes, and flush all again in the same scan. */
static u64 all_twice(void)
{
    u64 n = flush_all();
    end_commands();
    return n + flush_all();
}

/* The scan flushes all, twice. The write of block 10 fails and is not tried
 * again in this scan, nor before its pause ends. */
TEST(no_block_is_tried_twice_in_one_scan)
{
    boot_dirty("");
    fail_sector(0, 20, true, 100);
    check_eq(look(all_twice), 8);
    check_dirty("10");
    forget("commands");
    check_eq(look(all_twice), 0); /* its pause has not ended */
    clock_now_ns += RETRY_NS;
    check_eq(look(all_twice), 1);
    check_commands("W0:20+2");
}

TEST(a_scan_begins_to_count_anew)
{
    boot_dirty("");
    check_eq(look(oldest), 2);
    check_eq(look(oldest), 2);
    scan_begins();
    check_eq(scan_ends(), 0);
    end_commands();
}

/* A due block that could not be written waits on the pending list. */
TEST(what_is_due_already_is_not_found_due_again)
{
    boot_dirty("");
    make_pending(11);
    list_due(11, 13);
    check_eq(look(listed_files), 3);
    check_commands("W0:22+2 W0:26+2 W0:30+2 W0:34+2");
    end_commands();
}
