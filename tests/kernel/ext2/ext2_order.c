/*
 * Order policies, of ext2_test: what waits under each of them, what an fsync,
 * an fdatasync and a sync promise where metadata is delayed, and that a swap or
 * a wrong answer leaves nothing behind that the policy in use would have
 * written.
 *
 * - ORDERS_NOW writes metadata in order and waits, ORDERS_NONE delays it, and
 *   ORDERS_LOGGED is for a journal. begin mounts a new image at /m under one.
 * - rig_do does a command and returns its error. on_disk says whether the
 *   platters have a path, without the dirty blocks in memory.
 * - A confirmed hole is one that an fsync has written. Metadata waits for a new
 *   block that fills it; else a power cut could show old bytes there.
 */
#include <stdlib.h>

#include "tests/kernel/ext2/ext2_rig.h"

/* Each makes or removes a name, or moves one. */
static const char *const changes[] = {
    "create /m/plain",        "mkdir /m/dir",
    "mkdir /m/dir/sub",       "symlink somewhere /m/link",
    "ln /m/plain /m/hard",    "mv /m/plain /m/dir/moved",
    "mv /m/dir/sub /m/sub",   "create /m/other",
    "mv /m/other /m/hard",    "rm /m/link",
    "write /m/file 300000 1", "truncate /m/file 20000",
    "rmdir /m/sub",
};

/* Do all changes. Return how many writes they wait for. */
static u64 waits(void)
{
    u64 before = shim_writes_waited();
    for (u32 i = 0; i < NELEM(changes); i++)
        check_eq(rig_do("%s", changes[i]), 0);
    return shim_writes_waited() - before;
}

/* Return an image of what the platters alone have, without any dirty block. The
 * caller frees it. */
static u8 *image_of_platters(void)
{
    u8 *image = malloc(rig_bytes());
    shim_cut(rig_disk, image, 0);
    return image;
}

/* Return the size that the platters have for a path's inode. */
static u64 size_on_disk(const char *path)
{
    u8 *image = image_of_platters();
    u64 size = image_inode(image, image_ino(image, path))->size;
    free(image);
    return size;
}

/* Begin with an image that is mounted, under a policy. */
static void begin(enum shim_order which)
{
    rig_make(NULL);
    shim_use_order(which);
    check_eq(rig_do("mount /m"), 0);
}

/* True if the platters alone have this path. The tree on them must be whole,
 * except for counts. */
static bool on_disk(const char *path)
{
    u8 *image = image_of_platters();
    bool found = image_ino(image, path);
    free(rig_look(image, IMAGE_CUT, path));
    free(image);
    return found;
}

/* waits() makes all kinds of changes and counts the writes that were waited
 * for. */
TEST(only_a_policy_that_orders_waits_for_changes_of_names)
{
    begin(ORDERS_NOW);
    check(waits() > NELEM(changes));
    rig_end();
    begin(ORDERS_NONE);
    check_eq(waits(), 0);
    rig_end();
}

/* waits() makes all kinds of changes. Written in order or delayed, they leave
 * equal trees after the unmount. */
TEST(both_policies_leave_the_same_tree)
{
    char *trees[2];
    for (u32 i = 0; i < 2; i++) {
        begin(i ? ORDERS_NONE : ORDERS_NOW);
        waits();
        rig_end();
        trees[i] = rig_look(rig_image(), IMAGE_WHOLE, "all changes");
    }
    check(!strcmp(trees[0], trees[1]));
    free(trees[0]);
    free(trees[1]);
}

/* Before the sync the new name is in memory only. */
TEST(what_is_delayed_is_on_the_disk_after_a_sync)
{
    begin(ORDERS_NONE);
    waits();
    check(!on_disk("/dir/moved"));
    check_eq(rig_do("sync"), 0);
    check(on_disk("/dir/moved") && on_disk("/hard") && !on_disk("/sub"));
    rig_end();
}

/* Copy the contents of an inode to out. Return how many bytes they are. */
static u64 contents(const u8 *image, u32 ino, u8 *out)
{
    u64 size = image_inode(image, ino)->size, n = image_block_bytes(image);
    for (u64 block = 0; block * n < size; block++)
        memcpy(out + block * n,
               image_block(image, image_map(image, ino, block)), n);
    return size;
}

/* Check that on the platters the file has this size and the pattern's bytes. */
static void check_contents(const char *path, u64 size)
{
    static u8 got[400000];
    struct inode *ip = rig_open(path);
    u32 ino = ip->ino;
    rig_close(ip);
    u8 *image = image_of_platters();
    check_eq(contents(image, ino, got), size);
    for (u64 at = 0; at < size; at++)
        check_eq(got[at], command_pattern(1, at));
    check_eq(image_map(image, ino, size / 1024 + 1), 0);
    free(image);
}

