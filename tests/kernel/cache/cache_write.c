/*
 * The buffer cache, writing: what becomes dirty and since when, what each call
 * that lets go of a buffer does, write policies, and failed writes.
 *
 * - boot("nbuf=64") starts the kernel's cache on the host with these boot
 *   arguments (rig.h). A block has two sectors: block 5 is sectors 10 and 11.
 * - getblk takes a block's buffer to overwrite it. brelse releases it clean,
 *   bdwrite dirty (a delayed write), bawrite starts a write, bwrite also waits
 *   for it, and bwrite_data does what the write policy says.
 * - dirty(5, 3) makes block 5 dirty for file 3, its owner; read_in(5) reads it;
 *   binval drops it (blocks.h).
 * - check_commands("W0:10+4=2") expects what the disks got since the last
 *   check: a write of disk 0, 4 sectors from 10 on, of 2 requests. A command
 *   ends when the test sleeps, or by end_commands.
 * - check_counters expects these counters, and 0 of all others with the
 *   prefix; check_trace expects events (name, disk, block or sector, process,
 *   argument); check_hist expects a histogram's values and their sum;
 *   check_notes expects what the policy `told` noted of each call (told.h).
 */
#include "tests/support/native/blocks.h"

/* ---- delayed writes ---- */

/* A second delayed write of a dirty block is absorbed: its age stays. */
TEST(a_block_is_dirty_since_it_was_let_go_dirty_first)
{
    boot("nbuf=64");
    clock_now_ns = 5000;
    dirty(5, 3);
    clock_now_ns = 7000;
    dirty(5, 3);
    struct buf *b = buffer_of(5);
    check(b->flags & B_DELWRI && b->flags & B_VALID);
    check_eq(b->block.dirtied_ns, 5000);
    check_eq(bio_dirty(), 1);
    check_commands("");
    check_trace("miss disk0 5 7 0; dirtied disk0 5 7 3; hit disk0 5 7 0; "
                "absorbed disk0 5 7 3");
    check_counters("bio.", "misses 1, hits 1, dirtied 1, absorbed 1");
    check_at_rest();
}

/* A block that is dirty since 5000 ns is read at 7000 ns, and is dirty since
 * 5000 ns still. */
TEST(to_read_a_dirty_block_leaves_it_as_it_was)
{
    boot("nbuf=64");
    clock_now_ns = 5000;
    dirty(5, 0);
    clock_now_ns = 7000;
    read_in(5);
    check_eq(buffer_of(5)->block.dirtied_ns, 5000);
    check_counters("bio.", "misses 1, hits 1, dirtied 1");
}

/* bdwrite is for metadata, bwrite_data for the data of a file. */
TEST(a_delayed_write_says_whose_block_it_is_and_that_it_is_metadata)
{
    boot("nbuf=64 write=told");
    dirty(5, 3);
    check_eq(buffer_of(5)->block.owner, 3);
    check(buffer_of(5)->block.meta);
    bwrite_data(getblk(disk0(), 6), 4, true);
    check_eq(buffer_of(6)->block.owner, 4);
    check(!buffer_of(6)->block.meta);
    bwrite_data(getblk(disk0(), 5), 4, true);
    check_eq(buffer_of(5)->block.owner, 4);
    check(!buffer_of(5)->block.meta);
}

/* Return how many dirty blocks of this owner are on its list. */
static u64 owned_by(u64 owner)
{
    u64 n = 0;
    LIST_EACH (i, owner_list(owner))
        n += LIST_ITEM(i, struct buf, owned)->block.owner == owner;
    return n;
}

/* owned_by counts the list of a file. A block changes lists with its owner, and
 * leaves them when it is written. */
TEST(a_dirty_block_is_on_the_list_of_its_owner_alone)
{
    boot("nbuf=64");
    dirty(5, 3);
    dirty(6, 3);
    check_eq(owned_by(3), 2);
    dirty(6, 4);
    check_eq(owned_by(3), 1);
    check_eq(owned_by(4), 1);
    dirty(6, 4);
    check_eq(owned_by(4), 1);
    check_eq(bflush(NULL), 0);
    check_eq(owned_by(3) + owned_by(4), 0);
    bawrite(getblk(disk0(), 5));
    dirty(6, 5);
    check_eq(owned_by(5), 1);
    end_commands();
}

