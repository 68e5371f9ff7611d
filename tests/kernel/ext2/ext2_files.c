/*
 * Unit tests of files' contents and attributes, of ext2_test: what a read
 * starts beside itself, hints, bad memory of the user, full disks, fsync,
 * extended attributes, and the inodes kept in memory.
 *
 * - The image, with blocks of 1 KiB, is mounted at /m. rig_script does commands
 *   that must succeed; rig_do does one, and returns its error; rig_open returns
 *   a path's inode, locked, and rig_end unmounts and checks the image.
 * - expect_told expects the calls that the cache got about blocks of the file
 *   /f: "a2-5" are blocks 2 to 5 that the program asked for beside the first
 *   one, w and p blocks that are prefetched with that read or by themselves, u
 *   blocks that are not needed. Holes are left out.
 * - shim.readahead is the answer of the prefetch policy (ext2_shim.h).
 */
#include "tests/kernel/ext2/ext2_rig.h"
#include "kernel/ext2/internal.h"
#include "kernel/proc/proc.h"

static const struct readahead no_readahead;

/* Make a file of some 80 blocks, with a block of pointers behind 12, and holes
 * at 40 to 49. Return the block of the disk where it begins. */
static u32 long_file(void)
{
    rig_make(&(struct image_options){.blocks_per_group = 500, .blocks = 501});
    rig_script("mount /m\nwrite /m/f 40960 1\npwrite /m/f 51200 30500 1\n"
               "umount /m\nmount /m\n");
    shim.readahead = &no_readahead;
    shim_told();
    return image_map(rig_image(), image_ino(rig_image(), "/f"), 0);
}

/* Return the block of the disk that has a block of /f; 0: a hole. */
static u32 place(u32 block)
{
    return image_map(rig_image(), image_ino(rig_image(), "/f"), block);
}

/* Read from a file. Return the number of bytes, or an error. */
static int read_at(struct inode *ip, u64 offset, u64 n)
{
    static u8 data[200000];
    struct uio u = {.addr = (u64)data, .left = n, .offset = offset};
    int error = ext2_read(ip, &u, NULL);
    return error ? error : (int)(n - u.left);
}

/* Expect these calls of the cache: letters and ranges of the file's blocks, of
 * which holes are left out. */
static void expect_told(const char *want)
{
    char text[8192] = "";
    for (const char *at = want; *at; at += strcspn(at, " "), at += *at == ' ') {
        u32 from, to;
        char what;
        if (sscanf(at, "%c%u-%u", &what, &from, &to) < 3)
            to = from;
        for (u32 b = from; b <= to; b++)
            if (place(b))
                sprintf(text + strlen(text), "%s%c%u", *text ? " " : "", what,
                        place(b));
    }
    const char *got = shim_told();
    if (strcmp(got, text)) {
        printf("told %s\ninstead of %s: %s\n", got, want, text);
        exit(1);
    }
}

/* ---- reading ahead ---- */

/* A read of several blocks starts all but the first one beside it: 32 at once,
 * and the next 32 when 16 are left. */
TEST(a_read_starts_what_the_same_call_asks_for)
{
    long_file();
    struct inode *ip = rig_open("/m/f");
    check_eq(read_at(ip, 0, 1024), 1024);
    expect_told("");
    check_eq(read_at(ip, 1000, 100), 100);
    expect_told("a1");
    check_eq(read_at(ip, 1024, 5 * 1024), 5 * 1024);
    expect_told("a2-5");
    check_eq(read_at(ip, 0, 40 * 1024), 40 * 1024);
    expect_told("a1-32 a33-39");
    check_eq(read_at(ip, 0, 78 * 1024), 78 * 1024);
    expect_told("a1-32 a33-64 a65-77");
    check_eq(read_at(ip, 0, 200000), 51200 + 30500);
    expect_told("a1-32 a33-64 a65-79");
    check_eq(read_at(ip, 51200 + 30500, 10), 0);
    check_eq(read_at(ip, 51200 + 30499, 10), 1);
    expect_told("");
    rig_close(ip);
    rig_end();
}

/* Expect what shim_access has of each read: blocks, sizes, and whether the
 * first block is cached. A hole counts as cached. */
TEST(a_policy_is_shown_what_a_read_asks_for)
{
    u32 first = long_file();
    struct inode *ip = rig_open("/m/f");
    check_eq(read_at(ip, 5 * 1024 + 1000, 2000), 2000);
    check_eq(shim_access.block, 5);
    check_eq(shim_access.nblocks, 3);
    check_eq(shim_access.file_blocks, 80);
    check_eq(shim_access.block_bytes, 1024);
    check_eq(shim_access.found, MISSING);
    check_eq(read_at(ip, 5 * 1024, 1024), 1024);
    check_eq(shim_access.found, CACHED);
    check_eq(shim_access.nblocks, 1);
    check_eq(read_at(ip, 41 * 1024, 1024), 1024); /* a hole needs no reading */
    check_eq(shim_access.found, CACHED);
    u64 looks = shim_looks();
    check_eq(read_at(ip, 30 * 1024, 1024), 1024);
    check_eq(shim_access.found, MISSING);
    check_eq(shim_looks() - looks, 2); /* its pointer's block, and it */
    shim_fail(FAULT_READ, rig_disk, 1, true);
    check_eq(read_at(ip, 78 * 1024, 1024), -EIO);
    shim_fail(FAULT_READ, rig_disk, 0, false);
    rig_close(ip);
    rig_end();
    check(first > 0);
}