/* A file is made long, then cut. After each fsync the platters have its size
 * and its data. */
TEST(an_fsync_writes_the_file_with_its_inode_and_its_pointers)
{
    begin(ORDERS_NONE);
    check_eq(rig_do("write /m/file 300000 1"), 0);
    check_eq(rig_do("fsync /m/file"), 0);
    check_contents("/m/file", 300000);
    check_eq(rig_do("truncate /m/file 20000"), 0);
    check_eq(rig_do("fsync /m/file"), 0);
    check_contents("/m/file", 20000);
    rig_end();
}

/* A new file in a new directory is found on the platters after an fsync of the
 * file and of both directories. */
TEST(an_fsync_of_a_directory_writes_its_names)
{
    begin(ORDERS_NONE);
    check_eq(rig_do("mkdir /m/d"), 0);
    check_eq(rig_do("create /m/d/new"), 0);
    check_eq(rig_do("fsync /m/d/new"), 0);
    check_eq(rig_do("fsync /m/d"), 0);
    check_eq(rig_do("fsync /m"), 0);
    check(on_disk("/d/new"));
    rig_end();
}

/* ---- holes ---- */

/* Do a command. Return for how many new blocks metadata waits then. The last of
 * these blocks must be among the pointers of the metadata that waits for it,
 * and the program waits for no write. */
static u64 blocks_waited_for(const char *command)
{
    u64 before = shim_waiting_blocks(), waits = shim_writes_waited();
    check_eq(rig_do("%s", command), 0);
    check_eq(shim_writes_waited(), waits);
    u64 n = shim_waiting_blocks() - before;
    if (!n)
        return 0;
    struct shim_wait w = shim_last_wait();
    check_eq(rig_do("fsync /m/holes"), 0);
    u8 *image = image_of_platters();
    u32 block_bytes = image_block_bytes(image);
    const u32 *pointer = (const u32 *)(image + w.meta * block_bytes);
    bool found = false;
    for (u32 i = 0; i < block_bytes / sizeof *pointer; i++)
        found |= pointer[i] == w.blkno;
    check(found);
    free(image);
    return n;
}

/* begin, with a file of 88 KiB in which block 78 is no hole: all of it is
 * confirmed. */
static void begin_holes(enum shim_order which)
{
    begin(which);
    rig_script("create /m/holes\ntruncate /m/holes 90112\n"
               "pwrite /m/holes 80000 9 1\nfsync /m/holes\n");
}

/* blocks_waited_for does a command and counts the new blocks that metadata
 * waits for: one, or three that a write touches; none in a hole that no fsync
 * has confirmed. */
TEST(metadata_waits_for_a_block_that_fills_a_confirmed_hole)
{
    begin_holes(ORDERS_NOW);
    check_eq(blocks_waited_for("pwrite /m/holes 3100 100 1"), 1);
    check_eq(blocks_waited_for("pwrite /m/holes 70000 2500 1"), 3);
    check_eq(blocks_waited_for("pwrite /m/holes 70000 2500 1"), 0);
    check_eq(blocks_waited_for("append /m/holes 3000 1"), 0);
    check_eq(rig_do("truncate /m/holes 5000"), 0);  /* a hole that no fsync */
    check_eq(rig_do("truncate /m/holes 20000"), 0); /* has confirmed */
    check_eq(blocks_waited_for("pwrite /m/holes 9000 100 1"), 0);
    check_eq(rig_do("sync"), 0);
    check_eq(blocks_waited_for("pwrite /m/holes 6000 100 1"), 1);
    rig_end();
}

/* Writes into holes, of a part of a block and of several blocks. */
TEST(no_metadata_waits_for_data_where_metadata_is_delayed)
{
    begin_holes(ORDERS_NONE);
    check_eq(blocks_waited_for("pwrite /m/holes 3100 100 1"), 0);
    check_eq(blocks_waited_for("pwrite /m/holes 70000 2500 1"), 0);
    rig_end();
}

/* ---- fdatasync ---- */

/* Return how many of the disk's blocks differ from an image, and free it. */
static u32 changed_since(u8 *image)
{
    u32 n = 0;
    u32 block_bytes = image_block_bytes(image);
    for (u64 at = 0; at < rig_bytes(); at += block_bytes)
        n += memcmp(image + at, rig_image() + at, block_bytes) != 0;
    free(image);
    return n;
}

