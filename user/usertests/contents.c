/* The contents of files: reading, writing, truncating, syncing. */
#include "user/usertests/usertests.h"

TEST(files_of_telling_sizes_keep_their_bytes)
{
    u64 block = STAT(".").st_blksize;
    const u64 sizes[] = {0,      1,         511,        block - 1,
                         block,  block + 1, 12 * block, 12 * block + 1,
                         3000000};
    for (u32 i = 0; i < NELEM(sizes); i++) {
        WRITE_FILE("f", sizes[i], i);
        CHECK_FILE("f", sizes[i], i);
        IS(STAT("f").st_size, sizes[i]);
        TRUE(STAT("f").st_blocks * 512 >= sizes[i]);
    }
}

TEST(the_offset_goes_where_lseek_puts_it)
{
    int fd = OK(create("f")), fds[2];
    IS(write(fd, "0123456789", 10), 10);
    IS(lseek(fd, 3, SEEK_SET), 3);
    IS(lseek(fd, 4, SEEK_CUR), 7);
    IS(read(fd, buf, 10), 3);
    IS(lseek(fd, -8, SEEK_END), 2);
    IS(read(fd, buf, 1), 1);
    IS(buf[0], '2');
    IS(lseek(fd, 100, SEEK_END), 110);
    IS(read(fd, buf, 10), 0);
    FAILS(EINVAL, lseek(fd, -1, SEEK_SET));
    FAILS(EINVAL, lseek(fd, -111, SEEK_CUR));
    FAILS(EINVAL, lseek(fd, ~0UL >> 1, SEEK_CUR));
    FAILS(EINVAL, lseek(fd, 0, 3));
    FAILS(EINVAL, lseek(fd, 0, -1));
    IS(lseek(fd, 0, SEEK_CUR), 110);
    OK(pipe(fds));
    FAILS(ESPIPE, lseek(fds[0], 0, SEEK_CUR));
    FAILS(ESPIPE, pread(fds[0], buf, 1, 0));
    FAILS(ESPIPE, pwrite(fds[1], buf, 1, 0));
}

TEST(pread_and_pwrite_leave_the_offset)
{
    int fd = OK(create("f"));
    IS(write(fd, "0123456789", 10), 10);
    IS(pwrite(fd, "ab", 2, 4), 2);
    IS(pread(fd, buf, 100, 3), 7);
    IS(memcmp(buf, "3ab6789", 7), 0);
    IS(pread(fd, buf, 100, 10), 0);
    IS(lseek(fd, 0, SEEK_CUR), 10);
    IS(write(fd, buf, 0), 0);
    IS(pwrite(fd, buf, 0, 1000), 0);
    IS(STAT("f").st_size, 10);
}

TEST(open_flags_decide_where_writing_begins)
{
    WRITE_FILE("f", 10, 1);
    int fd = OK(open("f", O_RDWR | O_APPEND));
    IS(lseek(fd, 3, SEEK_SET), 3);
    IS(write(fd, "x", 1), 1);
    IS(STAT("f").st_size, 11);
    IS(lseek(fd, 0, SEEK_CUR), 11);
    fd = OK(open("f", O_RDWR | O_TRUNC));
    IS(STAT("f").st_size, 0);
    fd = OK(open("f", O_RDWR | O_SYNC));
    IS(write(fd, "x", 1), 1);
}

TEST(a_hole_reads_as_zeros_and_takes_no_blocks)
{
    int fd = OK(create("f"));
    IS(pwrite(fd, "end", 3, 10000000), 3);
    TRUE(STAT("f").st_blocks * 512 < 100000);
    for (u64 at = 0; at < 10000000; at += 999983) {
        memset(buf, 1, 5000);
        IS(pread(fd, buf, 5000, at), MIN(5000, 10000003 - at));
        TRUE(is_zero(buf, MIN(5000, 10000000 - at)));
    }
    IS(pwrite(fd, "middle", 6, 5000000), 6);
    IS(pread(fd, buf, 100, 4999990), 100);
    TRUE(is_zero(buf, 10) && !memcmp(buf + 10, "middle", 6));
    TRUE(is_zero(buf + 16, 84));
}

/* The first byte of the part reached through this many indirect blocks. */
static u64 level_start(int levels)
{
    u64 block = STAT(".").st_blksize, start = 12, span = 1;
    for (int i = 1; i < levels; i++)
        start += span *= block / 4;
    return start * block;
}

TEST(a_file_reaches_through_three_indirect_blocks)
{
    int fd = OK(create("f"));
    for (int level = 3; level >= 1; level--)
        IS(pwrite(fd, "crossing", 8, level_start(level) - 4), 8);
    IS(STAT("f").st_size, level_start(3) + 4);
    for (int level = 1; level <= 3; level++) {
        IS(pread(fd, buf, 8, level_start(level) - 4), 8);
        IS(memcmp(buf, "crossing", 8), 0);
    }
    u64 beyond = MAX(level_start(3), 1UL << 32) + 12345;
    IS(pwrite(fd, "far", 3, beyond), 3);
    IS(pread(fd, buf, 100, beyond - 1), 4);
    IS(memcmp(buf, "\0far", 4), 0);
    IS(STAT("f").st_size, beyond + 3);
    TRUE(STAT("f").st_blocks * 512 < 40 * STAT("f").st_blksize);
}

