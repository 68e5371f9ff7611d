/* Descriptors: dup, limits, the flags of open, devices. */
#include "user/usertests/usertests.h"

/* ---- descriptors ---- */

static void calls_with_fd(int fd)
{
    struct stat st;
    FAILS(EBADF, close(fd));
    FAILS(EBADF, read(fd, buf, 1));
    FAILS(EBADF, write(fd, buf, 1));
    FAILS(EBADF, pread(fd, buf, 1, 0));
    FAILS(EBADF, pwrite(fd, buf, 1, 0));
    FAILS(EBADF, lseek(fd, 0, SEEK_SET));
    FAILS(EBADF, dup(fd));
    FAILS(EBADF, dup2(fd, 5));
    FAILS(EBADF, ioctl(fd, TTY_COOKED, 0));
    FAILS(EBADF, fstat(fd, &st));
    FAILS(EBADF, getdents(fd, buf, 1000));
    FAILS(EBADF, ftruncate(fd, 0));
    FAILS(EBADF, fsync(fd));
    FAILS(EBADF, fdatasync(fd));
    FAILS(EBADF, advise(fd, 0, 0, ADVICE_NORMAL));
}

TEST(a_number_that_is_no_descriptor_gives_ebadf)
{
    const int fds[] = {-1, 40, MAX_FDS - 1, MAX_FDS, 1000, 1 << 30, 1 << 31};
    for (u32 i = 0; i < NELEM(fds); i++)
        calls_with_fd(fds[i]);
    FAILS(EBADF, dup2(1, MAX_FDS));
    FAILS(EBADF, dup2(1, -1));
    IS(raw_call(SYS_close, 1UL << 32, 0, 0), -EBADF);
}

TEST(reading_and_writing_need_the_right_to)
{
    int in = OK(open("f", O_RDONLY | O_CREAT, 0644)), out, fds[2];
    out = OK(open("f", O_WRONLY));
    OK(pipe(fds));
    FAILS(EBADF, write(in, buf, 1));
    FAILS(EBADF, pwrite(in, buf, 1, 0));
    FAILS(EBADF, ftruncate(in, 0));
    FAILS(EBADF, read(out, buf, 1));
    FAILS(EBADF, pread(out, buf, 1, 0));
    FAILS(EBADF, write(fds[0], buf, 1));
    FAILS(EBADF, read(fds[1], buf, 1));
}

TEST(advice_is_of_files_and_of_a_kind_that_there_is)
{
    int fd = OK(open("f", O_RDONLY | O_CREAT, 0644)), fds[2];
    for (int advice = ADVICE_NORMAL; advice <= ADVICE_DONTNEED; advice++)
        OK(advise(fd, 0, 0, advice));
    OK(advise(fd, 1UL << 40, 1UL << 40, ADVICE_WILLNEED));
    FAILS(EINVAL, advise(fd, 0, 0, ADVICE_DONTNEED + 1));
    FAILS(EINVAL, advise(fd, -1UL, 0, ADVICE_WILLNEED));
    FAILS(EINVAL, advise(fd, 0, -1UL, ADVICE_WILLNEED));
    FAILS(EINVAL, advise(fd, 4096, 0, ADVICE_RANDOM));
    FAILS(EINVAL, advise(fd, 0, 4096, ADVICE_SEQUENTIAL));
    FAILS(EINVAL, advise(OK(open(".", O_RDONLY)), 0, 0, ADVICE_NORMAL));
    FAILS(EINVAL, advise(OK(open("/dev/null", O_RDONLY)), 0, 0, 0));
    OK(pipe(fds));
    FAILS(ESPIPE, advise(fds[0], 0, 0, ADVICE_NORMAL));
}