/* A copy of the disk's contents. To be freed. */
static u8 *copy_image(void)
{
    return memcpy(malloc(rig_bytes()), rig_image(), rig_bytes());
}

static const enum shim_order both[] = {ORDERS_NOW, ORDERS_NONE};

/* After a write in place one block of the disk differs after the fdatasync, and
 * one more, the inode's, after an fsync. */
TEST(an_fdatasync_in_place_writes_the_data_and_no_inode)
{
    for (u32 i = 0; i < NELEM(both); i++) {
        begin(both[i]);
        rig_script("write /m/file 300000 1\nfdatasync /m/file\n");
        check_contents("/m/file", 300000);
        rig_script("chmod /m/file 600\n"); /* and its times */
        u8 *before = copy_image();
        rig_script("pwrite /m/file 200000 100 2\nfdatasync /m/file\n");
        check_eq(changed_since(before), 1);
        check_eq(shim_unflushed(rig_disk), 0);
        before = copy_image();
        rig_script("fsync /m/file\n");
        check_eq(changed_since(before), 1); /* the inode's */
        rig_end();
    }
}

/* The size grows within the last block, by a truncate, and by writes into a
 * hole, which need pointers. */
TEST(an_fdatasync_writes_a_size_that_has_changed_and_each_new_pointer)
{
    for (u32 i = 0; i < NELEM(both); i++) {
        begin(both[i]);
        rig_script("write /m/file 300000 1\nfdatasync /m/file\n"
                   "append /m/file 10 1\nfdatasync /m/file\n");
        check_contents("/m/file", 300010); /* within the last block */
        rig_script("truncate /m/file 301000\nfdatasync /m/file\n");
        check_eq(size_on_disk("/file"), 301000);
        rig_script("create /m/holes\ntruncate /m/holes 100000\n"
                   "pwrite /m/holes 50000 100 1\nfdatasync /m/holes\n"
                   "pwrite /m/holes 3000 100 1\nfdatasync /m/holes\n");
        u32 ino = image_ino(rig_image(), "/holes");
        check(image_map(rig_image(), ino, 3000 / 1024));
        rig_end();
    }
}

/* A sync writes the size while it is 299,990. Later it is as it was at the
 * first fdatasync, and must be written all the same. */
TEST(an_fdatasync_writes_a_size_that_was_smaller_in_between)
{
    begin(ORDERS_NOW);
    rig_script("write /m/file 300000 1\nfdatasync /m/file\n"
               "truncate /m/file 299990\nsync\n"
               "truncate /m/file 300000\nfdatasync /m/file\n");
    check_eq(size_on_disk("/file"), 300000);
    rig_end();
}

/* The fdatasync of a directory writes the names in it, and that of a file its
 * new second name. */
TEST(an_fdatasync_writes_names_of_a_directory_and_a_files_new_name)
{
    begin(ORDERS_NONE);
    rig_script("mkdir /m/d\ncreate /m/d/new\nfdatasync /m/d/new\n"
               "fdatasync /m/d\nfdatasync /m\n");
    check(on_disk("/d/new"));
    rig_script("create /m/d/next\nfsync /m/d/next\nfdatasync /m/d\n");
    check(on_disk("/d/next"));
    rig_script(
        "write /m/d/new 3000 1\n"
        "fdatasync /m/d/new\nln /m/d/new /m/other\nfdatasync /m/other\n");
    check(on_disk("/other"));
    rig_end();
}

/* A block is overwritten. First its write fails, then the flush; the third
 * fdatasync succeeds. */
TEST(an_fdatasync_in_place_reports_writes_and_flushes_that_fail)
{
    begin(ORDERS_NOW);
    rig_script(
        "write /m/file 3000 1\nfdatasync /m/file\npwrite /m/file 0 9 2\n");
    shim_fail(FAULT_WRITE, rig_disk, 1, false);
    check_eq(rig_do("fdatasync /m/file"), -EIO);
    shim_fail(FAULT_FLUSH, rig_disk, 1, false);
    check_eq(rig_do("fdatasync /m/file"), -EIO);
    check_eq(rig_do("fdatasync /m/file"), 0);
    rig_end();
}

/* ---- swaps and faults ---- */

/* The new directory is delayed. The swap to ORDERS_NOW writes it, and what
 * follows is written at once. */
TEST(a_swap_writes_what_the_old_policy_delayed)
{
    begin(ORDERS_NONE);
    check_eq(rig_do("mkdir /m/d"), 0);
    check(!on_disk("/d"));
    shim_use_order(ORDERS_NOW);
    check(on_disk("/d"));
    check_eq(rig_do("create /m/d/new"), 0);
    check(on_disk("/d/new"));
    rig_end();
}