/* Blocks of the policy's request go with the read (w), up to 32, and the others
 * after it (p), up to ahead_most in all. */
TEST(what_a_policy_requests_is_started_after_what_is_asked_for)
{
    long_file();
    struct inode *ip = rig_open("/m/f");
    struct readahead w = {.first = 3, .n = 4, .times = 1};
    shim.readahead = &w;
    check_eq(read_at(ip, 1024, 2048), 2048);
    expect_told("a2 w3-6");
    w = (struct readahead){.first = 8, .n = 2, .step = 10, .times = 3};
    check_eq(read_at(ip, 7 * 1024, 1024), 1024);
    expect_told("w8-9 w18-19 w28-29");
    w = (struct readahead){.first = 30, .n = 45, .times = 1};
    check_eq(read_at(ip, 29 * 1024, 1024), 1024);
    expect_told("w30-61 p62-74"); /* 32 with the block, the rest after it */
    w = (struct readahead){.first = 0, .n = 80, .times = 1};
    shim.ahead_most = 7;
    check_eq(read_at(ip, 79 * 1024, 100), 100);
    expect_told("w0-6"); /* no more than may be prefetched */
    shim.ahead_most = 50;
    check_eq(read_at(ip, 42 * 1024, 100), 100);
    expect_told("p0-31 p32-49"); /* a hole is read without the disk */
    w = (struct readahead){.first = 70, .n = 5, .times = 1};
    check_eq(read_at(ip, 0, 40 * 1024), 40 * 1024);
    expect_told("a1-32 a33-39 w70-74");
    rig_close(ip);
    rig_end();
}

/* The policy wants blocks one by one: it is asked for each of three blocks, and
 * nothing of the call is started beside another. */
TEST(blocks_of_a_call_may_be_reads_of_their_own)
{
    long_file();
    struct inode *ip = rig_open("/m/f");
    struct readahead w = {.first = 70, .n = 2, .times = 1};
    shim.by_block = true;
    check_eq(read_at(ip, 1024, 3 * 1024), 3 * 1024);
    expect_told("");
    shim.readahead = &w;
    check_eq(read_at(ip, 1000, 2000), 2000);
    expect_told("w70-71 w70-71 w70-71");
    check_eq(shim_access.block, 2);
    check_eq(shim_access.nblocks, 1);
    rig_close(ip);
    rig_end();
}

/* will_need starts reads (p) of each block that the range touches, dont_need
 * names (u) only blocks that lie in it whole; a length of 0 is the rest. */
TEST(hints_start_reads_and_name_blocks_to_evict)
{
    long_file();
    struct inode *ip = rig_open("/m/f");
    ext2_will_need(ip, 2048, 3072);
    expect_told("p2-4");
    ext2_will_need(ip, 2050, 3072);
    expect_told("p2-5");
    ext2_will_need(ip, 70 * 1024, 0);
    expect_told("p70-79");
    ext2_will_need(ip, 70 * 1024, 1 << 20);
    expect_told("p70-79");
    ext2_will_need(ip, 100 * 1024, 0);
    ext2_will_need(ip, 80 * 1024, 5000);
    expect_told("");
    ext2_will_need(ip, 81699, 0);
    expect_told("p79");
    ext2_will_need(ip, 0, 0);
    expect_told("p0-31 p32-49"); /* 50 are the most */
    ext2_will_need(ip, 1024, 32 * 1024);
    expect_told("p1-32");
    ext2_dont_need(ip, 1024, 2048);
    expect_told("u1-2");
    ext2_dont_need(ip, 1023, 2050);
    expect_told("u1-2"); /* only whole blocks */
    ext2_dont_need(ip, 38 * 1024, 13 * 1024);
    expect_told("u38-50");
    ext2_dont_need(ip, 78 * 1024, 0);
    expect_told("u78-79");
    ext2_dont_need(ip, 78 * 1024, 3699);
    expect_told("u78-79");
    ext2_dont_need(ip, 78 * 1024, 3700);
    expect_told("u78-79");
    ext2_dont_need(ip, 99 * 1024, 5);
    expect_told("");
    shim.no_hints = true;
    ext2_will_need(ip, 0, 0);
    ext2_dont_need(ip, 0, 0);
    expect_told("");
    rig_close(ip);
    rig_end();
}

/* The prefetching is told once of the beginning and once of the end. */
TEST(readers_begin_and_end_with_the_opening_and_closing_of_a_file)
{
    long_file();
    struct inode *ip = rig_open("/m/f");
    struct streams s = {.reads = 0};
    ext2_begin_reads(ip, &s);
    check_eq(shim_begun(), 1);
    ext2_end_reads(ip, &s);
    check_eq(shim_ended(), 1);
    rig_close(ip);
    rig_end();
}

/* ---- access times ---- */

/* The access time is set in memory, at most once a second, and reaches the disk
 * with a sync. */
