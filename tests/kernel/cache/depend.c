/*
 * Metadata that waits for data (kernel/depend): in which order the blocks reach
 * the disk, who writes them, and who waits.
 *
 * - A new block of a file must be on the disk before the metadata that points
 *   to it. So the metadata's buffer is pinned (B_PINNED): it is not dirty yet,
 *   and becomes so when its new blocks are written. A kernel thread does that.
 * - point(30, 20) makes block 20 new, of file 1, and has block 30 point to it.
 * - Block 20 is sectors 40 and 41. check_commands("W0:40+2 F0") expects what
 *   the disks got since the last check: a write of disk 0, 2 sectors from 40
 *   on, then a flush of the drive's cache.
 * - depend_flush writes all that waits, depend_write a block that waits, with
 *   its new blocks before, and depend_settle what has nothing to wait for.
 */
#include "tests/support/native/blocks.h"
#include "kernel/cache/bio.h"
#include "kernel/depend/depend.h"

#define S 1000000000UL

static bool no_memory, no_process;

/* Return a page, unless the test has no memory. */
void *page_alloc(void)
{
    return no_memory ? NULL : mem_reserve(4096);
}

/* Start a kernel thread, unless the test has no process. */
struct proc *kthread_try(const char *name, void (*fn)(void *), void *arg)
{
    return no_process ? NULL : kthread(name, fn, arg);
}

/* Have block `meta` point to the new block, of owner 1. */
static void point(u64 meta, u64 blkno)
{
    check_eq(depend_zeros(disk0(), blkno, 1, meta), 0);
    struct buf *b = bread(disk0(), meta);
    ((u32 *)b->data)[0] = blkno;
    depend_delay(b, 0);
}

/* Blocks 20 and 21 are new, and 30 points to both. */
static void boot_waiting(const char *args)
{
    boot(args);
    read_in(30);
    point(30, 20);
    point(30, 21);
    run_others();
    forget_all();
}

/* Return whether a block waits for new blocks. */
static bool is_pinned(u64 blkno)
{
    return buffer_of(blkno)->flags & B_PINNED;
}

/* Block 30 waits for the new blocks 20 and 21. After both are written the
 * thread writes 30. */
TEST(what_waits_is_written_by_a_thread_when_all_new_blocks_have_been)
{
    boot_waiting("nbuf=64 cluster_kb=0");
    check(is_dirty(20) && is_dirty(21) && is_pinned(30) && !is_dirty(30));
    check_eq(((u8 *)buffer_of(20)->data)[5], 0);
    struct buf *b = bread(disk0(), 21);
    bwrite(b);
    run_to_ns(3 * S);
    check_commands("W0:42+2");
    check_eq(bflush(disk0()), 0);
    check_commands("W0:40+2");
    check(is_pinned(30));
    run_to_ns(5 * S);
    end_commands();
    check_commands("W0:60+2");
    check(!is_pinned(30) && !is_dirty(30));
    check_eq(*(u32 *)on_device(0, 60), 21);
    check_at_rest();
}

/* bflush_owner writes file 1's new blocks, depend_settle the metadata that
 * waited for them. */
TEST(an_fsync_writes_what_has_waited_and_waits_for_it)
{
    boot_waiting("nbuf=64 cluster_kb=0");
    check_eq(bflush_owner(disk0(), 1), 0);
    check_eq(depend_settle(disk0(), 0), 0);
    check_commands("W0:40+2 W0:42+2 W0:60+2");
    check_at_rest();
    point(30, 22);
    check_eq(depend_flush(disk0()), 0);
    check_commands("W0:44+2 W0:60+2");
    check_eq(bpinned(disk0()), 0);
    check_at_rest();
}

/* Block 30 names the new blocks 20 and 21, and block 31 names 25. A write of
 * block 30 writes 20 and 21 first, and leaves 31 and 25 alone. */
TEST(a_write_of_what_waits_writes_the_new_blocks_before)
{
    boot_waiting("nbuf=64 cluster_kb=0");
    point(31, 25); /* another block waits for another one */
    forget("commands");
    check_eq(depend_write(bread(disk0(), 30)), 0);
    check_commands("W0:40+2 W0:42+2 W0:60+2");
    check(is_dirty(25) && is_pinned(31) && !is_pinned(30));
    check_eq(depend_write(bread(disk0(), 30)), 0);
    check_commands("W0:60+2"); /* it waits for nothing any more */
    check_at_rest();
}

static int written = 1;

/* As a process: write block 30. */
static void write_30(void *)
{
    written = depend_write(bread(disk0(), 30));
}

