/*
 * The buffer cache, reading: hits and misses, who has a buffer, what is
 * prefetched, and the state that policies see.
 *
 * - boot("nbuf=64") starts the kernel's cache on the host with these boot
 *   arguments (rig.h). A block has 1,024 bytes, two sectors, so block 5 is
 *   sectors 10 and 11. The test is process 7.
 * - read_in(5) reads block 5 of disk 0 and releases it; fill(5, 2) reads
 *   blocks 5 and 6; dirty(5, 1) makes block 5 dirty for file 1 (blocks.h).
 * - check_commands("R0:10+4=2") expects what the disks got since the last
 *   check: a read of disk 0, 4 sectors from 10 on, of 2 requests. A command
 *   ends when the test sleeps, or by end_commands; with rig.idle =
 *   nothing_ends only by the latter.
 * - check_counters("bio.", "hits 1") expects these counters, and 0 of all
 *   others with that prefix. check_trace expects events: name, disk, block or
 *   sector, process, argument. check_notes expects what processes noted, and
 *   what the policy `told` notes of each call (told.h).
 * - found_on says what became of a block: MISSING, COMING (it is being read)
 *   or CACHED. check_at_rest expects that no buffer is held or in transfer.
 */
#include "tests/support/native/blocks.h"

/* ---- reading ---- */

/* The first read is a command of the disk, with the data in the buffer; the
 * second one is a hit. */
TEST(a_block_is_read_once)
{
    boot("");
    on_device(0, 10)[3] = 33;
    on_device(0, 11)[511] = 44;
    struct buf *b = bread(disk0(), 5);
    check_eq(((u8 *)b->data)[3], 33);
    check_eq(((u8 *)b->data)[1023], 44);
    check(b->io->request.waited);
    check_eq(b->io->request.pid, TEST_PID);
    check_eq(bio_busy(), 1);
    brelse(b);
    read_in(5);
    check_commands("R0:10+2");
    check_trace("miss disk0 5 7 0; queued disk0 10 7 2; issued disk0 10 7 2; "
                "completed disk0 10 7 0; hit disk0 5 7 0");
    check_counters("bio.", "hits 1, misses 1");
    check_eq(stat_of("biowait.sleeps"), 1);
    check_at_rest();
}

/* Block 5 of disk 0 and block 5 of disk 1 have two buffers, which later reads
 * find again. */
TEST(a_block_has_one_buffer_and_each_disk_its_own_blocks)
{
    boot("");
    struct buf *b = bread(disk0(), 5), *other = bread(disk_get(1), 5);
    check(b != other && b->disk == disk0() && other->disk == disk_get(1));
    brelse(b);
    brelse(other);
    check(bread(disk0(), 5) == b);
    check(bread(disk_get(1), 5) == other);
    check_commands("R0:10+2 R1:10+2");
}

/* The disk has 4,096 sectors, so block 2047 is the last. Further blocks give no
 * buffer, no command and no count. */
TEST(a_block_off_the_disk_is_not_read)
{
    boot("");
    struct buf *last = bread(disk0(), 2047);
    check(last);
    brelse(last);
    check(!bread(disk0(), 2048));
    check(!breada(disk0(), 2048, NONE_FURTHER));
    bprefetch(disk0(), &(u64){2048}, 1);
    check_commands("R0:4094+2");
    check_counters("bio.", "misses 1");
}

/* Take the buffer of a block behind the last one, 2047. */
static void get_off_disk(void)
{
    getblk(disk0(), 2048);
}

TEST(to_get_a_block_off_the_disk_is_a_mistake)
{
    boot("");
    check_panics(get_off_disk, "get: assertion failed");
}

/* The first read of block 5 fails, and leaves nothing in the cache. The second
 * read succeeds. */
TEST(a_failed_read_is_an_error_and_is_tried_again)
{
    boot("");
    fail_sector(0, 11, false, 1);
    check(!bread(disk0(), 5));
    check_at_rest();
    check_eq(found_on(disk0(), 5), MISSING);
    struct buf *b = bread(disk0(), 5);
    check(b && b->flags & B_VALID && !(b->flags & B_ERROR));
    brelse(b);
    check_commands("R0:10+2 R0:10+2");
}