TEST(reading_changes_the_access_time_alone_and_late)
{
    rig_make(NULL);
    shim.now_s = 1000;
    rig_script("mount /m\nwrite /m/f 100 1\nsymlink f /m/s\nsync\n");
    struct ext2_inode *f =
        image_inode(rig_image(), image_ino(rig_image(), "/f"));
    struct ext2_inode *s =
        image_inode(rig_image(), image_ino(rig_image(), "/s"));
    shim.now_s = 2000;
    struct inode *ip = rig_open("/m/f");
    check_eq(read_at(ip, 0, 10), 10);
    check_eq(ip->dirty, true);
    ip->dirty = false; /* in the same second it does not change again */
    check_eq(read_at(ip, 0, 10), 10);
    check_eq(ip->dirty, false);
    ip->dirty = true;
    iunlock(ip);
    check_eq(rig_do("sync"), 0); /* while it is in use */
    check_eq(f->atime, 2000);
    check_eq(f->mtime, 1000);
    check_eq(f->ctime, 1000);
    ilock(ip);
    check_eq(ip->dirty, false);
    rig_close(ip);
    rig_script("readlink /m/s\nsync\n");
    check_eq(s->atime, 2000);
    shim.now_s = 3000;
    rig_script("append /m/f 1 1\ntruncate /m/f 5\n");
    shim.now_s = 4000;
    rig_script("chmod /m/f 751\n");
    rig_end();
    check_eq(f->mode, S_IFREG | 0751);
    check_eq(f->atime, 1000000000);
    check_eq(f->mtime, 1100000000);
    check_eq(f->ctime, 4000);
}

/* Modes have 12 bits and times 32. Then what a directory and a device file
 * refuse. */
TEST(attributes_out_of_their_range_are_refused)
{
    rig_make(NULL);
    rig_script("mount /m\ncreate /m/f\n");
    struct inode *ip = rig_open("/m/f");
    check_eq(ext2_chmod(ip, 010000), -EINVAL);
    check_eq(ext2_chmod(ip, 07777), 0);
    check_eq(ip->mode, S_IFREG | 07777);
    check_eq(ext2_chmod(ip, 0), 0);
    check_eq(ip->mode, S_IFREG);
    check_eq(ext2_utime(ip, 1UL << 32, 0), -EINVAL);
    check_eq(ext2_utime(ip, 0, 1UL << 32), -EINVAL);
    shim.now_s = 77;
    check_eq(ext2_utime(ip, UINT32_MAX, UINT32_MAX - 1), 0);
    struct stat st;
    ext2_stat(ip, &st);
    check_eq(st.st_atime_s, UINT32_MAX);
    check_eq(st.st_mtime_s, UINT32_MAX - 1);
    check_eq(st.st_ctime_s, 77);
    check_eq(st.st_blksize, 1024);
    check_eq(st.st_dev, rig_disk->id);
    check_eq(st.st_nlink, 1);
    check_eq(st.st_mode, S_IFREG);
    check_eq(st.st_ino, ip->ino);
    rig_close(ip);
    struct inode *dir = rig_open("/m");
    struct uio u = {.left = 1};
    check_eq(ext2_read(dir, &u, NULL), -EISDIR);
    check_eq(ext2_write(dir, &u), -EISDIR);
    check_eq(ext2_truncate(dir, 0), -EISDIR);
    check_eq(ext2_readlink(dir, &u), -EINVAL);
    rig_close(dir);
    rig_script("mknod /m/dev 1\n");
    struct inode *dev = rig_open("/m/dev");
    check_eq(ext2_read(dev, &u, NULL), -EINVAL);
    check_eq(ext2_write(dev, &u), -EINVAL);
    check_eq(ext2_truncate(dev, 0), -EINVAL);
    check_eq(ext2_getdents(dev, &u, NULL), -ENOTDIR);
    check_eq(dev->rdev, 1);
    rig_close(dev);
    rig_end();
}

/* ---- memory of the user that is not there ---- */

/* Write from memory of the user of which the first `good` bytes are good.
 * Return the error; *done is the number of bytes. */
static int write_user(struct inode *ip, u8 *data, u64 offset, u64 n, u64 good,
                      u64 *done)
{
    struct uio u = {.addr = (u64)data,
                    .left = n,
                    .offset = offset,
                    .user = true,
                    .write = true};
    shim_fault_at = u.addr + good;
    int error = ext2_write(ip, &u);
    shim_fault_at = SHIM_FAULT_NEVER;
    *done = n - u.left;
    return error;
}

/* A program writes from memory of which only the first bytes are good. The
 * block's old contents are never seen, and nothing stays behind the file's end.
 */