/* While process 8 writes block 30, and the drive's cache is flushed, block 22
 * becomes new for it. Block 30 is written, then gets the pointer to 22 and
 * waits again. */
TEST(a_new_block_that_comes_while_what_waits_is_written_is_waited_for)
{
    rig.can_flush = true;
    boot_waiting("nbuf=64 cluster_kb=0");
    const struct task *writer = start(8, write_30, NULL);
    end_oldest();
    end_oldest();
    run_others(); /* the drive's cache is being flushed */
    check_commands("W0:40+2 W0:42+2 F0");
    check_eq(depend_zeros(disk0(), 22, 1, 30), 0);
    end_commands();
    check(has_ended(writer) && !written && !is_pinned(30));
    check_commands("W0:60+2");
    struct buf *b = bread(disk0(), 30);
    ((u32 *)b->data)[1] = 22;
    depend_delay(b, 0);
    check(is_pinned(30) && !is_dirty(30) && is_dirty(22));
    check_eq(depend_flush(disk0()), 0);
    check_commands("W0:44+2 F0 W0:60+2");
    check_at_rest();
}

/* A drive that acknowledges writes early must flush (F0) before block 30 is
 * written, whoever writes it. */
TEST(a_volatile_cache_is_flushed_between_a_new_block_and_what_waited)
{
    rig.can_flush = true;
    boot_waiting("nbuf=64 cluster_kb=0");
    check_eq(depend_flush(disk0()), 0);
    check_commands("W0:40+2 W0:42+2 F0 W0:60+2");
    point(30, 22);
    check_eq(depend_write(bread(disk0(), 30)), 0);
    check_commands("W0:44+2 F0 W0:60+2");
    point(30, 23);
    check_eq(bflush(disk0()), 0);
    check_commands("W0:46+2");
    run_to_ns(9 * S);
    end_commands();
    check_commands("F0 W0:60+2");
}

/* The delayed write of block 30 does not make it dirty, so a flush writes the
 * new blocks only. depend_settle writes it then, with the change. */
TEST(what_is_changed_while_it_waits_goes_on_waiting)
{
    boot_waiting("nbuf=64 cluster_kb=0");
    struct buf *b = bread(disk0(), 30);
    ((u32 *)b->data)[9] = 7;
    depend_delay(b, 0);
    check(is_pinned(30) && !is_dirty(30));
    check_eq(bflush(disk0()), 0);
    check_commands("W0:40+2 W0:42+2");
    check_eq(depend_settle(disk0(), 0), 0);
    check_commands("W0:60+2");
    check_eq(((u32 *)on_device(0, 60))[9], 7);
}

/* Each write of block 20 fails. The flush reports that, and block 30 is written
 * all the same. */
TEST(a_new_block_that_cannot_be_written_holds_up_nothing)
{
    boot_waiting("nbuf=64 cluster_kb=0");
    fail_sector(0, 40, true, 1000);
    check_eq(depend_flush(disk0()), -EIO);
    check_commands("W0:40+2 W0:42+2 W0:60+2 W0:40+2");
    check(!is_pinned(30) && !is_dirty(30));
}

TEST(a_flush_writes_what_waits_even_if_another_files_block_cannot_be_written)
{
    boot_waiting("nbuf=64 cluster_kb=0");
    dirty(50, 2);
    fail_sector(0, 100, true, 1000);
    check_eq(depend_flush(disk0()), -EIO);
    check(!is_pinned(30) && !is_dirty(30) && is_dirty(50));
    check_eq(*(u32 *)on_device(0, 60), 21);
    check_at_rest();
}

/* The new blocks are written but the drive's flush fails, so block 30 is not
 * written, until a later flush succeeds. */
TEST(if_the_drive_cannot_flush_what_waits_goes_on_waiting)
{
    rig.can_flush = rig.flush_fails = true;
    boot_waiting("nbuf=64 cluster_kb=0");
    check_eq(depend_write(bread(disk0(), 30)), -EIO);
    check_commands("W0:40+2 W0:42+2 F0");
    check_eq(depend_flush(disk0()), -EIO);
    run_to_ns(3 * S);
    end_commands();
    check(is_pinned(30) && *(u32 *)on_device(0, 60) != 21);
    forget("commands");
    rig.flush_fails = false;
    run_to_ns(5 * S);
    end_commands();
    check_commands("F0 W0:60+2");
    check(!is_pinned(30) && *(u32 *)on_device(0, 60) == 21);
}

/* Of 16 buffers at most two may be pinned. A third pins, and then the drive
 * cannot flush what would unpin one, so no new block is allowed. */