/* getblk gives a buffer without its data, and without a command. A release
 * without a write leaves nothing in the cache. */
TEST(a_block_to_be_overwritten_is_not_read)
{
    boot("");
    struct buf *b = getblk(disk0(), 5);
    check(!(b->flags & B_VALID));
    brelse(b);
    check_commands("");
    check_eq(found_on(disk0(), 5), MISSING);
    check_counters("bio.", "misses 1");
}

/* Block 6 was used after block 5, so its number is higher, until block 5 is
 * read again. */
TEST(each_use_has_a_higher_number)
{
    boot("");
    fill(5, 2);
    u64 used = buffer_of(6)->block.used;
    check(used > buffer_of(5)->block.used);
    read_in(5);
    check_eq(buffer_of(5)->block.used, used + 1);
}

/* A prefetched block is COMING until its command ends. A write under way leaves
 * its block CACHED. */
TEST(a_block_is_missing_then_coming_then_cached)
{
    boot("");
    rig.idle = nothing_ends;
    check_eq(found_on(disk0(), 5), MISSING);
    bprefetch(disk0(), &(u64){5}, 1);
    check_eq(found_on(disk0(), 5), COMING);
    end_commands();
    check_eq(found_on(disk0(), 5), CACHED);
    check_eq(found_on(disk_get(1), 5), MISSING);
    struct buf *b = getblk(disk0(), 5);
    bawrite(b);
    check_eq(found_on(disk0(), 5), CACHED);
    end_commands();
}

/* ---- who has a buffer ---- */

/* As a process: read a block, note it, and release it. */
static void read_and_note(void *blkno)
{
    struct buf *b = bread(disk0(), *(u64 *)blkno);
    note("%u has %lu", myproc()->pid, *(u64 *)blkno);
    brelse(b);
}

/* Processes 11 and 12 wait for the buffer of block 5, in this order. The
 * release gives it to 11 at once, before 11 has run. */
TEST(who_waited_longest_for_a_buffer_has_it_next)
{
    u64 five = 5;
    boot("nbuf=64");
    struct buf *b = bread(disk0(), 5);
    struct task *first = start(11, read_and_note, &five);
    start(12, read_and_note, &five);
    check_notes("");
    check_counters("bio.", "misses 1");
    brelse(b);
    check_eq(bio_busy(), 1);
    check(!has_ended(first));
    run_others();
    check_notes("11 has 5; 12 has 5");
    check_counters("bio.", "misses 1, hits 2");
    check_at_rest();
}

/* Take five buffers, one more than a process may have. */
static void have_five(void)
{
    for (u64 i = 0; i < 5; i++)
        bread(disk0(), i);
}

/* Release a buffer twice. */
static void let_go_of_none(void)
{
    struct buf *b = bread(disk0(), 1);
    brelse(b);
    brelse(b);
}

/* A fifth buffer is a panic, and so is a release of a buffer that nobody
 * holds. */
TEST(a_process_holds_four_buffers_at_most)
{
    boot("");
    check_panics(have_five, "hold_at_once: assertion failed");
    check_panics(let_go_of_none, "buf_let_go: assertion failed");
    struct buf *b[4];
    for (u64 i = 0; i < 4; i++)
        b[i] = bread(disk0(), i);
    check_eq(bio_busy(), 4);
    check_eq(bcache.holders, 1);
    for (u64 i = 0; i < 4; i++)
        brelse(b[i]);
    check_at_rest();
}

/* Release the buffer that another process has. */
static void let_go_of_anothers(void)
{
    brelse(buffer_of(5));
}

/* As a process: read a block and keep its buffer. */
static void hold_for_good(void *blkno)
{
    bread(disk0(), *(u64 *)blkno);
}

/* Process 30 holds the only buffer. That another process releases it stops the
 * kernel. */