TEST(a_write_from_bad_memory_leaves_only_what_was_written)
{
    static u8 data[8192], got[20000];
    static const struct {
        u64 size;         /* of the file, before */
        u64 offset, n;    /* what is written */
        u64 good;         /* bytes of it before the bad memory */
        u64 end, sectors; /* of the file, after */
    } rows[] = {
        {0, 0, 1024, 500, 0, 0},          {0, 100, 300, 200, 0, 0},
        {0, 0, 3000, 1500, 1024, 2},      {2500, 0, 2048, 700, 2500, 6},
        {2500, 2048, 1024, 700, 2500, 6}, {2500, 2400, 600, 300, 2500, 6},
        {2500, 2500, 100, 50, 2500, 6},   {2500, 5000, 1000, 200, 5120, 8},
        {2500, 4096, 2048, 200, 2500, 6}, {13000, 14000, 3000, 200, 13000, 28},
        {2048, 2048, 1024, 1, 2048, 4},   {2049, 1024, 1024, 1, 2049, 6},
    };
    memset(data, 0xee, sizeof(data));
    for (u32 cold = 0; cold < 2; cold++)
        for (u32 i = 0; i < NELEM(rows); i++) {
            rig_make(NULL);
            /* blocks that are given out again hold what was in them */
            memset((u8 *)rig_image() + 10 * 1024, 0xbb, 118 * 1024);
            u64 done, size = rows[i].size;
            rig_script("mount /m\ncreate /m/f\n");
            rig_do("pwrite /m/f 0 %lu 1", size);
            if (cold)
                rig_script("umount /m\nmount /m\n");
            struct inode *ip = rig_open("/m/f");
            check_eq(write_user(ip, data, rows[i].offset, rows[i].n,
                                rows[i].good, &done),
                     -EFAULT);
            bool bad =
                ip->size != rows[i].end || ip->sectors != rows[i].sectors;
            if (bad)
                printf("row %u: size %lu sectors %u done %lu\n", i, ip->size,
                       ip->sectors, done);
            check(!bad);
            struct uio u = {.addr = (u64)got, .left = sizeof(got)};
            check_eq(ext2_read(ip, &u, NULL), 0);
            for (u64 b = 0; b < ip->size; b++) {
                bool touched =
                    b >= rows[i].offset && b < rows[i].offset + rows[i].n;
                check(got[b] != 0xbb || b < size);
                check(touched || b >= size || got[b] == command_pattern(1, b));
                check(touched || b < size || got[b] == 0);
                check(!touched || b >= rows[i].offset + done || got[b] == 0xee);
            }
            rig_close(ip);
            rig_end();
        }
}

/* The user's memory ends after 3,000 bytes: two whole blocks, 2,048 bytes, are
 * read. */
TEST(a_read_to_bad_memory_stops_there)
{
    static u8 data[8192];
    rig_make(NULL);
    rig_script("mount /m\nwrite /m/f 6000 1\n");
    struct inode *ip = rig_open("/m/f");
    struct uio u = {.addr = (u64)data, .left = 6000, .user = true};
    shim_fault_at = u.addr + 3000;
    check_eq(ext2_read(ip, &u, NULL), -EFAULT);
    check_eq(u.left, 6000 - 2048);
    u = (struct uio){.addr = (u64)data, .left = 10, .user = true};
    shim_fault_at = u.addr + 5;
    check_eq(ext2_read(ip, &u, NULL), -EFAULT);
    shim_fault_at = SHIM_FAULT_NEVER;
    rig_close(ip);
    rig_end();
}

/* All reads of the disk fail. Writes of whole blocks and of new blocks succeed;
 * a part of an old block needs a read. */
TEST(a_whole_block_is_written_without_reading_it)
{
    rig_make(NULL);
    rig_script("mount /m\nwrite /m/f 5120 1\numount /m\nmount /m\n"
               "pwrite /m/f 0 1024 2\npwrite /m/f 5120 1024 2\n");
    shim_fail(FAULT_READ, rig_disk, 1, true);
    check_eq(rig_do("pwrite /m/f 2048 1024 2"), 0);
    check_eq(rig_do("pwrite /m/f 6144 1024 2"), 0);
    check_eq(rig_do("pwrite /m/f 7168 10 2"), 0); /* nor a new one in part */
    check_eq(rig_do("pwrite /m/f 3072 1023 2"), -EIO);
    shim_fail(FAULT_READ, rig_disk, 0, false);
    rig_end();
}

/* ---- full disks ---- */

static const char *const makers[] = {
    "create /m/n",
    "mkdir /m/n",
    "symlink 123456789012345678901234567890123456789012345678901234567890 /m/n",
    "ln /m/g /m/full/a_rather_long_name_for_which_there_is_no_room_left",
    "mv /m/g /m/full/a_rather_long_name_for_which_there_is_no_room_left",
    "mv /m/full/aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd3 "
    "/m/full/a_rather_long_name_for_which_there_is_no_room_left",
    "mkdir /m/full/a_rather_long_name_for_which_there_is_no_room_left",
    "mv /m/g /m/full/aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd3",
    "append /m/g 9000 1",
    "pwrite /m/g 300000 9000 1",
    "pwrite /m/g 70000000 2000 1",
    "truncate /m/g 100",
    "rm /m/g",
};

/* With so few blocks or inodes free, each operation is done or not at all; of
 * a write what fits. */