TEST(if_too_much_waits_for_a_drive_that_cannot_flush_no_hole_is_filled)
{
    rig.can_flush = rig.flush_fails = true;
    boot("nbuf=16 cluster_kb=0");
    for (u64 i = 0; i < 3; i++) {
        read_in(30 + i);
        point(30 + i, 20 + i);
    }
    check_eq(depend_zeros(disk0(), 23, 1, 32), -EIO);
    check(!is_dirty(23) && bpinned(disk0()) == 3);
    rig.flush_fails = false;
    point(32, 23);
    check(!is_pinned(30) && is_pinned(31) && is_pinned(32));
}

/* Three blocks wait on disk 0. A new block of disk 1 writes nothing, and the
 * three go on waiting. */
TEST(another_disk_that_cannot_flush_is_no_hindrance)
{
    rig.disks = 2;
    boot("nbuf=16 cluster_kb=0");
    for (u64 i = 0; i < 3; i++) {
        read_in(30 + i);
        point(30 + i, 20 + i);
    }
    forget("commands");
    check_eq(depend_zeros(disk_get(1), 20, 1, 30), 0);
    check_commands("");
    check_eq(bpinned(disk0()), 3);
}

/* 4,096 notes of who waits for which block are all there are. The next one has
 * block 30 written, with its new blocks. */
TEST(what_waits_for_very_many_blocks_is_written_by_who_comes_next)
{
    boot("nbuf=64 cluster_kb=0");
    read_in(30);
    forget("commands");
    for (u64 i = 0; i < 4096; i++)
        point(30, 20 + i % 2);
    check_commands("");
    point(31, 22);
    check_commands("W0:40+2 W0:42+2 W0:60+2 R0:62+2");
    check(!is_pinned(30) && is_pinned(31));
}

/* New blocks that were dropped hold up nothing; metadata that was dropped is
 * not written. */
TEST(what_was_dropped_waits_no_more_and_is_not_waited_for)
{
    boot_waiting("nbuf=64 cluster_kb=0");
    binval(disk0(), 20);
    binval(disk0(), 21);
    check_eq(depend_flush(disk0()), 0);
    check_commands("W0:60+2");
    point(30, 22);
    binval(disk0(), 30);
    check_eq(depend_flush(disk0()), 0);
    check_commands("W0:44+2");
    dirty(30, 0);
    check(is_dirty(30));
}

/* An eighth of 16 buffers is two. Block 30 has waited longest. */
TEST(if_more_than_an_eighth_waits_the_longest_is_written)
{
    boot("nbuf=16 cluster_kb=0");
    for (u64 i = 0; i < 3; i++)
        read_in(30 + i);
    point(30, 20);
    point(31, 21);
    forget("commands");
    point(32, 22);
    check_commands("");
    check(is_pinned(30));
    point(32, 23); /* now three are pinned */
    check_commands("W0:40+2 W0:60+2");
    check(!is_pinned(30) && is_pinned(31) && is_pinned(32));
}

/* Block 30 waits since the beginning. A change of another block writes it after
 * 61 s, but not after 59 s. */
TEST(what_has_waited_for_a_minute_is_written_by_who_comes_next)
{
    boot_waiting("nbuf=64 cluster_kb=0");
    run_to_ns(59 * S);
    point(31, 22);
    check(is_pinned(30));
    forget("commands");
    run_to_ns(61 * S);
    check_commands("");
    point(31, 23);
    check_commands("W0:40+2 W0:42+2 W0:60+2");
    check(!is_pinned(30) && is_pinned(31));
}

/* No process can be made that would write later: point() writes the new block
 * 20 itself. With a process it writes nothing. */
TEST(without_a_thread_the_program_waits_for_the_new_block)
{
    boot("nbuf=64 cluster_kb=0");
    read_in(30);
    forget("commands");
    no_process = true;
    point(30, 20);
    check_commands("W0:40+2");
    check(is_dirty(30));
    no_process = false;
    point(30, 21);
    check_commands("");
    check(is_pinned(30));
}

/* A note says which block waits for which. Notes are in pages of memory; one
 * page is enough for 500 blocks one after the other. */
TEST(without_memory_the_program_waits_and_notes_are_used_again)
{
    boot("nbuf=64 cluster_kb=0");
    read_in(30);
    no_memory = true;
    forget("commands");
    point(30, 20);
    check_commands("W0:40+2");
    check(is_dirty(30));
    no_memory = false;
    point(30, 21);
    no_memory = true;
    for (u64 i = 0; i < 500; i++) {
        point(30, 22);
        check_eq(depend_flush(disk0()), 0);
    }
    forget("commands");
    point(30, 20);
    check_commands("");
    check(is_pinned(30));
}