TEST(a_process_lets_go_only_of_as_many_buffers_as_it_holds)
{
    u64 five = 5;
    boot("");
    read_in(5);
    start(30, hold_for_good, &five);
    check_eq(bio_busy(), 1);
    check_panics(let_go_of_anothers, "unhold: assertion failed");
}

static struct buf *held;
static struct io *ended;

static void write_again(void)
{
    bwrite(held);
}

static void let_go_in_transfer(void)
{
    brelse(held);
}

static void end_anew(void)
{
    biodone(ended, 0);
}

/* While a write is under way its buffer can be neither written nor released;
 * the end of the write may be reported once. */
TEST(a_buffer_in_transfer_is_not_transferred_or_let_go_and_ends_once)
{
    boot("");
    rig.idle = nothing_ends;
    held = getblk(disk0(), 5);
    bawrite(held);
    ended = held->io;
    check_panics(write_again, "prepare: assertion failed");
    check_panics(let_go_in_transfer, "buf_let_go: assertion failed");
    end_commands();
    check_panics(end_anew, "biodone: assertion failed");
    check_panics(let_go_in_transfer, "buf_let_go: assertion failed");
}

static u64 may_let_go;

/* As a process: take a block's buffer, and keep it until may_let_go is set. */
static void hold_until_told(void *blkno)
{
    static struct spinlock lock;
    struct buf *b = bread(disk0(), *(u64 *)blkno);
    note("%u holds", myproc()->pid);
    lock = SPINLOCK("test", RANK_PIPE);
    while (!may_let_go) {
        spin_lock(&lock);
        sleep_on(&may_let_go, &lock);
        spin_unlock(&lock);
    }
    brelse(b);
}

/* Let the processes run until they sleep, end the commands, and let them run
 * again. */
static void until_reads_end(void)
{
    run_others();
    end_commands();
}

/* A process may need four buffers at a time. If more processes held buffers
 * than four of each fit the cache, all could wait for one more. Of 16 buffers,
 * four processes may hold some. */
TEST(processes_hold_buffers_while_four_of_each_fit_the_cache)
{
    u64 blocks[6] = {0, 1, 2, 3, 4, 5};
    boot("nbuf=16");
    for (u32 i = 0; i < 6; i++)
        start(20 + i, hold_until_told, &blocks[i]);
    until_reads_end();
    check_notes("20 holds; 21 holds; 22 holds; 23 holds");
    check_eq(bcache.holders, 4);
    may_let_go = 1;
    wakeup(&may_let_go);
    until_reads_end();
    check_notes("24 holds; 25 holds");
    check_at_rest();
}

/* ---- prefetching ---- */

/* Prefetch n blocks from `first` on. */
static void prefetch(u64 first, u32 n)
{
    u64 blocks[64];
    for (u32 i = 0; i < n; i++)
        blocks[i] = first + i;
    bprefetch(disk0(), blocks, n);
}

/* Three blocks become one command, and their buffers belong to no process. The
 * later read of one is a hit. */
TEST(blocks_are_prefetched_together_and_nobody_waits)
{
    boot("nbuf=64");
    prefetch(5, 3);
    check_eq(myproc()->buffers_held, 0);
    check_eq(in_flight(), 1);
    check(!buffer_of(5)->io->request.waited);
    check_commands("R0:10+6=3");
    end_commands();
    check_eq(bio_busy(), 0);
    check_eq(stat_of("bio.ahead_unused"), 3);
    forget("trace");
    read_in(6);
    check_commands("");
    check_eq(stat_of("bio.ahead_unused"), 2);
    check_counters("bio.", "hits 1, ahead 3, ahead_used 1");
}

/* Block 5 is coming, then cached: a prefetch of 5 and 6 starts a read of 6
 * only, and the next one none. */
TEST(what_is_cached_or_coming_is_not_prefetched)
{
    boot("nbuf=64");
    rig.idle = nothing_ends;
    prefetch(5, 1);
    prefetch(5, 2);
    end_commands();
    prefetch(5, 2);
    check_commands("R0:10+2 R0:12+2");
    check_counters("bio.", "ahead 2");
    check_trace("ahead disk0 5 7 0; queued disk0 10 7 2; issued disk0 10 7 2; "
                "ahead disk0 6 7 0; queued disk0 12 7 2; issued disk0 12 7 2; "
                "completed disk0 10 7 0; completed disk0 12 7 0");
}