/* The most owners on one list, of 1,024 whose numbers are `step` apart. */
static u64 longest_list(u64 step)
{
    u32 users[OWNER_LISTS] = {0}, longest = 0;
    for (u64 owner = 1; owner <= OWNER_LISTS; owner++) {
        struct list *l = owner_list(owner * step);
        check(l >= bcache.owned && l < bcache.owned + OWNER_LISTS);
        u32 n = ++users[l - bcache.owned];
        longest = MAX(longest, n);
    }
    return longest;
}

TEST(owners_are_spread_over_the_lists)
{
    boot("");
    check(longest_list(1) <= 8);
    check(longest_list(OWNER_LISTS) <= 8);
}

/* ---- writing at once ---- */

TEST(each_buffer_begins_a_line_of_the_processors_cache)
{
    check_eq(sizeof(struct buf), 256);
}

/* A transfer (struct io) is what a buffer needs for a command. Clean buffers
 * share a few of them; a dirty one keeps its own. */
TEST(a_buffer_that_is_let_go_clean_gives_its_transfer_back)
{
    boot("nbuf=64");
    for (u64 blkno = 0; blkno < 8; blkno++)
        read_in(blkno);
    check_eq(bcache.ios_used, 1);
    dirty(5, 0);
    dirty(6, 0);
    check_eq(bcache.ios_used, 2);
    binval(disk0(), 5);
    check(!buffer_of(5)->io);
    bwrite(getblk(disk0(), 6));
    check(!buffer_of(6)->io);
    struct buf *b = bread(disk0(), 9), *other = bread(disk0(), 10);
    check(b->io && other->io && b->io != other->io);
    brelse(b);
    brelse(other);
    check_eq(bcache.ios_used, 2);
    check_at_rest();
}

/* The data are on the device after bwrite. After bawrite they are in transfer,
 * and on the device when the command ends. */
TEST(bwrite_waits_and_bawrite_does_not)
{
    boot("nbuf=64");
    struct buf *b = getblk(disk0(), 5);
    memset(b->data, 0x5a, 1024);
    check_eq(bwrite(b), 0);
    check_eq(on_device(0, 11)[511], 0x5a);
    check(!b->io && bcache.free_ios->request.waited);
    b = getblk(disk0(), 6);
    memset(b->data, 0x6b, 1024);
    bawrite(b);
    check(!b->io->request.waited);
    check_eq(myproc()->buffers_held, 0);
    check_eq(bio_busy(), 1);
    check_eq(bcache.nwriting, 1);
    end_commands();
    check_eq(on_device(0, 12)[0], 0x6b);
    check(b->flags & B_VALID);
    check_commands("W0:10+2 W0:12+2");
    check_counters("bio.", "misses 2, written 2");
    check_hist("bio.age_written", 0, "", 0);
    check_at_rest();
    check_trace("miss disk0 5 7 0; writing disk0 5 7 0; "
                "queued-write disk0 10 7 2; issued-write disk0 10 7 2; "
                "completed-write disk0 10 7 0; miss disk0 6 7 0; "
                "writing disk0 6 7 0; queued-write disk0 12 7 2; "
                "issued-write disk0 12 7 2; completed-write disk0 12 7 0");
}

/* After the ends of bawrite and bwrite nobody holds the buffer. A reader then
 * holds it, and no mark of the asynchronous write is left. */
TEST(a_block_is_held_until_its_write_ends_if_that_is_waited_for)
{
    boot("nbuf=64");
    bawrite(getblk(disk0(), 5));
    end_commands();
    check_eq(bwrite(getblk(disk0(), 5)), 0);
    check_at_rest();
    struct buf *b = bread(disk0(), 5);
    check_eq(bio_busy(), 1);
    check(b->flags & B_BUSY && !(b->flags & B_ASYNC));
    brelse(b);
    check_at_rest();
}