/* The policy begins to answer wrongly: what it had delayed is written, too. */
TEST(after_a_wrong_answer_nothing_stays_delayed)
{
    begin(ORDERS_NONE);
    check_eq(rig_do("mkdir /m/d"), 0);
    shim_use_order(ORDERS_NONE); /* which writes it */
    check_eq(rig_do("create /m/old"), 0);
    check(!on_disk("/old"));
    shim_wrong_order(); /* as if the policy in use began to answer so */
    check_eq(rig_do("create /m/d/new"), 0);
    check(strstr(shim_printed(), "decide: no such mode"));
    check(on_disk("/old") && on_disk("/d/new"));
    rig_end();
}

/* ---- two processes at once ---- */

/* With a directory /m/d and a file /m/x, run the task as two processes again
 * and again: process 0 up to its first lock, buffer or write, process 1 to its
 * end, the rest of process 0; then up to its second one, and so on.
 * check_end (or NULL) looks at what both have left. */
static void run_interleaved(void (*task)(u32 process), void (*check_end)(void))
{
    bool more = true;
    u64 stops_at;
    for (stops_at = 1; more; stops_at++) {
        begin(ORDERS_NONE);
        check_eq(rig_do("mkdir /m/d"), 0);
        check_eq(rig_do("create /m/x"), 0);
        shim.spin_switches = true;
        more = shim_fibres(2, task, stops_at);
        shim.spin_switches = false;
        if (check_end)
            check_end();
        rig_end();
    }
    check(stops_at > 20);
}

/* A process changes names while another swaps: from the moment at which both
 * have ended, all is on the disk. */
static void change_or_swap(u32 i)
{
    if (i == 2)
        shim_use_order(ORDERS_NOW);
    else if (ext2_rename("/m/x", "/m/d/y") || ext2_mkdir("/m/d/sub", 0755))
        panic("rename or mkdir failed");
}

static void check_changes_on_disk(void)
{
    check(on_disk("/d/sub") && on_disk("/d/y") && !on_disk("/x"));
    check_eq(size_on_disk("/d/sub"), 1024); /* it is no husk */
}

TEST(a_step_that_meets_a_swap_is_on_the_disk_when_both_have_ended)
{
    run_interleaved(change_or_swap, check_changes_on_disk);
}

/* A swap ends while a rename of the old policy, which has left no record, would
 * go on: then a power cut would leave two names that no mount finishes. */
static void rename_or_swap(u32 i)
{
    if (i == 1) {
        if (ext2_rename("/m/x", "/m/d/y"))
            panic("rename failed");
        return;
    }
    shim_use_order(ORDERS_NOW);
    u8 *image = image_of_platters();
    bool both = image_ino(image, "/x") && image_ino(image, "/d/y");
    check(!both || image_super(image)->intent.magic == EXT2_INTENT_MAGIC);
    free(image);
}

TEST(a_swap_waits_for_a_rename_that_has_left_no_record)
{
    run_interleaved(rename_or_swap, NULL);
}

/* ---- the record of a rename ---- */

/* The superblock has no record of an unfinished rename after the sync. */
TEST(a_rename_whose_steps_are_delayed_leaves_no_record)
{
    begin(ORDERS_NONE);
    check_eq(rig_do("mkdir /m/d"), 0);
    check_eq(rig_do("create /m/x"), 0);
    check_eq(rig_do("mv /m/x /m/d/y"), 0);
    check_eq(rig_do("sync"), 0);
    check_eq(image_super(rig_image())->intent.magic, 0);
    rig_end();
}

/* A rename left its record. The next policy must clear it before a change that
 * makes the names look as they were. */
TEST(a_record_of_another_policy_is_gone_before_a_state_like_its_own)
{
    begin(ORDERS_NOW);
    check_eq(rig_do("mkdir /m/d"), 0);
    check_eq(rig_do("create /m/x"), 0);
    check_eq(rig_do("mv /m/x /m/d/y"), 0);
    check_eq(image_super(rig_image())->intent.magic, EXT2_INTENT_MAGIC);
    shim_use_order(ORDERS_NONE);
    check_eq(rig_do("ln /m/d/y /m/x"), 0);
    check_eq(image_super(rig_image())->intent.magic, 0);
    check_eq(rig_do("sync"), 0);
    check(on_disk("/x") && on_disk("/d/y"));
    rig_end();
}