/* The read finds the block COMING: a hit, whose block was used and late. It
 * starts no second command. */
TEST(a_prefetched_block_is_late_if_it_is_still_coming)
{
    boot("nbuf=64");
    prefetch(5, 1);
    read_in(5);
    check_counters("bio.", "hits 1, ahead 1, ahead_used 1, ahead_late 1");
    check_commands("R0:10+2");
}

/* Of two prefetched blocks, one is taken to be overwritten and the other
 * dropped. Neither was used. */
TEST(a_prefetched_block_that_is_overwritten_or_dropped_was_wasted)
{
    boot("nbuf=64");
    prefetch(5, 2);
    end_commands();
    brelse(getblk(disk0(), 5));
    binval(disk0(), 6);
    check_counters("bio.", "hits 1, ahead 2, ahead_wasted 2");
    check_eq(stat_of("bio.ahead_unused"), 0);
}

TEST(a_prefetched_block_that_is_read_twice_counts_as_used_once)
{
    boot("nbuf=64");
    prefetch(5, 1);
    end_commands();
    read_in(5);
    read_in(5);
    check_counters("bio.", "hits 2, ahead 1, ahead_used 1");
}

TEST(a_prefetched_block_that_is_evicted_unread_was_wasted)
{
    boot("nbuf=16");
    prefetch(5, 1);
    end_commands();
    fill(100, 16);
    check_counters("bio.", "misses 16, evictions 1, ahead 1, ahead_wasted 1");
}

/* Of 64 buffers 16 may hold prefetched blocks that are not used yet. A use
 * makes room for one. */
TEST(what_was_not_asked_for_fills_a_quarter_of_the_cache_at_most)
{
    boot("nbuf=64");
    check_eq(bio_ahead_most(), 16);
    prefetch(5, 20);
    end_commands();
    check_eq(stat_of("bio.ahead_unused"), 16);
    check_counters("bio.", "ahead 16");
    read_in(5);
    prefetch(40, 2);
    end_commands();
    check_counters("bio.", "hits 1, ahead 17, ahead_used 1");
}

TEST(the_share_of_prefetched_blocks_is_a_quarter_unless_it_is_said)
{
    boot("nbuf=400");
    check_eq(bio_ahead_most(), 100);
}

TEST(the_share_of_prefetched_blocks_can_be_said)
{
    boot("nbuf=64 prefetch_percent=50");
    check_eq(bio_ahead_most(), 32);
}

static void boot_all_ahead(void)
{
    boot("prefetch_percent=101");
}

TEST(the_share_of_prefetched_blocks_has_a_range)
{
    check_panics(boot_all_ahead, "from 0 to 100");
    boot("nbuf=64 prefetch_percent=0");
    prefetch(5, 1);
    check_commands("");
    check_counters("bio.", "");
}

/* The share of prefetched blocks is one buffer. It is free for another block
 * when the block in it has been stale since exactly 10 s. */
TEST(what_nobody_asked_for_in_10_s_gives_way_to_other_prefetched_blocks)
{
    boot("nbuf=64 prefetch_percent=3");
    prefetch(5, 1);
    end_commands();
    u64 began_ns = clock_now_ns;
    clock_now_ns = began_ns + AHEAD_STALE_NS - 1;
    prefetch(6, 1);
    check(buffer_of(5) && !buffer_of(6));
    clock_now_ns++;
    rig.idle = nothing_ends;
    forget("trace");
    prefetch(6, 1);
    check(!buffer_of(5) && buffer_of(6));
    check_trace("evicted disk0 5 7 1; ahead disk0 6 7 0; "
                "queued disk0 12 7 2; issued disk0 12 7 2");
    check_eq(found_on(disk0(), 6), COMING);
    /* A block that is still being read does not give way. */
    clock_now_ns += AHEAD_STALE_NS;
    prefetch(7, 1);
    check(!buffer_of(7));
    end_commands();
    check_counters("bio.", "ahead 2, ahead_wasted 1, evictions 1");
    check_eq(stat_of("bio.ahead_unused"), 1);
}