TEST(every_operation_bears_a_full_disk)
{
    u32 full = 0, fits = 0;
    rig_make(&(struct image_options){
        .blocks_per_group = 100, .blocks = 201, .inodes_per_group = 24});
    rig_script("mount /m\nmkdir /m/full\nwrite /m/g 3000 1\n"
               "many /m/full 19 aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd\n");
    check_eq(rig_do("write /m/fill 900000 2"), -ENOSPC);
    rig_end();
    rig_keep();
    struct ext2_inode *fill =
        image_inode(rig_kept(), image_ino(rig_kept(), "/fill"));
    u32 size = fill->size;
    check_eq(size % 1024, 0);
    check_eq(image_super(rig_kept())->free_blocks_count, 0);
    for (u32 k = 0; k < 14; k++)
        for (u32 i = 0; i < NELEM(makers); i++) {
            rig_restore();
            rig_script("mount /m\n");
            check_eq(rig_do("truncate /m/fill %u", size - k * 1024), 0);
            rig_script("umount /m\n");
            char *before = rig_look(rig_image(), IMAGE_WHOLE, makers[i]);
            rig_script("mount /m\n");
            int error = rig_do("%s", makers[i]);
            check(error == 0 || error == -ENOSPC);
            rig_end();
            char *after = rig_look(rig_image(), IMAGE_WHOLE, makers[i]);
            bool writes =
                strstr(makers[i], "write") || strstr(makers[i], "app");
            if (!error == !strcmp(before, after) && !writes) {
                printf("%s with %u free: %d\n", makers[i], k, error);
                exit(1);
            }
            full += !!error;
            fits += !error;
            free(before);
            free(after);
        }
    if (full <= 30 || fits <= 60)
        printf("%u full, %u fit\n", full, fits);
    check(full > 30 && fits > 60);
}

/* The disk has 85 free blocks. The first write fills them, one with
 * pointers. */
TEST(a_write_to_a_full_disk_writes_what_fits)
{
    rig_make(&(struct image_options){.blocks_per_group = 100, .blocks = 101});
    rig_script("mount /m\nmkdir /m/d\nwrite /m/f 5000 1\n");
    u32 free = 100 - 8 - 2 - 5; /* its own, two directories, and f */
    check_eq(rig_do("write /m/g 900000 2"), -ENOSPC);
    check_eq(rig_do("verify /m/g 0 %u 2", (free - 1) * 1024), 0);
    check_eq(command_failed, false);
    struct inode *ip = rig_open("/m/g");
    check_eq(ip->size, (free - 1) * 1024); /* one of pointers */
    rig_close(ip);
    check_eq(rig_do("append /m/f 2000 1"), -ENOSPC);
    rig_script("verify /m/f 0 5120 1\n"); /* the rest of its last block */
    check_eq(rig_do("create /m/n"), 0);
    check_eq(rig_do("append /m/n 1 1"), -ENOSPC);
    rig_script("rm /m/g\nappend /m/n 1 1\n");
    rig_end();
}

/* There are inodes for f0 to f116. No file, directory or link can be made
 * beyond, until one file is removed. */
TEST(when_all_inodes_are_in_use_no_name_is_made)
{
    rig_make(NULL);
    rig_script("mount /m\nmkdir /m/d\n");
    check_eq(rig_do("many /m/d 500 f"), -ENOSPC);
    check_eq(rig_do("stat /m/d/f116"), 0);
    check_eq(rig_do("stat /m/d/f117"), -ENOENT);
    check_eq(rig_do("mkdir /m/e"), -ENOSPC);
    check_eq(rig_do("symlink a /m/e"), -ENOSPC);
    rig_end();
    rig_script("mount /m\nrm /m/d/f50\nmkdir /m/e\n");
    rig_end();
}

/* ---- fsync and sync ---- */

/* After an fsync of f its 20,000 bytes are on the disk, and those of g are not.
 * Failures of writes and flushes are returned. */
TEST(fsync_has_the_file_and_its_inode_on_the_disk_and_no_other)
{
    rig_make(NULL);
    rig_script("mount /m\ncreate /m/f\ncreate /m/g\nsync\n"
               "pwrite /m/f 0 20000 1\npwrite /m/g 0 20000 2\n");
    u32 f = image_ino(rig_image(), "/f"), g = image_ino(rig_image(), "/g");
    check_eq(image_inode(rig_image(), f)->size, 0);
    rig_script("fsync /m/f\n");
    check_eq(shim_unflushed(rig_disk), 0);
    check_eq(image_inode(rig_image(), f)->size, 20000);
    u32 of_g = 0; /* blocks of g whose contents are on the disk */
    for (u32 b = 0; b < 19; b++) {
        const u8 *in_f = image_block(rig_image(), image_map(rig_image(), f, b));
        check_eq(*in_f, command_pattern(1, b * 1024));
        const u32 *p = image_inode(rig_image(), g)->block;
        of_g += b < 12U && p[b] && *(u8 *)image_block(rig_image(), p[b]) != 0;
    }
    check_eq(of_g, 0);
    shim_fail(FAULT_FLUSH, rig_disk, 1, false);
    check_eq(rig_do("fsync /m/f"), -EIO);
    shim_fail(FAULT_WRITE, rig_disk, 1, false);
    check_eq(rig_do("fsync /m/g"), -EIO);
    shim_fail(FAULT_WRITE, rig_disk, 0, false);
    check_eq(rig_do("fsync /m/g"), 0);
    check_eq(image_inode(rig_image(), g)->size, 20000);
    check_eq(rig_do("append /m/f 1 1"), 0);
    shim_fail(FAULT_FLUSH, rig_disk, 1, false);
    check_eq(rig_do("sync"), -EIO);
    shim_fail(FAULT_WRITE, rig_disk, 1, false);
    rig_script("append /m/f 1 1\n");
    check_eq(rig_do("sync"), -EIO);
    shim_fail(FAULT_FLUSH, NULL, 0, false);
    rig_end();
}