/* bwrite of a dirty block is counted as the write that was delayed, at an age
 * of 900 ns. No second write follows. */
TEST(a_write_at_once_of_a_dirty_block_is_its_delayed_write)
{
    boot("nbuf=64");
    clock_now_ns = 5000;
    dirty(5, 3);
    clock_now_ns = 5900;
    forget("trace");
    check_eq(bwrite(getblk(disk0(), 5)), 0);
    check(!is_dirty(5));
    check_eq(bio_dirty(), 0);
    check_eq(buffer_of(5)->block.dirtied_ns, 0);
    check_hist("bio.age_written", 0, "900", 900);
    check_trace("hit disk0 5 7 0; writing disk0 5 7 900; "
                "queued-write disk0 10 7 2; issued-write disk0 10 7 2; "
                "completed-write disk0 10 7 0");
    check_eq(bflush(NULL), 0);
    check_commands("W0:10+2");
}

/* The write policy's flag `keeps` says that the cache's memory keeps its
 * contents without power. Then bwrite_stable need not write. */
TEST(bwrite_writes_and_bwrite_stable_need_not_if_the_cache_keeps_its_contents)
{
    boot("nbuf=64 write=told");
    check_eq(bwrite_stable(getblk(disk0(), 4)), 0);
    check_commands("W0:8+2");
    told_write.write.keeps = true;
    check_eq(bwrite(getblk(disk0(), 5)), 0);
    check(!is_dirty(5));
    check_commands("W0:10+2");
    check_eq(bwrite_stable(getblk(disk0(), 6)), 0);
    check(is_dirty(6));
    check_commands("");
    told_write.write.keeps = false;
    check_eq(bflush(NULL), 0);
    check_commands("W0:12+2");
}

/* As a process: write block 5, wait, and note it. */
static void write_five(void *arg)
{
    (void)arg;
    check_eq(bwrite(getblk(disk0(), 5)), 0);
    note("%u wrote", myproc()->pid);
}

/* As a process: read block 5 and note it. */
static void read_five(void *arg)
{
    (void)arg;
    brelse(bread(disk0(), 5));
    note("%u read", myproc()->pid);
}

/* A reader of block 5 waits until a write of it ends, be the write waited for
 * or not. */
TEST(nobody_has_a_buffer_while_it_is_written)
{
    boot("nbuf=64");
    start(8, write_five, NULL);
    start(9, read_five, NULL);
    check_notes("");
    end_command(0);
    run_others();
    check_notes("8 wrote; 9 read");
    bawrite(getblk(disk0(), 5));
    start(9, read_five, NULL);
    check_notes("");
    end_commands();
    check_notes("9 read");
    check_commands("W0:10+2 W0:10+2");
    check_at_rest();
}

TEST(writes_are_numbered)
{
    boot("nbuf=64");
    for (u64 i = 0; i < 3; i++) {
        struct buf *b = getblk(disk0(), i);
        bawrite(b);
        check_eq(b->write_number, i + 1);
    }
    end_commands();
    check_eq(bcache.write_number, 3);
}

/* ---- write policies ---- */

/* Write data of file 3, as the write policy says. */
static int write_data(u64 blkno, bool filled)
{
    return bwrite_data(getblk(disk0(), blkno), 3, filled);
}

/* The hook `decide` sees the block, whether it is filled, how many blocks are
 * dirty, and how many requests wait at the disk: ten are submitted for disk 0,
 * which takes eight at a time. */
TEST(a_write_policy_is_asked_of_each_write_of_data_and_of_no_other)
{
    boot("nbuf=64 write=told");
    rig.idle = nothing_ends;
    dirty(5, 0);
    bawrite(getblk(disk0(), 6));
    check_notes("");
    submit("R0:100+2 R0:200+2 W0:300+2 R1:50+2 R0:500+2 R0:520+2 R0:540+2 "
           "R0:560+2 W0:580+2 R0:600+2");
    write_data(9, true);
    write_data(9, false);
    check_notes("decide 0:9 filled dirty=1 of 64 queued=2; "
                "decide 0:9 dirty=2 of 64 queued=2");
    bwrite_data(getblk(disk_get(1), 8), 3, true);
    check_notes("decide 1:8 filled dirty=2 of 64 queued=0");
}