/* A block whose contents were dropped still has its buffer. */
TEST(a_dropped_block_is_prefetched_into_its_buffer)
{
    boot("nbuf=64 prefetch_percent=3");
    read_in(5);
    binval(disk0(), 5);
    forget("commands");
    prefetch(5, 1);
    end_commands();
    check_commands("R0:10+2");
    check_eq(found_on(disk0(), 5), CACHED);
    check_eq(bio_busy(), 0);
    binval(disk0(), 5);
    prefetch(6, 1);
    prefetch(5, 1);
    check_commands("R0:12+2");
    end_commands();
    check_counters("bio.", "misses 1, ahead 2, ahead_wasted 1");
}

/* While the buffer is held the prefetch does nothing; after the release it
 * reads. */
TEST(a_dropped_block_is_not_prefetched_while_somebody_has_its_buffer)
{
    boot("nbuf=64");
    struct buf *b = getblk(disk0(), 5);
    prefetch(5, 1);
    check_commands("");
    brelse(b);
    prefetch(5, 1);
    check_commands("R0:10+2");
    end_commands();
}

/* As a process: take a block's buffer to overwrite it, and keep it. */
static void overwrite_and_hold(void *blkno)
{
    struct buf *b = getblk(disk0(), *(u64 *)blkno);
    (void)b;
}

/* All 16 buffers are in transfer, and a process waits for one. A buffer that
 * becomes free is for that process; only afterwards a prefetch gets one. */
TEST(nothing_is_prefetched_while_somebody_waits_for_a_buffer)
{
    boot("nbuf=16");
    rig.idle = nothing_ends;
    for (u64 i = 0; i < 16; i++)
        bawrite(getblk(disk0(), 100 + i));
    u64 more = 500;
    struct task *t = start(30, overwrite_and_hold, &more);
    check(!has_ended(t));
    check_eq(bcache.waiting, 1);
    prefetch(600, 1);
    check(!buffer_of(600));
    end_command(0);
    prefetch(600, 1);
    check(!buffer_of(600));
    run_others();
    check(has_ended(t) && buffer_of(500));
    check_eq(bcache.waiting, 0);
    end_commands();
    prefetch(600, 1);
    check(buffer_of(600));
    end_commands();
    check_eq(stat_of("bio.no_clean"), 1);
}

TEST(nothing_dirty_is_written_for_what_is_prefetched)
{
    boot("nbuf=16");
    dirty_all(100, 16);
    prefetch(5, 1);
    check_commands("");
    check_counters("bio.", "misses 16, dirtied 16");
}

/* ---- further reads: what else a call asks for, and what is read ahead ---- */

/* A call wants blocks 5, 6 and 7, and the policy reads block 8 ahead. One
 * command reads all four. Blocks 6 and 7 are misses; only block 8 counts as
 * prefetched. */
TEST(what_the_same_call_asks_for_is_read_beside_and_is_not_prefetched)
{
    static const u64 asked[] = {6, 7}, ahead[] = {8};
    static const struct further_reads further = {asked, ahead, 2, 1};
    boot("nbuf=64");
    struct buf *b = breada(disk0(), 5, &further);
    check_commands("R0:10+8=4");
    check(b->io->request.waited);
    brelse(b);
    end_commands();
    check_counters("bio.", "misses 3, ahead 1");
    read_in(6);
    read_in(8);
    check_counters("bio.", "misses 3, hits 1, ahead 1, ahead_used 1");
    check_commands("");
    check_trace("miss disk0 5 7 0; queued disk0 10 7 2; ahead disk0 6 7 1; "
                "queued disk0 12 7 2; ahead disk0 7 7 1; queued disk0 14 7 2; "
                "ahead disk0 8 7 0; queued disk0 16 7 2; issued disk0 10 7 8; "
                "completed disk0 10 7 0; completed disk0 12 7 0; "
                "completed disk0 14 7 0; completed disk0 16 7 0; "
                "hit disk0 6 7 0; hit disk0 8 7 0");
    check_at_rest();
}