/* ---- extended attributes ---- */

/* Give f a block of attributes, and if `both` give g the same block. The block
 * says that `count` files have it. Returns the block's number. */
static u32 attributes(u32 magic, u32 count, bool both)
{
    rig_restore();
    u32 blkno = 100;
    u8 *image = rig_image();
    image_use(image, blkno, 1, true);
    struct ext2_xattr *x = image_block(image, blkno);
    x->magic = magic;
    x->refcount = count;
    const char *names[] = {"/f", "/g"};
    for (u32 i = 0; i < (both ? 2 : 1); i++) {
        struct ext2_inode *in = image_inode(image, image_ino(image, names[i]));
        in->file_acl = blkno;
        in->blocks += 2;
    }
    return blkno;
}

/* Two files share a block of attributes, which counts them. It is freed with
 * the second one. */
TEST(attributes_go_with_the_last_file_that_has_them)
{
    rig_make(NULL);
    rig_script("mount /m\nwrite /m/f 100 1\nwrite /m/g 100 1\numount /m\n");
    rig_keep();
    u32 b = attributes(EXT2_XATTR_MAGIC, 1, false);
    rig_script("mount /m\nappend /m/f 3000 1\nrm /m/f\n");
    rig_end();
    check_eq(image_used(rig_image(), b), false);
    b = attributes(EXT2_XATTR_MAGIC, 2, true);
    rig_script("mount /m\nrm /m/f\n");
    rig_end();
    check_eq(image_used(rig_image(), b), true);
    check_eq(((struct ext2_xattr *)image_block(rig_image(), b))->refcount, 1);
    rig_script("mount /m\nrm /m/g\n");
    rig_end();
    check_eq(image_used(rig_image(), b), false);
}

/* Remove the name of the file, while the n-th read (0: none) fails. Return what
 * the kernel printed. */
static const char *remove_damaged(u32 n)
{
    rig_script("mount /m\n");
    shim_printed();
    shim_fail(FAULT_READ, rig_disk, n, false);
    rig_do("rm /m/f");
    shim_fail(FAULT_READ, rig_disk, 0, false);
    const char *said = shim_printed();
    check_eq(rig_do("create /m/x"), *said ? -EROFS : 0);
    rig_script("umount /m\n");
    return said;
}

/* With a wrong magic, count or block, or if it cannot be read, the block is not
 * freed, and the kernel says so. */
TEST(damaged_attributes_are_left_alone)
{
    rig_make(NULL);
    rig_script("mount /m\nwrite /m/f 100 1\nwrite /m/g 100 1\numount /m\n");
    rig_keep();
    u32 b = attributes(EXT2_XATTR_MAGIC + 1, 1, false);
    check(strstr(remove_damaged(0), "attributes in block 100: damaged"));
    check_eq(image_used(rig_image(), b), true);
    attributes(EXT2_XATTR_MAGIC, 0, false);
    check(strstr(remove_damaged(0), "attributes in block 100: damaged"));
    check_eq(image_used(rig_image(), b), true);
    attributes(EXT2_XATTR_MAGIC, 1, false);
    image_inode(rig_image(), image_ino(rig_image(), "/f"))->file_acl = 4;
    check(strstr(remove_damaged(0), "attributes in block 4 are no file's"));
    u32 found = 0;
    for (u32 n = 1; n < 20; n++) {
        attributes(EXT2_XATTR_MAGIC, 1, false);
        found += !!strstr(remove_damaged(n), "100: cannot be read");
    }
    check_eq(found, 1);
}

/* ---- inodes in memory ---- */

/* 3,000 files are looked at in order, twice. Of what stays in memory the last
 * 1,020 must be there, and of all but the last 1,100 none. */
TEST(inodes_that_were_used_last_stay_in_memory)
{
    rig_make(&(struct image_options){
        .blocks_per_group = 8000, .blocks = 2001, .inodes_per_group = 4000});
    shim_fail(FAULT_PAGE, NULL, 200, true); /* so few pages do */
    rig_script("mount /m\nmkdir /m/d\n");
    for (u32 i = 0; i < 3000; i += 1000)
        check_eq(rig_do("many /m/d 1000 %u_", i), 0);
    u64 in_use = ext2_inodes_in_use();
    rig_script("umount /m\nmount /m\n");
    check_eq(ext2_inodes_in_use(), in_use);
    struct inode *dir = rig_open("/m/d"), *ip;
    struct fs *fs = dir->fs;
    u32 first = image_ino(rig_image(), "/d/0_0"), missing = 0, kept = 0;
    iunlock(dir);
    for (u32 round = 0; round < 2; round++)
        for (u32 ino = first; ino < first + 3000; ino++) {
            check_eq(iget(fs, ino, &ip), 0);
            if (round && ino == first + 2900)
                kept += ip->valid;
            ilock(ip);
            check_eq(ivalid(ip), 0);
            iunlock(ip);
            iput(ip);
        }
    /* at least 1024 of the last ones are there; the first are not */
    for (u32 ino = first; ino < first + 3000; ino++) {
        check_eq(iget(fs, ino, &ip), 0);
        bool there = ip->valid;
        iput(ip);
        if (ino < first + 3000 - 1100)
            missing += !there;
        else if (ino >= first + 3000 - 1020)
            kept += there;
    }
    check_eq(shim_failed(), false);
    check_eq(missing, 1900);
    check_eq(kept, 1020);
    iput(dir);
    rig_end();
}