TEST(descriptors_run_out_and_the_lowest_free_one_is_given)
{
    int fds[2], n = 0, fd;
    while ((fd = open("/dev/null", O_RDONLY)) >= 0)
        n = fd;
    IS(errno, EMFILE);
    IS(n, MAX_FDS - 1);
    FAILS(EMFILE, dup(1));
    FAILS(EMFILE, pipe(fds));
    close(30);
    FAILS(EMFILE, pipe(fds));
    IS(dup(1), 30);
    close(40);
    close(20);
    IS(open(".", O_RDONLY), 20);
    IS(open(".", O_RDONLY), 40);
}

static void opens_many(u64 pipes)
{
    int *tell = (int *)pipes, *hold = tell + 2, fd;
    while ((fd = open("/dev/null", O_RDONLY)) >= 0)
        ;
    char error = errno;
    IS(write(tell[1], &error, 1), 1);
    waits_for_end((u64)hold);
}

TEST(the_table_of_files_fills_and_empties)
{
    int pipes[4], n = 0;
    char error = 0;
    OK(pipe(pipes));
    OK(pipe(pipes + 2));
    for (; error != ENFILE; n++) {
        TRUE(n < 100);
        SPAWN(opens_many, (u64)pipes);
        IS(read(pipes[0], &error, 1), 1);
        TRUE(error == EMFILE || error == ENFILE);
    }
    FAILS(ENFILE, open(".", O_RDONLY));
    FAILS(ENFILE, pipe((int[2]){0}));
    close_both(pipes + 2);
    for (int status; n > 0; n--) {
        OK(wait(-1, &status, 0));
        IS(status, 0);
    }
    close(OK(open(".", O_RDONLY)));
}

TEST(duplicates_share_the_offset)
{
    WRITE_FILE("f", 1000, 1);
    int fd = OK(open("f", O_RDONLY)), copy = OK(dup(fd));
    int other = OK(open("f", O_RDONLY));
    IS(read(fd, buf, 100), 100);
    IS(lseek(copy, 0, SEEK_CUR), 100);
    IS(lseek(other, 0, SEEK_CUR), 0);
    IS(dup2(fd, other), other);
    IS(lseek(other, 0, SEEK_CUR), 100);
    IS(dup2(fd, fd), fd);
    JOIN(SPAWN(reads_for_ever, fd)); /* one byte */
    IS(lseek(fd, 0, SEEK_CUR), 101);
    OK(close(fd));
    IS(read(copy, buf, 1), 1);
    IS(buf[0], pattern_byte(1, 101));
}

/* ---- open ---- */

TEST(open_refuses_flags_that_make_no_sense)
{
    const int flags[] = {O_ACCMODE, O_TRUNC, O_EXCL, O_CREAT | O_DIRECTORY,
                         0x1000,    4,       1 << 30};
    for (u32 i = 0; i < NELEM(flags); i++)
        FAILS(EINVAL, open("f", flags[i], 0644));
    FAILS(EINVAL, open("f", O_RDWR | O_CREAT, 010000));
    TRUE(!exists("f"));
}

TEST(open_says_why_a_path_leads_nowhere)
{
    WRITE_FILE("f", 1, 1);
    OK(mkdir("d", 0755));
    OK(symlink("d", "to-d"));
    FAILS(ENOENT, open("missing", O_RDONLY));
    FAILS(ENOENT, create("missing/f"));
    FAILS(ENOENT, open("", O_RDONLY));
    FAILS(ENOENT, create(""));
    FAILS(ENOTDIR, open("f/x", O_RDONLY));
    FAILS(ENOTDIR, open("f/", O_RDONLY));
    FAILS(ENOTDIR, open("f/..", O_RDONLY));
    FAILS(ENOTDIR, open("f", O_RDONLY | O_DIRECTORY));
    FAILS(EEXIST, open("f", O_RDWR | O_CREAT | O_EXCL, 0644));
    FAILS(EEXIST, open("to-d", O_RDWR | O_CREAT | O_EXCL, 0644));
    FAILS(EISDIR, open("d", O_WRONLY));
    FAILS(EISDIR, open("to-d", O_RDWR));
    FAILS(ELOOP, open("to-d", O_RDONLY | O_NOFOLLOW));
    close(OK(open("to-d", O_RDONLY | O_DIRECTORY)));
    close(OK(open("to-d/..///./f", O_RDONLY | O_NOFOLLOW)));
}