/* Policies see block.first: the block is used for the first time since it was
 * read with another one. Block 5 itself was used by the call. */
TEST(the_first_use_of_what_was_read_ahead_of_it_is_told_to_policies)
{
    static const u64 asked[] = {6}, ahead[] = {7};
    boot("nbuf=64");
    brelse(breada(disk0(), 5, &(struct further_reads){asked, ahead, 1, 1}));
    end_commands();
    for (u64 blkno = 5; blkno <= 7; blkno++) {
        check(!buffer_of(blkno)->block.first);
        read_in(blkno);
        check_eq(buffer_of(blkno)->block.first, blkno != 5);
        read_in(blkno);
        check(!buffer_of(blkno)->block.first);
    }
    check_counters("bio.", "misses 2, hits 5, ahead 1, ahead_used 1");
}

/* Block 5 is cached, so a read of it returns at once; 6, asked for beside it,
 * and 7, to be prefetched, are started. */
TEST(further_reads_of_a_cached_block_are_started_and_not_waited_for)
{
    static const u64 asked[] = {6}, ahead[] = {7};
    static const struct further_reads one = {asked, ahead, 1, 0},
                                      other = {asked, ahead, 0, 1};
    boot("nbuf=64");
    read_in(5);
    rig.idle = nothing_ends;
    brelse(breada(disk0(), 5, &one));
    brelse(breada(disk0(), 5, &other));
    check_commands("R0:10+2 R0:12+2 R0:14+2");
    brelse(breada(disk0(), 5, NONE_FURTHER));
    end_commands();
    check_at_rest();
}

/* Without further blocks bstart does nothing. Given one that was asked for and
 * one ahead, it starts both in one command. */
TEST(further_reads_can_be_started_without_a_first_block)
{
    static const u64 asked[] = {6}, ahead[] = {7};
    boot("nbuf=64");
    bstart(disk0(), NONE_FURTHER);
    check_commands("");
    bstart(disk0(), &(struct further_reads){asked, ahead, 1, 1});
    check_commands("R0:12+4=2");
    end_commands();
    check_counters("bio.", "misses 1, ahead 1");
    check_at_rest();
}

/* ---- bcached: a cached block without a wait ---- */

/* Take a block's buffer if that needs no wait, and check what became of the
 * block. Return the buffer, or NULL. */
static struct buf *cached(u64 blkno, enum found want)
{
    enum found found;
    struct buf *b = bcached(disk0(), blkno, &found);
    check_eq(found, want);
    return b;
}

static u64 locks;

static void count_a_lock(void)
{
    locks++;
}

/* The lock is taken once to find the block, and once more to release it. */
TEST(a_cached_block_costs_the_caches_lock_once)
{
    boot("nbuf=64 update=told");
    policy_own(POLICY_UPDATE, (struct policy_owner){.swap = update_switch});
    read_in(5);
    forget_all();
    rig.unlocked = count_a_lock;
    struct buf *b = cached(5, CACHED);
    check_eq(locks, 1);
    check(b == buffer_of(5) && b->flags & B_BUSY && b->flags & B_VALID);
    brelse(b);
    check_eq(locks, 2);
    check_notes("wanted 5 hit");
    check_trace("hit disk0 5 7 0");
    check_counters("bio.", "misses 1, hits 1");
    check_at_rest();
}

/* cached() takes a block's buffer only if the block is CACHED and free. Else it
 * counts, traces and notes nothing. */