/* The write ends before the call returns. When it fails, the call returns the
 * error. */
TEST(through_waits)
{
    boot("nbuf=64 write=told");
    told.mode = WRITE_THROUGH;
    check_eq(write_data(5, true), 0);
    check_commands("W0:10+2");
    check_eq(in_flight(), 0);
    check_eq(buffer_of(5)->block.owner, 3);
    check(!is_dirty(5));
    fail_sector(0, 11, true, 1);
    check_eq(write_data(5, true), (u64)-EIO);
    check_at_rest();
}

/* The command is in flight when the call returns, and the block is clean. */
TEST(async_starts_the_write_and_does_not_wait)
{
    boot("nbuf=64 write=told");
    told.mode = WRITE_ASYNC;
    rig.idle = nothing_ends;
    check_eq(write_data(5, true), 0);
    check_commands("W0:10+2");
    check_eq(in_flight(), 1);
    check(!is_dirty(5));
    check_eq(buffer_of(5)->block.owner, 3);
    end_commands();
    check_at_rest();
}

TEST(delayed_only_makes_the_block_dirty)
{
    boot("nbuf=64 write=told");
    told.mode = WRITE_DELAYED;
    check_eq(write_data(5, true), 0);
    check_commands("");
    check(is_dirty(5) && !buffer_of(5)->block.held_back);
    check_eq(buffer_of(5)->block.owner, 3);
    check_eq(bcache.nheld_back, 0);
}

/* Block 5 is written by an asynchronous write, block 6 by the flush. */
TEST(held_back_is_delayed_and_marks_the_block_until_it_is_written)
{
    boot("nbuf=64 write=told");
    told.mode = WRITE_HELD_BACK;
    check_eq(write_data(5, true), 0);
    check_eq(write_data(5, true), 0);
    check_eq(write_data(6, true), 0);
    check_commands("");
    check(is_dirty(5) && buffer_of(5)->block.held_back);
    check_eq(bcache.nheld_back, 2);
    told.mode = WRITE_DELAYED; /* modified again: held back as before */
    check_eq(write_data(5, false), 0);
    check(buffer_of(5)->block.held_back);
    dirty(6, 3);
    check(buffer_of(6)->block.held_back);
    check_eq(bcache.nheld_back, 2);
    told.mode = WRITE_ASYNC;
    check_eq(write_data(5, true), 0);
    check(!buffer_of(5)->block.held_back);
    check_eq(bcache.nheld_back, 1);
    check_eq(bflush(NULL), 0);
    check_eq(bcache.nheld_back, 0);
    check(!buffer_of(6)->block.held_back);
}

/* The policy answers with a number that is no mode. async takes over, and
 * decides for the next write. */
TEST(a_mode_that_is_none_is_a_fault_and_the_write_is_delayed)
{
    boot("nbuf=64 write=told");
    told.mode = WRITE_HELD_BACK + 1;
    check_eq(write_data(5, true), 0);
    check(is_dirty(5));
    check_console("policy fault: write/told: decide: no such mode; going on "
                  "with async\n");
    check_notes("decide 0:5 filled dirty=0 of 64 queued=0; async starts");
    check_eq(write_data(6, true), 0);
    check(!is_dirty(6));
    check_counters("policy.", "faults 1");
    end_commands();
}

TEST(the_kernel_can_delay_a_write_instead_and_leave_a_faulty_policy_in_use)
{
    boot("nbuf=64 write=told faults=answer");
    told.mode = WRITE_HELD_BACK + 1;
    write_data(5, true);
    check(is_dirty(5));
    check(policy_in_use[POLICY_WRITE] == &told_write);
    check_console("policy fault: write/told: decide: no such mode; the kernel "
                  "answers instead\n");
    check_counters("policy.", "faults 1");
    end_commands();
}

