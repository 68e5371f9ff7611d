/* Arguments that no system call may trust: numbers, addresses, sizes. */
#include "user/usertests/usertests.h"

/* ---- system calls as such ---- */

TEST(a_number_that_is_no_call_gives_enosys)
{
    const u64 numbers[] = {
        0, SYS_count, SYS_count + 1, 1UL << 32 | SYS_getpid, 1UL << 63, ~0UL};
    for (u32 i = 0; i < NELEM(numbers); i++)
        IS(raw_call(numbers[i], 0, 0, 0), -ENOSYS);
}

TEST(poweroff_wants_a_status_of_eight_bits)
{
    FAILS(EINVAL, poweroff(256, true));
    FAILS(EINVAL, poweroff(-1, true));
}

/* ---- bad addresses ---- */

static void paths_at(const char *p)
{
    struct stat st;
    struct statfs fs;
    FAILS(EFAULT, open(p, O_RDONLY));
    FAILS(EFAULT, open(p, O_RDWR | O_CREAT, 0644));
    FAILS(EFAULT, stat(p, &st));
    FAILS(EFAULT, lstat(p, &st));
    FAILS(EFAULT, statfs(p, &fs));
    FAILS(EFAULT, link(p, "x"));
    FAILS(EFAULT, link("f", p));
    FAILS(EFAULT, symlink(p, "x"));
    FAILS(EFAULT, symlink("x", p));
    FAILS(EFAULT, readlink(p, buf, 10));
    FAILS(EFAULT, unlink(p));
    FAILS(EFAULT, mkdir(p, 0755));
    FAILS(EFAULT, rmdir(p));
    FAILS(EFAULT, mknod(p, S_IFCHR | 0600, 0x200));
    FAILS(EFAULT, rename(p, "x"));
    FAILS(EFAULT, rename("f", p));
    FAILS(EFAULT, chmod(p, 0644));
    FAILS(EFAULT, utime(p, 0, 0));
    FAILS(EFAULT, truncate(p, 0));
    FAILS(EFAULT, chdir(p));
    FAILS(EFAULT, mount(p, "/", 0));
    FAILS(EFAULT, umount(p, false));
    FAILS(EFAULT, exec(p, (char *[]){"x", NULL}));
}

TEST(a_path_at_a_bad_address_gives_efault)
{
    WRITE_FILE("f", 10, 1);
    for (u32 i = 0; i < NELEM(bad_addresses); i++)
        paths_at((const char *)bad_addresses[i]);
    CHECK_FILE("f", 10, 1);
}

static void results_to(void *p, int file, const int fds[2])
{
    struct stat before = STAT("f");
    FAILS(EFAULT, read(file, p, 10));
    FAILS(EFAULT, pread(file, p, 10, 0));
    FAILS(EFAULT, read(fds[0], p, 10));
    FAILS(EFAULT, getcwd(p, 100));
    FAILS(EFAULT, readlink("link", p, 10));
    FAILS(EFAULT, fstat(file, p));
    FAILS(EFAULT, stat("f", p));
    FAILS(EFAULT, lstat("f", p));
    FAILS(EFAULT, statfs("f", p));
    FAILS(EFAULT, pipe(p));
    FAILS(EFAULT, rusage(RUSAGE_SELF, p));
    IS(STAT("f").st_size, before.st_size);
}

static void results_of_devices_to(void *p)
{
    const char *devices[] = {"/dev/zero", "/dev/stat",   "/dev/policy",
                             "/dev/proc", "/dev/mounts", "/dev/disk0"};
    for (u32 i = 0; i < NELEM(devices); i++) {
        int fd = OK(open(devices[i], O_RDONLY));
        FAILS(EFAULT, read(fd, p, 512));
        close(fd);
    }
    int fd = OK(open(".", O_RDONLY));
    FAILS(EFAULT, getdents(fd, p, 512));
    close(fd);
}

TEST(a_result_to_a_bad_address_gives_efault)
{
    int fds[2], file;
    WRITE_FILE("f", 100, 1);
    file = OK(open("f", O_RDONLY));
    OK(symlink("target-of-link", "link"));
    OK(pipe(fds));
    IS(write(fds[1], "0123456789", 10), 10);
    for (u32 i = 0; i < NELEM(bad_addresses); i++) {
        results_to((void *)bad_addresses[i], file, fds);
        results_of_devices_to((void *)bad_addresses[i]);
    }
    IS(read(fds[0], buf, 100), 10);
    IS(read(file, buf, 1000), 100);
}

TEST(read_only_memory_is_no_place_for_a_result)
{
    int fds[2], file;
    WRITE_FILE("f", 100, 1);
    file = OK(open("f", O_RDONLY));
    OK(symlink("target-of-link", "link"));
    OK(pipe(fds));
    IS(write(fds[1], "0123456789", 10), 10);
    char before[64];
    memcpy(before, (void *)pattern, sizeof before);
    results_to((void *)pattern, file, fds);
    results_to((void *)bad_addresses, file, fds);
    results_of_devices_to((void *)pattern);
    IS(memcmp(before, (void *)pattern, sizeof before), 0);
}

TEST(bytes_from_a_bad_address_give_efault)
{
    int fds[2], file = OK(create("f"));
    OK(pipe(fds));
    for (u32 i = 0; i < NELEM(bad_addresses); i++) {
        const void *p = (const void *)bad_addresses[i];
        FAILS(EFAULT, write(file, p, 10));
        FAILS(EFAULT, pwrite(file, p, 10, 0));
        FAILS(EFAULT, write(fds[1], p, 10));
        FAILS(EFAULT, exec("/bin/echo", (char *const *)p));
        if (p)
            FAILS(EFAULT, exec("/bin/echo", (char *[]){"x", (char *)p, NULL}));
    }
    IS(STAT("f").st_size, 0);
}

TEST(a_buffer_that_runs_out_of_memory_is_used_as_far_as_it_goes)
{
    char *end = sbrk(PAGE);
    end = (char *)ROUND_DOWN((u64)end + PAGE, PAGE);
    OK(sbrk(end - (char *)sbrk(0)));
    memset(end - 10, 'a', 10);
    FAILS(EFAULT, open(end - 10, O_RDONLY));

    int fd = OK(create("f"));
    i64 n = write(fd, end - 10, 100);
    TRUE((n == -1 && errno == EFAULT) || n == 10);
    IS(STAT("f").st_size, MAX(n, 0));
    WRITE_FILE("f", 100, 1);
    n = pread(fd, end - 10, 100, 0);
    TRUE((n == -1 && errno == EFAULT) || n == 10);
}

TEST(sizes_beyond_all_memory_are_survived)
{
    int fd = OK(create("f"));
    FAILS(EINVAL, read(fd, buf, 1UL << 63));
    FAILS(EINVAL, write(fd, buf, ~0UL));
    FAILS(EINVAL, pread(fd, buf, ~0UL, 0));
    FAILS(EINVAL, pread(fd, buf, 1, 1UL << 63));
    FAILS(EINVAL, pwrite(fd, buf, 1, ~0UL));
    write(fd, buf, ~0UL >> 1); /* what there is of it */
    OK(ftruncate(fd, 0));
    IS(read(fd, buf, ~0UL >> 1), 0);
    FAILS(EINVAL, readlink("f", buf, ~0UL));
    FAILS(EINVAL, getcwd(buf, ~0UL));
    FAILS(EINVAL, getdents(fd, buf, ~0UL));
}