TEST(of_what_is_not_cached_or_in_use_nothing_is_counted_or_waited_for)
{
    boot("nbuf=64 update=told");
    policy_own(POLICY_UPDATE, (struct policy_owner){.swap = update_switch});
    rig.idle = nothing_ends;
    check(!cached(5, MISSING));
    prefetch(5, 1);
    check(!cached(5, COMING));
    end_commands();
    bawrite(getblk(disk0(), 6));
    forget_all();
    check(!cached(6, CACHED));
    check_notes("");
    check_trace("");
    check_counters("bio.", "misses 1, ahead 1, written 1");
    check_eq(myproc()->buffers_held, 0);
    end_commands();
    brelse(cached(5, CACHED));
    check_notes("wanted 5 hit");
    check_counters("bio.",
                   "misses 1, hits 1, ahead 1, ahead_used 1, written 1");
    check_at_rest();
}

/* Four processes hold buffers, as many as this cache allows. cached() then
 * gives none, instead of waiting. */
TEST(a_cached_block_waits_for_no_other_holder)
{
    u64 blocks[4] = {0, 1, 2, 3};
    boot("nbuf=16");
    fill(0, 5);
    for (u32 i = 0; i < 4; i++)
        start(20 + i, hold_until_told, &blocks[i]);
    check_eq(bcache.holders, 4);
    check(!cached(4, CACHED));
    may_let_go = 1;
    wakeup(&may_let_go);
    run_others();
    brelse(cached(4, CACHED));
    check_at_rest();
}

/* Block 5 fails, and 6, asked for beside it, is read all the same. */
TEST(a_failed_read_beside_others_is_an_error)
{
    static const u64 asked[] = {6};
    static const struct further_reads further = {asked, NULL, 1, 0};
    boot("nbuf=64 cluster_kb=0");
    fail_sector(0, 10, false, 1);
    check(!breada(disk0(), 5, &further));
    end_commands();
    check_at_rest();
    check_eq(found_on(disk0(), 6), CACHED);
}

/* The call reads block 5, and block 6 further. The buffer of block 6 is in the
 * cache without its data. */
TEST(a_block_of_the_same_call_whose_contents_were_dropped_is_read_again)
{
    static const u64 asked[] = {6};
    static const struct further_reads further = {asked, NULL, 1, 0};
    boot("nbuf=64 prefetch_percent=0");
    read_in(6);
    binval(disk0(), 6);
    forget("commands");
    brelse(breada(disk0(), 5, &further));
    end_commands();
    check_commands("R0:10+4=2");
    check_eq(found_on(disk0(), 6), CACHED);
    check_eq(bio_busy(), 0);
}

/* ---- what the update policy is told of reads ---- */

/* Hits and misses of a file's reads (breada) are noted; those of the kernel's
 * own reads (bread) are not. */
TEST(the_update_policy_is_told_of_reads_of_files)
{
    boot("nbuf=64 update=told");
    policy_own(POLICY_UPDATE, (struct policy_owner){.swap = update_switch});
    brelse(breada(disk0(), 5, NONE_FURTHER));
    brelse(breada(disk0(), 5, NONE_FURTHER));
    dirty(6, 0);
    forget("notes");
    brelse(breada(disk0(), 6, NONE_FURTHER));
    check_notes("wanted 6 hit");
    read_in(5);
    check_notes("");
    binval(disk0(), 5);
    brelse(breada(disk0(), 5, NONE_FURTHER));
    check_notes("wanted 5 miss");
}

/* The policy has no hook for blocks that are wanted. A read by it works, also
 * after a swap of policies. */
TEST(an_update_policy_may_do_without_being_told_of_reads)
{
    boot("nbuf=64 update=told");
    told_update.update.wanted = NULL;
    brelse(breada(disk0(), 5, NONE_FURTHER));
    policy_own(POLICY_UPDATE, (struct policy_owner){.swap = update_switch});
    brelse(breada(disk0(), 5, NONE_FURTHER));
    check_notes("");
}

/* ---- the state that policies see ---- */

/* Make some blocks of each kind, and expect their numbers in what policies see,
 * in the counters and in the gauges. */