/* Write data while the policy's hook `check` complains. */
static void decide_wrongly(void)
{
    told.wrong = "a mistake";
    write_data(5, true);
}

/* End a scan while the policy's hook `check` complains. */
static void look_ends_wrongly(void)
{
    told.wrong = "a mistake";
    scan_ends();
}

/* With check=1 the hook `check` is called after each answer, or at the end of
 * the update policy's scan. */
TEST(a_write_policy_is_checked_after_each_answer_but_not_during_a_scan)
{
    boot("nbuf=64 write=told check=1");
    check_panics(decide_wrongly, "policy check: write/told: a mistake");
    scan_begins();
    told.wrong = "a mistake";
    write_data(5, true);
    told.wrong = NULL;
    check_panics(look_ends_wrongly, "policy check: write/told: a mistake");
    scan_ends();
    check_panics(decide_wrongly, "policy check: write/told: a mistake");
}

/* ---- failed writes ---- */

/* The block stays dirty since 5000 ns, the oldest of its file, and the next
 * flush writes it with its neighbour. */
TEST(a_failed_write_keeps_its_data_and_its_age)
{
    boot("nbuf=64");
    clock_now_ns = 5000;
    dirty(5, 3);
    clock_now_ns = 6000;
    dirty(6, 3);
    clock_now_ns = 7000;
    fail_sector(0, 10, true, 1);
    check_eq(bwrite(getblk(disk0(), 5)), (u64)-EIO);
    check(is_dirty(5));
    check_eq(buffer_of(5)->block.dirtied_ns, 5000);
    check_eq(oldest_dirty_ns(), 5000);
    check_eq(owned_by(3), 2);
    check_eq(bio_dirty(), 2);
    check_counters("bio.", "misses 2, hits 1, dirtied 2, written 1, "
                           "write_errors 1");
    forget("commands");
    check_eq(bflush(NULL), 0);
    check_commands("W0:10+4=2");
    check(!is_dirty(5));
    check_at_rest();
}

/* The write of block 5 is queued at 5000 ns and fails at 9000 ns. So block 5 is
 * older than block 6. */
TEST(a_failed_write_of_a_clean_block_is_dirty_since_it_was_queued)
{
    boot("nbuf=64");
    clock_now_ns = 5000;
    fail_sector(0, 10, true, 1);
    bawrite(getblk(disk0(), 5));
    clock_now_ns = 9000;
    dirty(6, 0);
    end_commands();
    check(is_dirty(5));
    check_eq(buffer_of(5)->block.dirtied_ns, 5000);
    check_eq(oldest_dirty_ns(), 5000);
    check(buffer_of(5)->flags & B_VALID);
}

/* The list of dirty blocks stays in the order of their ages. */
TEST(failed_writes_are_sorted_in_by_their_age)
{
    boot("nbuf=64 cluster_kb=0");
    for (u64 i = 0; i < 4; i++) {
        clock_now_ns = 1000 * (i + 1);
        dirty(i, 0);
    }
    fail_sector(0, 4, true, 1); /* block 2, dirty since 3000 */
    fail_sector(0, 2, true, 1); /* block 1, dirty since 2000 */
    bwrite(getblk(disk0(), 2));
    bwrite(getblk(disk0(), 1));
    u64 want = 0;
    LIST_EACH (n, &bcache.delayed)
        check_eq(LIST_ITEM(n, struct buf, dirty)->block.blkno, want++);
    check_eq(want, 4);
}

/* The first write of block 5 fails, and the second succeeds. */
TEST(the_next_write_of_a_failed_block_that_succeeds_makes_it_clean)
{
    boot("nbuf=64");
    fail_sector(0, 10, true, 1);
    check_eq(bwrite(getblk(disk0(), 5)), (u64)-EIO);
    check(buffer_of(5)->flags & B_ERROR);
    check_eq(bwrite(getblk(disk0(), 5)), 0);
    check(!(buffer_of(5)->flags & (B_ERROR | B_DELWRI)));
    check_eq(buffer_of(5)->block.dirtied_ns, 0);
}

