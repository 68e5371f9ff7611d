/*
 * Which calls report a lost delayed write (lost.h).
 *
 * - lost_add notes a loss of a file, its owner; true if it is news. If it is a
 *   loss of metadata, it concerns all files of the disk.
 * - lost_opened returns what a new description of the file remembers, the
 *   losses so far. fsync_of and close_of return -EIO if that description has
 *   not been told of a loss yet, and remember that it was told.
 */
#include "tests/support/native/blocks.h"
#include "kernel/cache/lost.h"

enum { FILE_A = 7, FILE_B = 8 };

/* Call fsync of a file by a description, which remembers `told`. */
static int fsync_of(u64 owner, u64 *told)
{
    return lost_tell(disk0(), owner, told, true);
}

/* Close a file's description. */
static int close_of(u64 owner, u64 *told)
{
    return lost_tell(disk0(), owner, told, false);
}

/* Two descriptions of file A each report a loss once, by fsync or close. File
 * B's reports nothing. */
TEST(each_description_is_told_of_a_loss_once)
{
    boot("nbuf=64");
    u64 a = lost_opened(disk0(), FILE_A), b = a;
    u64 other = lost_opened(disk0(), FILE_B);
    check_eq(fsync_of(FILE_A, &a), 0);
    check(lost_add(disk0(), FILE_A, false));
    check(!lost_add(disk0(), FILE_A, false)); /* the first is untold yet */
    check_eq(fsync_of(FILE_A, &a), -EIO);
    check_eq(fsync_of(FILE_A, &a), 0);
    check_eq(close_of(FILE_A, &a), 0);
    check_eq(close_of(FILE_A, &b), -EIO);
    check_eq(fsync_of(FILE_B, &other), 0);
    check(lost_add(disk0(), FILE_A, false));
    check_eq(fsync_of(FILE_A, &a), -EIO);
}

/* A description that is opened after the loss reports it, too, until an fsync
 * has. */
TEST(a_later_description_is_told_until_an_fsync_was_and_not_a_close)
{
    boot("nbuf=64");
    u64 a = lost_opened(disk0(), FILE_A);
    lost_add(disk0(), FILE_A, false);
    check_eq(close_of(FILE_A, &a), -EIO);
    u64 b = lost_opened(disk0(), FILE_A), c = b;
    check_eq(fsync_of(FILE_A, &b), -EIO);
    check_eq(fsync_of(FILE_A, &c), -EIO); /* opened before that */
    u64 d = lost_opened(disk0(), FILE_A);
    check_eq(fsync_of(FILE_A, &d), 0);
}

TEST(sync_is_told_once_for_each_disk)
{
    boot("nbuf=64");
    lost_add(disk0(), FILE_A, false);
    lost_add(disk0(), FILE_B, false);
    check_eq(lost_tell_sync(disk_get(1)), 0);
    check_eq(lost_tell_sync(disk0()), -EIO);
    check_eq(lost_tell_sync(disk0()), 0);
    u64 a = lost_opened(disk0(), FILE_A); /* no fsync has been told */
    check_eq(fsync_of(FILE_A, &a), -EIO);
}

/* After a loss of metadata each file of that disk reports it once; files of the
 * other disk do not. */
TEST(a_loss_of_metadata_concerns_all_files_of_the_disk)
{
    boot("nbuf=64");
    u64 a = lost_opened(disk0(), FILE_A), b = a;
    u64 far = lost_opened(disk_get(1), FILE_A);
    check(!lost_structure(disk0()));
    lost_add(disk0(), FILE_A, true);
    check(lost_structure(disk0()) && !lost_structure(disk_get(1)));
    check_eq(fsync_of(FILE_A, &a), -EIO);
    check_eq(fsync_of(FILE_B, &b), -EIO);
    check_eq(lost_tell(disk_get(1), FILE_A, &far, true), 0);
    check_eq(fsync_of(FILE_B, &b), 0);
}

/* LOST_FILES files have a row each. Losses of further files are kept together,
 * so `late`, opened afterwards, is told, too. */
TEST(more_files_than_are_remembered_are_told_all_the_same)
{
    u64 told[LOST_FILES + 9];
    boot("nbuf=64");
    for (u64 i = 0; i < NELEM(told); i++)
        told[i] = lost_opened(disk0(), 100 + i);
    for (u64 i = 0; i < NELEM(told); i++)
        lost_add(disk0(), 100 + i, false);
    u64 late = lost_opened(disk0(), 100);
    for (u64 i = 0; i < NELEM(told); i++) {
        check_eq(fsync_of(100 + i, &told[i]), -EIO);
        check_eq(fsync_of(100 + i, &told[i]), 0);
    }
    check_eq(fsync_of(100, &late), -EIO);
}

/* There are LOST_FILES rows. When file A's row is taken for another file, what
 * has been reported is not reported again. */
TEST(what_all_have_been_told_is_not_told_again_when_a_file_is_forgotten)
{
    boot("nbuf=64");
    u64 a = lost_opened(disk0(), FILE_A);
    lost_add(disk0(), FILE_A, false);
    check_eq(fsync_of(FILE_A, &a), -EIO);
    lost_add(disk0(), FILE_B, true); /* later, and of all files */
    check_eq(lost_tell_sync(disk0()), -EIO);
    for (u64 i = 0; i < LOST_FILES; i++) /* the last takes FILE_A's row */
        lost_add(disk0(), 100 + i, false);
    u64 b = lost_opened(disk0(), FILE_B);
    check_eq(fsync_of(FILE_B, &b), 0);
}

TEST(what_is_removed_or_unmounted_leaves_no_loss_behind)
{
    boot("nbuf=64");
    lost_add(disk0(), FILE_A, false);
    lost_add(disk0(), FILE_B, false);
    lost_forget(FILE_A);
    u64 a = lost_opened(disk0(), FILE_A), b = lost_opened(disk0(), FILE_B);
    check_eq(fsync_of(FILE_A, &a), 0); /* the number's next file */
    check_eq(fsync_of(FILE_B, &b), -EIO);
    lost_add(disk0(), FILE_B, true);
    lost_forget_disk(disk0());
    check(!lost_structure(disk0()));
    b = lost_opened(disk0(), FILE_B);
    check_eq(fsync_of(FILE_B, &b), 0);
    check_eq(lost_tell_sync(disk0()), 0);
}