TEST(policies_see_the_state_of_the_cache)
{
    struct cache_state s;
    boot("nbuf=64 write=told");
    prefetch(5, 5); /* all but 5 and 6 stay unused */
    read_in(5);     /* late */
    end_commands();
    read_in(6);
    read_in(200);
    binval(disk0(), 7);
    told.mode = WRITE_HELD_BACK;
    for (u64 i = 300; i < 303; i++)
        bwrite_data(getblk(disk0(), i), 0, true);
    dirty(303, 0);
    dirty(303, 0);
    bawrite(getblk(disk0(), 400));
    bawrite(getblk(disk0(), 402));
    cache_state(&s);
    check_eq(s.buffers, 64);
    check_eq(s.dirty, 4);
    check_eq(s.writing, 2);
    check_eq(s.held_back, 3);
    check_eq(s.dirtied, 4);
    check_eq(s.written, 2);
    check_eq(s.hits, 3);
    check_eq(s.misses, 7);
    check_counters("bio.",
                   "hits 3, misses 7, dirtied 4, absorbed 1, written 2, "
                   "ahead 5, ahead_used 2, ahead_late 1, ahead_wasted 1");
    check_eq(stat_of("bio.buffers"), 64);
    check_eq(stat_of("bio.dirty"), 4);
    check_eq(stat_of("bio.ahead_unused"), 2);
    check_eq(stat_of("bio.busy"), 2);
    end_commands();
}

/* ---- set-up ---- */

TEST(a_quarter_of_memory_is_the_caches_unless_it_is_told)
{
    rig.memory_pages = 1000;
    boot("");
    check_eq(stat_of("bio.buffers"), 1000);
    check_eq(bio_block_bytes(), 1024);
}

TEST(a_cache_has_16_buffers_at_least)
{
    rig.memory_pages = 10;
    boot("");
    check_eq(stat_of("bio.buffers"), 16);
}

static void boot_small(void)
{
    boot("nbuf=15");
}

static void boot_huge(void)
{
    boot("nbuf=4294967297");
}

static u64 reservations;

static void boot_without_memory(void)
{
    boot_disks("nbuf=32");
    rig.reservations = reservations;
    bio_init(1024);
}

/* nbuf has a range. Each of the four reservations of memory that the cache
 * needs may fail. */
TEST(a_cache_that_does_not_fit_stops_the_boot)
{
    check_panics(boot_small, "from 16 to 4294967296");
    check_panics(boot_huge, "from 16 to 4294967296");
    for (; reservations < 4; reservations++)
        check_panics(boot_without_memory, "nbuf=32: 32 KiB of buffers do not");
    boot_without_memory();
}

/* Take 1,000 blocks whose numbers are so far apart. Of the 1,024 buckets of the
 * hash table, at least 551 have a block, and none has more than 8. */
static void check_spread(u64 step)
{
    u64 longest = 0, used = 0;
    for (u64 i = 0; i < 1000; i++)
        brelse(getblk(disk0(), i * step));
    check_eq(bcache.nbuckets, 1024);
    for (u64 i = 0; i < bcache.nbuckets; i++) {
        u64 n = 0;
        for (struct buf *b = bcache.buckets[i]; b; b = b->hash)
            n++;
        longest = MAX(longest, n);
        used += n > 0;
    }
    check(longest <= 8);
    check(used > 550);
}

/* File systems have their metadata at equal numbers, so blocks of two disks
 * with equal numbers are in use together. */
TEST(equal_blocks_of_two_disks_are_in_different_buckets)
{
    boot("nbuf=1000");
    for (u64 i = 0; i < 400; i++) {
        brelse(getblk(disk0(), i));
        brelse(getblk(disk_get(1), i));
    }
    u64 alike = 0;
    for (u64 i = 0; i < bcache.nbuckets; i++)
        for (struct buf *b = bcache.buckets[i]; b; b = b->hash)
            for (struct buf *other = b->hash; other; other = other->hash)
                alike += other->block.blkno == b->block.blkno;
    check_eq(alike, 0);
}

TEST(blocks_are_spread_over_as_many_buckets_as_buffers)
{
    boot("nbuf=1000");
    check_spread(1);
}

TEST(blocks_far_apart_are_spread_over_the_buckets)
{
    rig.sectors = 4UL << 20;
    boot("nbuf=1000");
    check_spread(1024);
}