/* No page can be had any more. Inodes are taken until there is no memory; when
 * one is let go, another one takes its memory. */
TEST(without_memory_for_an_inode_an_idle_one_gives_way)
{
    static struct inode *ips[4000];
    u32 n = 0;
    rig_make(&(struct image_options){
        .blocks_per_group = 8000, .blocks = 2001, .inodes_per_group = 4000});
    rig_script("mount /m\nmkdir /m/d\nmany /m/d 1000 x\nmany /m/d 1000 y\n");
    struct inode *dir = rig_open("/m/d");
    struct fs *fs = dir->fs;
    u32 first = image_ino(rig_image(), "/d/x0");
    iunlock(dir);
    shim_fail(FAULT_PAGE, NULL, 1, true);
    while (n < 2000 && iget(fs, first + n, &ips[n]) == 0)
        n++;
    check(n > 1000 && n < 1400);
    check_eq(ext2_inodes_in_use(), n + 4); /* two roots, /m, and d */
    check_eq(rig_do("create /m/n"), -ENOMEM);
    check_eq(rig_do("stat /m/d/y999"), -ENOMEM);
    iput(ips[--n]);
    check_eq(rig_do("stat /m/d/y999"), 0);
    check_eq(rig_do("stat /m/d/y998"), 0);
    shim_fail(FAULT_PAGE, NULL, 0, false);
    check_eq(iget(fs, first + n, &ips[n]), 0);
    n++;
    while (n)
        iput(ips[--n]);
    iput(dir);
    rig_end();
}

/* 128 inodes, of which 2 is the root and 11 the first of files. */
TEST(a_number_that_no_inode_has_is_not_named)
{
    rig_make(NULL);
    rig_script("mount /m\n");
    struct inode *ip = rig_open("/m");
    for (u32 ino = 0; ino < 140; ino++)
        check_eq(ino_ok(ip->fs, ino), ino == 2 || (ino >= 11 && ino <= 128));
    rig_close(ip);
    rig_end();
}

/* A file that is held is removed: it keeps its 21 blocks until it is released,
 * or until the shutdown. */
TEST(a_nameless_file_is_freed_with_its_last_user)
{
    rig_make(NULL);
    rig_script("mount /m\nwrite /m/f 20000 1\nhold 1 /m/f\nrm /m/f\n");
    u32 ino = 0;
    for (u32 i = 11; i <= 128; i++)
        if (image_inode(rig_image(), i)->mode)
            ino = i;
    rig_script("sync\n");
    check_eq(image_inode(rig_image(), ino)->links_count, 0);
    check_eq(image_super(rig_image())->free_blocks_count, 480 - 21);
    check_eq(rig_do("grow 1 5000 1"), 0);
    rig_script("release 1\nsync\n");
    check_eq(image_super(rig_image())->free_blocks_count, 480);
    rig_end();
    shim.now_s = 12345;
    rig_script("mount /m\nwrite /m/f 20000 1\nhold 1 /m/f\nrm /m/f\n");
    check_eq(ext2_shutdown(), 0);
    check_eq(image_super(rig_image())->free_blocks_count, 480);
    check_eq(image_super(rig_image())->state, EXT2_VALID_FS);
    free(rig_look(rig_image(), IMAGE_WHOLE, "the shutdown"));
    rig_script("release 1\numount /m\n");
    check_eq(image_inode(rig_image(), ino)->dtime, 12345);
    check_eq(ext2_inodes_in_use(), 1);
}

/* The current directory is removed: nothing can be found or made in it, and its
 * list is empty. */
TEST(a_directory_removed_under_its_user_has_no_names)
{
    rig_make(NULL);
    rig_script("mount /m\nmkdir /m/d\ncd /m/d\nrmdir /m/d\n");
    check_eq(rig_do("create x"), -ENOENT);
    check_eq(rig_do("stat ."), -ENOENT);
    check_eq(rig_do("stat .."), -ENOENT);
    check_eq(rig_do("mkdir x"), -ENOENT);
    check_eq(rig_do("mv /m/none x"), -ENOENT);
    check_eq(rig_do("rm x"), -ENOENT);
    check_eq(rig_do("ls ."), -ENOENT);
    struct inode *ip = myproc()->cwd;
    char buf[500];
    struct uio u = {.addr = (u64)buf, .left = sizeof(buf)};
    ilock(ip);
    check_eq(ext2_getdents(ip, &u, NULL), 0);
    check_eq(u.left, sizeof(buf));
    iunlock(ip);
    rig_script("cd /\n");
    rig_end();
}