TEST(a_file_cannot_outgrow_the_format)
{
    int fd = OK(create("f"));
    FAILS(EFBIG, pwrite(fd, "x", 1, 1UL << 62));
    FAILS(EFBIG, pwrite(fd, "x", 1, ~0UL >> 1));
    FAILS(EFBIG, ftruncate(fd, 1UL << 62));
    FAILS(EFBIG, truncate("f", ~0UL >> 1));
    IS(STAT("f").st_size, 0);
}

TEST(truncate_frees_blocks_and_leaves_zeros)
{
    WRITE_FILE("f", 1000000, 1);
    u64 blocks = STAT("f").st_blocks;
    OK(truncate("f", 1234));
    TRUE(STAT("f").st_blocks < blocks / 50);
    OK(truncate("f", 9000));
    int fd = OK(open("f", O_RDWR));
    IS(read(fd, buf, 10000), 9000);
    IS(buf[1233], pattern_byte(1, 1233));
    TRUE(is_zero(buf + 1234, 9000 - 1234));
    OK(ftruncate(fd, 0));
    IS(STAT("f").st_blocks, 0);
    OK(ftruncate(fd, level_start(3) + 5));
    IS(STAT("f").st_blocks, 0);
    IS(pread(fd, buf, 10, level_start(3)), 5);
}

TEST(truncate_refuses_what_has_no_size)
{
    int fds[2];
    OK(mkdir("d", 0755));
    OK(pipe(fds));
    WRITE_FILE("f", 10, 1);
    FAILS(EISDIR, truncate("d", 0));
    FAILS(ENOENT, truncate("missing", 0));
    FAILS(EINVAL, truncate("/dev/null", 0));
    FAILS(EINVAL, truncate("f", ~0UL));
    FAILS(EINVAL, ftruncate(fds[1], 0));
    CHECK_FILE("f", 10, 1);
}

TEST(a_full_disk_refuses_and_recovers)
{
    struct statfs before = space();
    int fd = OK(create("f"));
    u64 written = 0;
    for (i64 n; (n = write(fd, buf, sizeof buf)) > 0;)
        written += n;
    IS(errno, ENOSPC);
    IS(STAT("f").st_size, written);
    TRUE(space().free_blocks * before.block_size < sizeof buf);
    OK(close(fd));
    OK(unlink("f"));
    IS(space().free_blocks, before.free_blocks);
    WRITE_FILE("f", 100000, 1);
    CHECK_FILE("f", 100000, 1);
}

TEST(what_is_synced_is_no_longer_dirty)
{
    int fd = OK(create("f")), fds[2];
    OK(pipe(fds));
    IS(write(fd, buf, sizeof buf), sizeof buf);
    OK(fsync(fd));
    IS(write(fd, buf, sizeof buf), sizeof buf);
    OK(sync());
    IS(gauge("bio.dirty"), 0);
    OK(smoothsync(0));
    FAILS(EINVAL, smoothsync(~0UL));
    FAILS(EINVAL, fsync(fds[0]));
}

/* Each place has a block of pointers of its own, which waits for the data: of
 * two files they are more than 16 buffers, and far more than may wait. */
TEST(confirmed_holes_are_filled_however_few_buffers_there_are)
{
    enum { FILES = 2, PLACES = 12, STEP = 5 << 20 };
    char got[150];
    int fds[FILES] = {OK(create("f")), OK(create("g"))};
    memset(buf, 'h', 100);
    for (i64 f = 0; f < FILES; f++) {
        OK(ftruncate(fds[f], (i64)PLACES * STEP));
        OK(fsync(fds[f]));
    }
    for (i64 i = 0; i < FILES * PLACES; i++)
        IS(pwrite(fds[i % FILES], buf, 100, i / FILES * STEP + 50), 100);
    for (i64 f = 0; f < FILES; f++)
        OK(fsync(fds[f]));
    for (i64 i = 0; i < FILES * PLACES; i++) {
        IS(pread(fds[i % FILES], got, sizeof got, i / FILES * STEP),
           sizeof got);
        TRUE(is_zero(got, 50) && !memcmp(got + 50, buf, 100));
    }
    for (i64 f = 0; f < FILES; f++)
        OK(ftruncate(fds[f], STEP + 70));
    OK(sync());
    IS(gauge("bio.dirty"), 0);
}

TEST(an_fdatasync_leaves_no_data_dirty_and_an_inode_with_new_times)
{
    int fd = OK(create("f")), reader = OK(open("f", O_RDONLY)), fds[2];
    IS(write(fd, buf, sizeof buf), sizeof buf);
    OK(fdatasync(reader));
    OK(sync());
    IS(pwrite(fd, buf, 1, 5), 1);
    OK(fdatasync(reader));
    IS(gauge("bio.dirty"), 1);
    OK(sync());
    IS(pwrite(fd, buf, 1, sizeof buf), 1);
    OK(fdatasync(fd));
    i64 left = gauge("bio.dirty"); /* bitmaps and counts */
    OK(fsync(fd));
    if (gauge("journal.commits")) /* a commit writes what it has in the log */
        TRUE(gauge("bio.dirty") <= left);
    else
        IS(gauge("bio.dirty"), left);
    OK(pipe(fds));
    FAILS(EINVAL, fdatasync(fds[1]));
    FAILS(EINVAL, fdatasync(1)); /* the console */
}