/* ---- binval: blocks whose contents are dropped ---- */

/* binval of a dirty block cancels its delayed write; of a clean block, or one
 * that is not cached, it counts nothing. */
TEST(a_dropped_block_is_not_written)
{
    boot("nbuf=64");
    dirty(5, 3);
    forget("trace");
    binval(disk0(), 5);
    check_eq(bio_dirty(), 0);
    check_eq(buffer_of(5)->block.owner, 0);
    check_eq(buffer_of(5)->block.dirtied_ns, 0);
    check_eq(owned_by(3), 0);
    check_eq(bflush(NULL), 0);
    check_commands("");
    check_trace("cancelled disk0 5 7 0");
    check_counters("bio.", "misses 1, dirtied 1, cancelled 1");
    binval(disk0(), 5);
    binval(disk0(), 99);
    check_counters("bio.", "misses 1, dirtied 1, cancelled 1");
    check_at_rest();
    read_in(5);
    check_commands("R0:10+2");
}

TEST(a_dropped_block_stays_dirty_if_freed_blocks_are_kept)
{
    boot("nbuf=64 keep_freed=1");
    dirty(5, 3);
    u64 dirtied_ns = buffer_of(5)->block.dirtied_ns;
    binval(disk0(), 5);
    binval(disk0(), 99);
    check_eq(bio_dirty(), 1);
    dirty(5, 4); /* another file takes it: it is as old as it was */
    check_eq(buffer_of(5)->block.dirtied_ns, dirtied_ns);
    check_eq(owned_by(3), 0);
    check_eq(owned_by(4), 1);
    check_counters("bio.", "misses 1, hits 1, dirtied 1, absorbed 1");
    check_eq(bflush(NULL), 0);
    check_commands("W0:10+2");
    binval(disk0(), 5); /* it is clean */
    check_eq(found_on(disk0(), 5), MISSING);
    check_at_rest();
}

/* Although keep_freed=1, block 5 loses its data when it is dropped, as its
 * write has failed. */
TEST(a_dropped_block_that_could_not_be_written_is_not_kept)
{
    boot("nbuf=64 keep_freed=1");
    fail_sector(0, 10, true, 1);
    check_eq(bwrite(getblk(disk0(), 5)), (u64)-EIO);
    binval(disk0(), 5);
    check(!(buffer_of(5)->flags & (B_ERROR | B_VALID | B_DELWRI)));
    check_eq(bio_dirty(), 0);
}

/* As a process: drop a block. */
static void drop(void *blkno)
{
    binval(disk0(), *(u64 *)blkno);
}

/* Process 9 drops block 5 during its write, and goes on when the write has
 * ended. */
TEST(to_drop_a_block_waits_for_its_transfer)
{
    u64 five = 5;
    boot("nbuf=64");
    bawrite(getblk(disk0(), 5));
    struct task *t = start(9, drop, &five);
    check(!has_ended(t));
    end_commands();
    check(has_ended(t));
    check_eq(found_on(disk0(), 5), MISSING);
    check_at_rest();
}

/* Blocks 5 to 7 of disk 0 go, and block 5 of disk 1 stays. */
TEST(to_drop_a_disk_leaves_the_other_as_it_was)
{
    boot("nbuf=64");
    fill(5, 3);
    brelse(bread(disk_get(1), 5));
    binval_disk(disk0());
    for (u64 i = 5; i < 8; i++)
        check_eq(found_on(disk0(), i), MISSING);
    check_eq(found_on(disk_get(1), 5), CACHED);
    check_at_rest();
}

TEST(a_block_that_could_not_be_read_or_written_begins_anew_when_dropped)
{
    boot("nbuf=64");
    fail_sector(0, 10, true, 1);
    check_eq(bwrite(getblk(disk0(), 5)), (u64)-EIO);
    binval(disk0(), 5);
    check(!(buffer_of(5)->flags & (B_ERROR | B_VALID | B_DELWRI)));
}