/* Each inode that is made has the next number of its kind. */
TEST(generations_follow_each_other)
{
    rig_make(NULL);
    shim.now_s = 1000;
    rig_script("mount /m\ncreate /m/a\nmkdir /m/b\n");
    shim.now_s = 2000;
    rig_script("symlink x /m/c\nrm /m/a\ncreate /m/d\n");
    rig_end();
    u8 *i = rig_image();
    check_eq(image_inode(i, image_ino(i, "/b"))->generation, 1001);
    check_eq(image_inode(i, image_ino(i, "/c"))->generation, 1002);
    check_eq(image_inode(i, image_ino(i, "/d"))->generation, 1003);
    check_eq(image_inode(i, image_ino(i, "/d"))->ctime, 2000);
}

/* Set fields of an inode that the kernel does not use. A change of the file
 * keeps them, and a new file in the same inode has none. */
TEST(flags_and_words_that_are_not_ours_are_kept)
{
    rig_make(NULL);
    rig_script("mount /m\nwrite /m/f 100 1\numount /m\n");
    struct ext2_inode *in =
        image_inode(rig_image(), image_ino(rig_image(), "/f"));
    in->flags = 0x40;
    in->uid = 7;
    in->gid = 8;
    in->osd1 = 9;
    in->faddr = 10;
    memset(in->osd2, 11, sizeof(in->osd2));
    rig_script("mount /m\nappend /m/f 3000 1\nchmod /m/f 600\n");
    rig_end();
    check_eq(in->flags, 0x40);
    check_eq(in->uid, 7);
    check_eq(in->gid, 8);
    check_eq(in->osd1, 9);
    check_eq(in->faddr, 10);
    check_eq(in->osd2[11], 11);
    u32 ino = image_ino(rig_image(), "/f");
    rig_script("mount /m\nrm /m/f\ncreate /m/g\n");
    rig_end();
    check_eq(image_ino(rig_image(), "/g"), ino);
    check_eq(in->uid, 0); /* a new one has nothing of the old */
    check_eq(in->flags, 0);
    check_eq(in->osd2[11], 0);
}

/* The free inodes are full of garbage. Each that is used must be cleared to its
 * last byte. */
TEST(inodes_of_256_bytes_are_used_whole)
{
    rig_make(&(struct image_options){.inode_bytes = 256});
    u8 *image = rig_image();
    for (u32 ino = 11; ino <= 128; ino++)
        memset(image_inode(image, ino), 0xaa, 256);
    for (u32 ino = 11; ino <= 128; ino++)
        image_inode(image, ino)->links_count = 0;
    rig_script("mount /m\nmkdir /m/d\n");
    check_eq(rig_do("many /m/d 117 f"), 0);
    check_eq(rig_do("rmmany /m/d 117 f"), 0);
    check_eq(rig_do("umount /m"), 0);
    for (u32 ino = 11; ino <= 128; ino++)
        check_eq(((u8 *)image_inode(image, ino))[255], 0);
}

/* Clear the bit of inode 11, a file. A new file would get it: that is an error,
 * and the file stays as it is. */
TEST(an_inode_in_use_that_the_bitmap_calls_free_is_not_given_out)
{
    rig_make(NULL);
    rig_script("mount /m\nwrite /m/f 100 1\numount /m\n");
    u8 *image = rig_image();
    u32 ino = image_ino(image, "/f");
    ((u8 *)image_block(image, image_group(image, 0)->inode_bitmap))[1] &=
        ~(1 << (ino - 1) % 8);
    image_group(image, 0)->free_inodes_count++;
    rig_keep();
    rig_script("mount /m\n");
    shim_printed();
    check_eq(rig_do("create /m/g"), -EIO);
    check(strstr(shim_printed(), "free inode 11 has names"));
    check_eq(rig_do("create /m/h"), -EROFS);
    rig_script("umount /m\n");
    rig_restore();
    rig_script("mount /m\nhold 1 /m/f\n");
    shim_printed();
    check_eq(rig_do("create /m/g"), -EIO);
    check(strstr(shim_printed(), "free inode 11 is in use"));
    rig_script("release 1\n");
    check_eq(rig_do("verify /m/f 0 100 1"), 0);
    rig_script("umount /m\n");
}

/* ---- what is freed before it is written ---- */

/* True if each unused block is as it was in the image that was kept. */
static bool free_blocks_untouched(void)
{
    const struct ext2_super *sb = image_super(rig_image());
    u32 bytes = image_block_bytes(rig_image());
    for (u32 b = sb->first_data_block; b < sb->blocks_count; b++) {
        if (!image_used(rig_image(), b) &&
            memcmp(image_block(rig_image(), b), rig_kept() + (u64)b * bytes,
                   bytes))
            return false;
    }
    return true;
}

/* A file's blocks are dirty when it is removed, cut or overwritten. A sync must
 * not write a free block. */
TEST(a_block_that_is_freed_before_its_delayed_write_is_never_written)
{
    static const char *const ends[] = {"rm /m/t", "truncate /m/t 0",
                                       "write /m/t 0 1", "mv /m/none /m/t"};
    rig_make(NULL);
    rig_script("mount /m\ncreate /m/none\nmkdir /m/d\numount /m\n");
    rig_keep();
    for (u32 i = 0; i < NELEM(ends); i++) {
        rig_restore();
        rig_script("mount /m\nwrite /m/t 9000 1\n");
        check_eq(rig_do("%s", ends[i]), 0);
        rig_script("sync\n");
        check(free_blocks_untouched());
        rig_end();
    }
}