TEST(names_and_paths_have_their_limits)
{
    char name[NAME_BYTES + 2], path[PATH_BYTES + 1];
    memset(name, 'n', sizeof name);
    name[NAME_BYTES + 1] = 0;
    FAILS(ENAMETOOLONG, create(name));
    FAILS(ENAMETOOLONG, open(name, O_RDONLY));
    FAILS(ENAMETOOLONG, mkdir(name, 0755));
    FAILS(ENAMETOOLONG, symlink("x", name));
    WRITE_FILE("f", 10, 1);
    FAILS(ENAMETOOLONG, rename("f", name));
    name[NAME_BYTES] = 0;
    OK(rename("f", name));
    CHECK_FILE(name, 10, 1);

    memset(path, '/', sizeof path);
    path[PATH_BYTES] = 0;
    FAILS(ENAMETOOLONG, open(path, O_RDONLY));
    path[PATH_BYTES - 1] = 0;
    close(OK(open(path, O_RDONLY)));
}

/* ---- devices ---- */

TEST(a_node_of_a_device_reaches_the_device)
{
    OK(mknod("zero", S_IFCHR | 0600, 3 << 8));
    int fd = OK(open("zero", O_RDWR));
    buf[0] = buf[sizeof buf - 1] = 1;
    IS(read(fd, buf, sizeof buf), sizeof buf);
    TRUE(is_zero(buf, sizeof buf));
    IS(write(fd, buf, 1000), 1000);
    IS(STAT("zero").st_rdev, 3 << 8);
    IS(STAT("zero").st_mode, S_IFCHR | 0600);
    OK(mknod("none", S_IFCHR | 0600, 0xff00));
    FAILS(ENXIO, open("none", O_RDONLY));
    FAILS(EEXIST, mknod("zero", S_IFCHR | 0600, 3 << 8));
    FAILS(ENOENT, mknod("missing/x", S_IFCHR | 0600, 3 << 8));
    FAILS(EINVAL, mknod("x", S_IFREG | 0600, 0));
    FAILS(EINVAL, mknod("x", S_IFCHR | 0600, 0x10000));
}

TEST(devices_refuse_what_they_cannot_do)
{
    int null = OK(open("/dev/null", O_RDWR)), file = OK(create("f")), fds[2];
    int rows = OK(open("/dev/stat", O_RDWR));
    int console = OK(open("/dev/console", O_RDWR));
    OK(pipe(fds));
    IS(read(null, buf, 10), 0);
    IS(write(null, buf, 10), 10);
    FAILS(ENODEV, write(rows, buf, 10));
    FAILS(ENOTTY, ioctl(null, TTY_COOKED, 0));
    FAILS(ENOTTY, ioctl(file, TTY_COOKED, 0));
    FAILS(ENOTTY, ioctl(fds[0], TTY_COOKED, 0));
    FAILS(ENOTTY, ioctl(console, 99, 0));
    FAILS(EINVAL, ioctl(console, TTY_FOREGROUND, 1UL << 32));
    FAILS(ENOTDIR, getdents(null, buf, 1000));
}

TEST(a_raw_disk_is_read_by_the_sector)
{
    int disk = OK(open("/dev/disk0", O_RDWR));
    struct stat st;
    OK(fstat(disk, &st));
    IS(lseek(disk, 0, SEEK_END), st.st_size);
    IS(pread(disk, buf, 1024, 1024), 1024);
    IS((u8)buf[56] | (u8)buf[57] << 8, 0xef53); /* ext2's magic */
    FAILS(EINVAL, pread(disk, buf, 100, 0));
    FAILS(EINVAL, pread(disk, buf, 512, 100));
    IS(pread(disk, buf, 512, st.st_size), 0);
    IS(pread(disk, buf, 1024, st.st_size - 512), 512);
    FAILS(EBUSY, pwrite(disk, buf, 512, 0));
}
