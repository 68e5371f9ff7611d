/*
 * usertests: the kernel's promises to programs, tested from inside.
 *
 *   usertests [-l] [NAME]...   all tests, those named, or with -l a list
 *
 * - A test is a function in TEST(name); the name states the property. It runs
 *   in a process of its own, in an empty directory of its own, and the first
 *   expectation that fails ends it: `FAIL NAME: line N: expected ...`.
 * - After each test the gauges of /dev/stat and the free space must be what
 *   they were before. If they are not, the test runs again, for the first
 *   time fills caches and tables; what the second run loses too is a leak.
 * - Tests wait for events, never for a time to pass.
 * - Exit status: 0 if all passed, 1 if not, 2 for a wrong name.
 */
#include "user/lib.h"

/* kernel/proc/vm.h's map of user memory, and places that are not in it. */
#define USER_TOP    0x3ffffff000UL
#define NOT_MAPPED  0x2000000000UL
#define KERNEL_TEXT 0xffffffc080000000UL
#define PAGE        4096UL

#define MAX_FDS 64
#define SAID    99   /* exit status of a process that has told its failure */
#define SKIPPED 98   /* ... that cannot be done here */
#define LEAKED  (-1) /* no status: it passed, but leaks */
#define HOME    "/usertests.dir"

struct test {
    const char *name;
    void (*run)(void);
};
extern const struct test __start_tests[], __stop_tests[];

#define TEST(name)                                                          \
    static void test_##name(void);                                          \
    static const struct test entry_##name                                   \
        __attribute__((used, section("tests"), aligned(8), no_reorder)) = { \
            #name, test_##name};                                            \
    static void test_##name(void)

static const char *current; /* the test's name */
static char buf[65536], buf2[65536];

/* ---- expectations ---- */

static void fail(int line, const char *fmt, ...) PRINTF(2, 3) NORETURN;
static void fail(int line, const char *fmt, ...)
{
    char text[400];
    va_list args;
    int n = snprintf(text, sizeof text, "FAIL %s: line %d: ", current, line);
    va_start(args, fmt);
    vsnprintf(text + n, sizeof text - n - 1, fmt, args);
    va_end(args);
    strlcat(text, "\n", sizeof text);
    write(1, text, strlen(text));
    _exit(SAID);
}

static i64 expect_ok(int line, const char *what, i64 got)
{
    if (got < 0)
        fail(line, "expected success, got \"%s\" from %s", strerror(errno),
             what);
    return got;
}

static void expect_is(int line, const char *what, i64 got, i64 wanted)
{
    if (got != wanted)
        fail(line, "expected %ld, got %ld from %s (errno: %s)", wanted, got,
             what, strerror(errno));
}

static void expect_fails(int line, const char *what, int error, i64 got)
{
    if (got != -1)
        fail(line, "expected \"%s\", got %ld from %s", strerror(error), got,
             what);
    if (errno != error)
        fail(line, "expected \"%s\", got \"%s\" from %s", strerror(error),
             strerror(errno), what);
}

#define OK(call)           expect_ok(__LINE__, #call, (i64)(call))
#define IS(call, wanted)   expect_is(__LINE__, #call, (i64)(call), wanted)
#define FAILS(error, call) expect_fails(__LINE__, #call, error, (i64)(call))
#define TRUE(condition)                                                  \
    do                                                                   \
        if (!(condition))                                                \
            fail(__LINE__, "expected %s, got the contrary", #condition); \
    while (0)

/* ---- processes ---- */

/* A child that calls fn(arg) and exits with 0. */
#define SPAWN(fn, arg) spawn(__LINE__, fn, arg)
static int spawn(int line, void (*fn)(u64), u64 arg)
{
    int pid = expect_ok(line, "fork()", fork());
    if (pid == 0) {
        fn(arg);
        _exit(0);
    }
    return pid;
}

/* Wait for a child; its status as wait() has it. */
#define STATUS(pid) status_of(__LINE__, pid)
static int status_of(int line, int pid)
{
    int status;
    expect_is(line, "wait(pid)", wait(pid, &status, 0), pid);
    if (status == SAID)
        _exit(SAID);
    return status;
}

/* Wait for a child that must have succeeded. */
#define JOIN(pid) expect_is(__LINE__, "status of child", STATUS(pid), 0)
/* As many children as the array has room for, and the wait for them. */
#define SPAWN_ALL(pids, fn, arg)             \
    for (u32 i_ = 0; i_ < NELEM(pids); i_++) \
    (pids)[i_] = SPAWN(fn, arg)
#define JOIN_ALL(pids)                       \
    for (u32 i_ = 0; i_ < NELEM(pids); i_++) \
    JOIN((pids)[i_])
/* fn(arg) must get its process killed. */
#define DIES(fn, arg) expect_is(__LINE__, #fn, STATUS(SPAWN(fn, arg)), WKILLED)

static void close_both(const int fds[2])
{
    close(fds[0]);
    close(fds[1]);
}

/* A signal between processes: TELL writes a byte, HEAR waits for one, or
 * for the end when every writer is gone. */
#define TELL(fds) IS(write((fds)[1], "!", 1), 1)
#define HEAR(fds) OK(read((fds)[0], &(char){0}, 1))

static void never_ends(u64 unused)
{
    (void)unused;
    for (;;)
        asm volatile("");
}

static void exits(u64 status)
{
    _exit(status);
}

/* ---- files ---- */

static char pattern_byte(u64 seed, u64 offset)
{
    return seed * 31 + offset * 7 + (offset >> 9);
}

static void pattern(char *to, u64 n, u64 seed, u64 offset)
{
    for (u64 i = 0; i < n; i++)
        to[i] = pattern_byte(seed, offset + i);
}

#define WRITE_FILE(path, n, seed) write_file(__LINE__, path, n, seed)
static void write_file(int line, const char *path, u64 n, u64 seed)
{
    int fd =
        expect_ok(line, path, open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644));
    for (u64 at = 0; at < n; at += sizeof buf) {
        u64 piece = MIN(n - at, sizeof buf);
        pattern(buf, piece, seed, at);
        expect_is(line, path, write(fd, buf, piece), piece);
    }
    expect_ok(line, path, close(fd));
}

#define CHECK_FILE(path, n, seed) check_file(__LINE__, path, n, seed)
static void check_file(int line, const char *path, u64 n, u64 seed)
{
    int fd = expect_ok(line, path, open(path, O_RDONLY));
    for (u64 at = 0; at < n; at += sizeof buf) {
        u64 piece = MIN(n - at, sizeof buf);
        expect_is(line, path, read(fd, buf, piece), piece);
        for (u64 i = 0; i < piece; i++)
            if (buf[i] != pattern_byte(seed, at + i))
                fail(line, "expected %s to hold its pattern, got %#x at %lu",
                     path, buf[i], at + i);
    }
    expect_is(line, path, read(fd, buf, 1), 0);
    close(fd);
}

static bool is_zero(const char *p, u64 n)
{
    while (n > 0 && !*p)
        p++, n--;
    return n == 0;
}

static int create(const char *path)
{
    return open(path, O_RDWR | O_CREAT, 0644);
}

static bool exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

#define STAT(path) stat_of(__LINE__, path)
static struct stat stat_of(int line, const char *path)
{
    struct stat st;
    expect_ok(line, path, lstat(path, &st));
    return st;
}

static struct statfs space(void)
{
    struct statfs st;
    OK(statfs("/", &st));
    return st;
}

static void remove_tree(const char *path)
{
    if (unlink(path) == 0 || errno != EISDIR)
        return;
    DIR *dir = opendir(path);
    struct dirent *e;
    char below[PATH_BYTES];
    while (dir && (e = readdir(dir))) {
        join_path(below, sizeof below, path, e->name);
        if (!is_dot(e->name))
            remove_tree(below);
    }
    if (dir)
        closedir(dir);
    rmdir(path);
}

/* ---- devices ---- */

static void read_device(const char *path, char *to, u64 n)
{
    int fd = OK(open(path, O_RDONLY));
    to[OK(read_all(fd, to, n - 1))] = 0;
    close(fd);
}

/* The value of a row of /dev/stat. */
static i64 gauge(const char *name)
{
    static char text[16384];
    read_device("/dev/stat", text, sizeof text);
    for (char *line, *rest = text; (line = strsep(&rest, "\n"));) {
        u64 n = strlen(name);
        if (!strncmp(line, name, n) && line[n] == ' ')
            return strtol(line + n, NULL, 10);
    }
    fail(__LINE__, "expected a row %s in /dev/stat, got none", name);
}

static i64 control(const char *line)
{
    int fd = OK(open("/dev/policy", O_WRONLY));
    i64 n = write(fd, line, strlen(line));
    int error = errno;
    close(fd);
    errno = error;
    return n;
}

/* ---- system calls as such ---- */

static i64 raw_call(u64 number, u64 a, u64 b, u64 c)
{
    register u64 a0 asm("a0") = a;
    register u64 a1 asm("a1") = b;
    register u64 a2 asm("a2") = c;
    register u64 a7 asm("a7") = number;
    asm volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a7) : "memory");
    return a0;
}

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

static const u64 bad_addresses[] = {
    0,
    8,
    0xfff,
    0xffff,
    NOT_MAPPED,
    USER_TOP,
    1UL << 38,
    1UL << 40,
    1UL << 63,
    KERNEL_TEXT,
    KERNEL_TEXT + 0x1000,
    ~0UL - 4095,
    ~0UL - 7,
    ~0UL,
};

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
    FAILS(EFAULT, umount(p));
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

/* ---- fork, exit, wait ---- */

TEST(wait_gives_the_status_kept_to_eight_bits)
{
    const u32 statuses[] = {0, 1, 42, 255, 256, 0x1234};
    for (u32 i = 0; i < NELEM(statuses); i++)
        IS(STATUS(SPAWN(exits, statuses[i])), statuses[i] & 255);
    OK(wait(SPAWN(exits, 7), NULL, 0));
}

TEST(wait_finds_every_child_once)
{
    enum { N = 30 };
    int pids[N], status;
    for (int i = 0; i < N; i++)
        pids[i] = SPAWN(exits, i);
    for (int i = 0; i < N; i++) {
        int pid = OK(wait(-1, &status, 0)), k = 0;
        while (k < N && pids[k] != pid)
            k++;
        TRUE(k < N);
        IS(status, k);
        pids[k] = 0;
    }
    FAILS(ECHILD, wait(-1, &status, 0));
}

static void waits_for_end(u64 fds)
{
    close(((int *)fds)[1]);
    HEAR((int *)fds);
}

TEST(wait_can_choose_a_child_and_need_not_block)
{
    int fds[2], status;
    OK(pipe(fds));
    int slow = SPAWN(waits_for_end, (u64)fds), fast = SPAWN(exits, 3);
    IS(wait(fast, &status, 0), fast);
    IS(status, 3);
    IS(wait(slow, &status, WNOHANG), 0);
    IS(wait(-1, &status, WNOHANG), 0);
    FAILS(ECHILD, wait(fast, &status, 0));
    FAILS(ECHILD, wait(getpid(), &status, WNOHANG));
    FAILS(EINVAL, wait(-1, &status, 2));
    FAILS(EINVAL, wait(0, &status, 0));
    close_both(fds);
    JOIN(slow);
}

TEST(wait_with_a_bad_address_keeps_the_child)
{
    int pid = SPAWN(exits, 5);
    for (u32 i = 1; i < NELEM(bad_addresses); i++)
        FAILS(EFAULT, wait(pid, (int *)bad_addresses[i], 0));
    FAILS(EFAULT, wait(pid, (int *)pattern, 0));
    IS(STATUS(pid), 5);
}

static void orphan(u64 report)
{
    if (OK(fork()) > 0)
        return;
    while (getppid() != 1)
        OK(sleep(0));
    int pid = getpid();
    IS(write(report, &pid, sizeof pid), sizeof pid);
    _exit(0);
}

TEST(an_orphan_becomes_a_child_of_init)
{
    int fds[2], pid;
    OK(pipe(fds));
    JOIN(SPAWN(orphan, fds[1]));
    IS(read(fds[0], &pid, sizeof pid), sizeof pid);
    while (kill(pid) == 0) /* till init has waited for it */
        OK(sleep(0));
    IS(errno, ESRCH);
}

static void knows_its_parent(u64 parent)
{
    IS(getppid(), parent);
    TRUE(getpid() != (int)parent);
}

TEST(a_child_knows_its_parent)
{
    JOIN(SPAWN(knows_its_parent, getpid()));
}

TEST(fork_fails_cleanly_when_there_is_no_room)
{
    int fds[2], pid = 1, n = 0;
    OK(pipe(fds));
    for (; gauge("mem.free") > 1000 && (pid = fork()) > 0; n++)
        ;
    if (pid == 0) {
        waits_for_end((u64)fds);
        _exit(0);
    }
    TRUE(n > 0);
    TRUE(pid > 0 || errno == EAGAIN || errno == ENOMEM);
    close_both(fds);
    while (n-- > 0)
        OK(wait(-1, NULL, 0));
    FAILS(ECHILD, wait(-1, NULL, 0));
    JOIN(SPAWN(exits, 0));
}

/* ---- kill and groups ---- */

static void reads_for_ever(u64 fd)
{
    read(fd, buf, 1);
}

static void writes_for_ever(u64 fd)
{
    while (write(fd, buf, sizeof buf) > 0)
        ;
}

static void sleeps_for_ever(u64 unused)
{
    (void)unused;
    sleep(~0UL >> 1);
}

TEST(kill_ends_a_process_whatever_it_does)
{
    int in[2], out[2];
    OK(pipe(in));
    OK(pipe(out));
    const int pids[] = {SPAWN(never_ends, 0), SPAWN(sleeps_for_ever, 0),
                        SPAWN(reads_for_ever, in[0]),
                        SPAWN(writes_for_ever, out[1])};
    for (u32 i = 0; i < NELEM(pids); i++) {
        OK(kill(pids[i]));
        IS(STATUS(pids[i]), WKILLED);
        FAILS(ESRCH, kill(pids[i]));
    }
}

TEST(kill_refuses_what_cannot_be_killed)
{
    FAILS(EPERM, kill(1));
    FAILS(EINVAL, kill(0));
    FAILS(ESRCH, kill(0x7fffffff));
    FAILS(ESRCH, kill(-0x7fffffff));
    IS(raw_call(SYS_kill, 1UL << 40, 0, 0), -EINVAL);
    IS(raw_call(SYS_kill, 1UL << 63, 0, 0), -EINVAL);
}

TEST(a_group_is_killed_whole_and_alone)
{
    int fds[2], pids[3];
    OK(pipe(fds));
    for (int i = 0; i < 3; i++)
        pids[i] = SPAWN(sleeps_for_ever, 0);
    OK(setpgrp(pids[0], 0));
    OK(setpgrp(pids[1], pids[0]));
    OK(kill(-pids[0]));
    IS(STATUS(pids[0]), WKILLED);
    IS(STATUS(pids[1]), WKILLED);
    IS(wait(pids[2], NULL, WNOHANG), 0);
    OK(kill(pids[2]));
    IS(STATUS(pids[2]), WKILLED);
    FAILS(ESRCH, kill(-pids[0]));
}

TEST(only_oneself_and_children_change_group)
{
    FAILS(ESRCH, setpgrp(getppid(), 0));
    FAILS(ESRCH, setpgrp(1, 0));
    FAILS(EINVAL, setpgrp(-1, 0));
    FAILS(EINVAL, setpgrp(0, -1));
    OK(setpgrp(0, 0));
    OK(setpgrp(getpid(), 0));
    int pid = SPAWN(sleeps_for_ever, 0);
    OK(setpgrp(pid, 0));
    OK(kill(-pid));
    IS(STATUS(pid), WKILLED);
    FAILS(ESRCH, setpgrp(pid, 0));
}

/* ---- exec ---- */

static void runs_echo(u64 fd)
{
    OK(dup2(fd, 1));
    exec("/bin/echo", (char *[]){"echo", "one two", "", "three", NULL});
    fail(__LINE__, "expected exec not to return, got \"%s\"", strerror(errno));
}

TEST(exec_passes_arguments_and_descriptors)
{
    int fds[2];
    OK(pipe(fds));
    int pid = SPAWN(runs_echo, fds[1]);
    close(fds[1]);
    const char *wanted = "one two  three\n";
    IS(read_all(fds[0], buf, sizeof buf), strlen(wanted));
    IS(memcmp(buf, wanted, strlen(wanted)), 0);
    JOIN(pid);
}

TEST(exec_refuses_what_is_no_program)
{
    char *argv[] = {"x", NULL};
    WRITE_FILE("text", 5000, 1);
    OK(chmod("text", 0755));
    WRITE_FILE("empty", 0, 1);
    OK(chmod("empty", 0755));
    FAILS(ENOEXEC, exec("text", argv));
    FAILS(ENOEXEC, exec("empty", argv));
    FAILS(ENOEXEC, exec(".", argv));
    FAILS(ENOEXEC, exec("/dev/zero", argv));
    FAILS(ENOENT, exec("missing", argv));
    FAILS(ENOENT, exec("", argv));
    FAILS(ENOTDIR, exec("text/x", argv));
}

TEST(exec_refuses_a_program_cut_short)
{
    char *argv[] = {"echo", NULL};
    OK(copy_file("/bin/echo", "program"));
    OK(chmod("program", 0644));
    FAILS(ENOEXEC, exec("program", argv));
    OK(chmod("program", 0755));
    for (u64 size = STAT("program").st_size; size > 8; size /= 2) {
        OK(truncate("program", size / 2));
        FAILS(ENOEXEC, exec("program", argv));
    }
}

TEST(exec_refuses_too_many_arguments)
{
    static char *argv[40000];
    for (u32 i = 0; i < NELEM(argv) - 1; i++)
        argv[i] = "x";
    FAILS(E2BIG, exec("/bin/echo", argv));
    memset(buf, 'a', sizeof buf - 1);
    FAILS(E2BIG, exec("/bin/echo", (char *[]){buf, buf, buf, buf, NULL}));
}

/* ---- memory ---- */

TEST(the_heap_is_zero_and_ends_where_told)
{
    char *p = sbrk(100 * PAGE);
    TRUE(p != (void *)-1 && sbrk(0) == p + 100 * PAGE);
    TRUE(is_zero(p, 100 * PAGE));
    memset(p, 'a', 100 * PAGE);
    TRUE(sbrk(-50 * PAGE) == p + 100 * PAGE);
    TRUE(sbrk(50 * PAGE) == p + 50 * PAGE);
    TRUE(is_zero(p + 50 * PAGE, 50 * PAGE));
    TRUE(p[0] == 'a' && p[50 * PAGE - 1] == 'a');
}

TEST(the_heap_refuses_sizes_it_cannot_have)
{
    void *end = sbrk(0);
    FAILS(ENOMEM, sbrk(1UL << 62));
    FAILS(ENOMEM, sbrk(NOT_MAPPED));
    FAILS(EINVAL, sbrk(-(1L << 62)));
    FAILS(EINVAL, sbrk(-(i64)(u64)end));
    FAILS(EINVAL, sbrk(1L << 63));
    TRUE(sbrk(0) == end);
}

static void loads(u64 p)
{
    *(volatile char *)p;
}

static void stores(u64 p)
{
    *(volatile char *)p = 1;
}

static void jumps(u64 p)
{
    ((void (*)(void))p)();
}

TEST(memory_one_has_not_is_fatal_to_touch)
{
    for (u32 i = 0; i < NELEM(bad_addresses); i++) {
        DIES(loads, bad_addresses[i]);
        DIES(stores, bad_addresses[i]);
        DIES(jumps, bad_addresses[i]);
    }
    char *end = sbrk(2 * PAGE);
    memset(end, 0, 2 * PAGE);
    end = (char *)ROUND_UP((u64)end, PAGE);
    OK(sbrk(end - (char *)sbrk(0)));
    DIES(loads, (u64)end);
    DIES(stores, (u64)end);
}

TEST(code_and_constants_are_not_writable_nor_data_code)
{
    DIES(stores, (u64)pattern);
    DIES(stores, (u64)bad_addresses);
    DIES(jumps, (u64)buf);
    DIES(jumps, (u64)sbrk(PAGE));
    u32 ret = 0x8082;
    DIES(jumps, (u64)&ret);
}

static void illegal(u64 which)
{
    if (which == 0)
        asm volatile(".word 0");
    else if (which == 1)
        asm volatile("csrr a0, sstatus" ::: "a0");
    else if (which == 2)
        asm volatile("sret");
    else if (which == 3)
        asm volatile("ebreak");
    else if (which == 4)
        asm volatile("wfi\n sfence.vma\n csrr a0, mstatus" ::: "a0");
}

TEST(instructions_of_the_kernel_are_fatal)
{
    for (u64 which = 0; which < 5; which++)
        DIES(illegal, which);
}

static u64 recurses(u64 depth)
{
    volatile char frame[1024];
    frame[0] = frame[1023] = depth;
    return depth ? recurses(depth - 1) + frame[0] - frame[1023] + 1 : 0;
}

static void recurses_too_deep(u64 depth)
{
    recurses(depth);
}

TEST(the_stack_grows_to_its_limit_and_no_further)
{
    IS(recurses(6000), 6000);
    DIES(recurses_too_deep, 9000);
}

#define SHARED_PAGES 200
static void changes_memory(u64 p)
{
    for (u64 i = 0; i < SHARED_PAGES; i++) {
        TRUE(*(u64 *)(p + i * PAGE) == i);
        *(u64 *)(p + i * PAGE) = ~i;
    }
    for (u64 i = 0; i < SHARED_PAGES; i++)
        TRUE(*(u64 *)(p + i * PAGE) == ~i);
}

TEST(fork_gives_each_process_memory_of_its_own)
{
    char *p = sbrk(SHARED_PAGES * PAGE);
    int pids[4];
    for (u64 i = 0; i < SHARED_PAGES; i++)
        *(u64 *)(p + i * PAGE) = i;
    for (u32 i = 0; i < NELEM(pids); i++)
        pids[i] = SPAWN(changes_memory, (u64)p);
    changes_memory((u64)p);
    JOIN_ALL(pids);
    for (u64 i = 0; i < SHARED_PAGES; i++)
        TRUE(*(u64 *)(p + i * PAGE) == ~i);
}

static void reads_into(u64 p)
{
    int fd = OK(open("f", O_RDONLY));
    IS(read(fd, (char *)p, PAGE), PAGE);
    IS(((char *)p)[5], pattern_byte(9, 5));
}

TEST(the_kernel_writes_to_the_memory_of_one_process_only)
{
    WRITE_FILE("f", PAGE, 9);
    memset(buf2, 'x', sizeof buf2);
    JOIN(SPAWN(reads_into, (u64)buf2 + 100));
    TRUE(buf2[100] == 'x' && buf2[105] == 'x');
    int pid = SPAWN(sleeps_for_ever, 0);
    reads_into((u64)buf2 + 100);
    OK(kill(pid));

    IS(STATUS(pid), WKILLED);
}

static void uses_all_memory(u64 unused)
{
    (void)unused;
    struct stat st;
    u64 bytes = gauge("mem.free") * PAGE, used = 0;
    int fd = OK(open("/dev/zero", O_RDONLY)), fds[2];
    errno = 0; /* make the pages to be written this process's own */
    recurses(32);
    char *p = sbrk(bytes);
    i64 n;
    while (used < bytes && (n = read(fd, p + used, bytes - used)) > 0)
        used += n;
    TRUE(used > bytes / 2 && used < bytes);
    FAILS(EFAULT, read(fd, p + used, PAGE));
    TRUE(fork() == -1 && (errno == ENOMEM || errno == EAGAIN));
    FAILS(ENOMEM, pipe(fds));
    FAILS(ENOMEM, stat("/", &st));
    FAILS(ENOMEM, exec("/bin/echo", (char *[]){"echo", NULL}));
    OK(sbrk(-(i64)bytes));
    OK(pipe(fds));
    OK(stat("/", &st));
    JOIN(SPAWN(exits, 0));
}

TEST(without_memory_calls_fail_and_then_recover)
{
    JOIN(SPAWN(uses_all_memory, 0));
}

static void touches_all_memory(u64 unused)
{
    (void)unused;
    u64 bytes = gauge("mem.free") * PAGE;
    for (char *p = sbrk(bytes), *end = p + bytes; p < end; p += PAGE)
        *p = 1;
}

TEST(a_process_that_takes_all_memory_dies_alone)
{
    DIES(touches_all_memory, 0);
    JOIN(SPAWN(exits, 0));
}

static u64 computes(void)
{
    u64 state = 1, sum = 0;
    for (int i = 0; i < 1000000; i++)
        sum += random_u64(&state);
    return sum;
}

static void computes_right(u64 wanted)
{
    TRUE(computes() == wanted);
}

TEST(processes_taking_turns_keep_their_registers)
{
    u64 wanted = computes();
    int pids[5];
    for (u32 i = 0; i < NELEM(pids); i++)
        pids[i] = SPAWN(computes_right, wanted);
    JOIN_ALL(pids);
}

/* ---- time ---- */

TEST(clocks_go_forward_and_sleep_is_not_short)
{
    u64 virtual = gettime(CLOCK_VIRTUAL), wall = gettime(CLOCK_WALL);
    u64 counter = ticks();
    OK(sleep(2 * NS_PER_MS));
    TRUE(gettime(CLOCK_VIRTUAL) >= virtual + 2 * NS_PER_MS);
    TRUE(gettime(CLOCK_WALL) >= wall);
    TRUE(ticks() >= counter + 2 * NS_PER_MS / 100);
    FAILS(EINVAL, gettime(2));
    FAILS(EINVAL, sleep(1UL << 63));
    OK(sleep(0));
}

TEST(processor_time_is_counted_and_inherited)
{
    struct rusage before, after, children;
    OK(rusage(RUSAGE_SELF, &before));
    u64 wanted = computes();
    OK(rusage(RUSAGE_SELF, &after));
    u64 spent = after.user_ns - before.user_ns;
    TRUE(spent > 0 && after.system_ns >= before.system_ns);
    JOIN(SPAWN(computes_right, wanted));
    OK(rusage(RUSAGE_CHILDREN, &children));
    TRUE(children.user_ns > spent / 10 && children.system_ns > 0);
    FAILS(EINVAL, rusage(2, &before));
}

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

/* ---- reading and writing ---- */

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

/* First byte of the part reached through so many indirect blocks. */
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

/* ---- stat ---- */

TEST(stat_tells_what_a_file_is)
{
    struct stat st, st2;
    int fd = OK(open("f", O_RDWR | O_CREAT, 0640)), fds[2];
    OK(pipe(fds));
    OK(stat("f", &st));
    OK(fstat(fd, &st2));
    IS(memcmp(&st, &st2, sizeof st), 0);
    IS(st.st_mode, S_IFREG | 0640);
    IS(st.st_nlink, 1);
    IS(st.st_blocks, 0);
    IS(STAT(".").st_nlink, 2);
    IS(STAT(".").st_dev, st.st_dev);
    TRUE(S_ISDIR(STAT(".").st_mode) && S_ISCHR(STAT("/dev/null").st_mode));
    OK(fstat(fds[0], &st));
    TRUE(S_ISFIFO(st.st_mode));
    FAILS(ENOENT, stat("missing", &st));
    FAILS(ENOENT, lstat("missing", &st));
}

TEST(chmod_changes_permissions_and_nothing_else)
{
    WRITE_FILE("f", 10, 1);
    OK(chmod("f", 07751));
    IS(STAT("f").st_mode, S_IFREG | 07751);
    OK(chmod(".", 0700));
    IS(STAT(".").st_mode, S_IFDIR | 0700);
    FAILS(EINVAL, chmod("f", 010000));
    FAILS(ENOENT, chmod("missing", 0644));
    CHECK_FILE("f", 10, 1);
}

TEST(times_move_when_a_file_is_used)
{
    int fd = OK(create("f"));
    OK(utime("f", 1000, 2000));
    IS(STAT("f").st_atime_s, 1000);
    IS(STAT("f").st_mtime_s, 2000);
    IS(write(fd, "x", 1), 1);
    TRUE(STAT("f").st_mtime_s != 2000);
    OK(utime("f", 1000, 2000));
    OK(ftruncate(fd, 0));
    TRUE(STAT("f").st_mtime_s != 2000);
    OK(utime(".", 0, 0xffffffff));
    IS(STAT(".").st_mtime_s, 0xffffffff);
    OK(unlink("f"));
    TRUE(STAT(".").st_mtime_s != 0xffffffff);
    FAILS(EINVAL, utime(".", 1UL << 32, 0));
    FAILS(EINVAL, utime(".", 0, 1UL << 32));
    FAILS(ENOENT, utime("f", 0, 0));
}

TEST(statfs_counts_blocks_and_inodes)
{
    struct statfs before = space(), st;
    TRUE(before.free_blocks < before.blocks);
    TRUE(before.free_inodes < before.inodes);
    IS(before.read_only, 0);
    WRITE_FILE("f", before.block_size * 5, 1);
    IS(space().free_blocks, before.free_blocks - 5);
    IS(space().free_inodes, before.free_inodes - 1);
    OK(unlink("f"));
    IS(space().free_blocks, before.free_blocks);
    IS(space().free_inodes, before.free_inodes);
    FAILS(ENOENT, statfs("missing", &st));
}

/* ---- names ---- */

TEST(a_file_lives_until_its_last_name_and_user_are_gone)
{
    struct statfs before = space();
    WRITE_FILE("f", 100000, 1);
    int fd = OK(open("f", O_RDWR));
    OK(link("f", "g"));
    IS(STAT("f").st_nlink, 2);
    IS(STAT("f").st_ino, STAT("g").st_ino);
    OK(unlink("f"));
    CHECK_FILE("g", 100000, 1);
    OK(unlink("g"));
    FAILS(ENOENT, open("g", O_RDONLY));
    TRUE(space().free_blocks < before.free_blocks);
    IS(pread(fd, buf, 1, 5000), 1);
    IS(buf[0], pattern_byte(1, 5000));
    IS(pwrite(fd, "y", 1, 200000), 1);
    OK(close(fd));
    IS(space().free_blocks, before.free_blocks);
    IS(space().free_inodes, before.free_inodes);
}

TEST(link_and_unlink_refuse_wrong_names)
{
    WRITE_FILE("f", 1, 1);
    OK(mkdir("d", 0755));
    FAILS(EEXIST, link("f", "f"));
    FAILS(EEXIST, link("f", "d"));
    FAILS(ENOENT, link("missing", "x"));
    FAILS(ENOENT, link("f", "missing/x"));
    FAILS(ENOTDIR, link("f", "f/x"));
    FAILS(EPERM, link("d", "x"));
    FAILS(ENOENT, unlink("missing"));
    FAILS(ENOENT, unlink(""));
    FAILS(EISDIR, unlink("d"));
    FAILS(EISDIR, unlink("/"));
    FAILS(EISDIR, unlink("."));
    FAILS(ENOTDIR, unlink("f/x"));
    IS(STAT("f").st_nlink, 1);
}

TEST(directories_are_made_and_removed_when_empty)
{
    OK(mkdir("d", 0750));
    IS(STAT("d").st_mode, S_IFDIR | 0750);
    IS(STAT("d").st_nlink, 2);
    IS(STAT(".").st_nlink, 3);
    OK(mkdir("d/e/", 0755));
    IS(STAT("d").st_nlink, 3);
    IS(STAT("d/e/..").st_ino, STAT("d").st_ino);
    FAILS(ENOTEMPTY, rmdir("d"));
    OK(rmdir("d/e"));
    OK(rmdir("d"));
    IS(STAT(".").st_nlink, 2);
    TRUE(!exists("d"));
}

TEST(mkdir_and_rmdir_refuse_wrong_names)
{
    OK(mkdir("d", 0755));
    OK(mkdir("d/e", 0755));
    WRITE_FILE("f", 1, 1);
    FAILS(EEXIST, mkdir("d", 0755));
    FAILS(EEXIST, mkdir("/", 0755));
    FAILS(EEXIST, mkdir(".", 0755));
    FAILS(EEXIST, mkdir("f", 0755));
    FAILS(ENOENT, mkdir("missing/x", 0755));
    FAILS(ENOTDIR, mkdir("f/x", 0755));
    FAILS(EINVAL, mkdir("x", 010000));
    FAILS(EINVAL, rmdir("d/."));
    FAILS(ENOTEMPTY, rmdir("d/e/.."));
    IS(rmdir("/"), -1);
    FAILS(ENOENT, rmdir("missing"));
    FAILS(ENOTDIR, rmdir("f"));
}

TEST(a_removed_directory_takes_no_new_names)
{
    OK(mkdir("d", 0755));
    OK(chdir("d"));
    OK(rmdir("../d"));
    FAILS(ENOENT, create("f"));
    FAILS(ENOENT, mkdir("x", 0755));
    FAILS(ENOENT, getcwd(buf, sizeof buf));
    OK(chdir("/"));
}

TEST(the_current_directory_is_where_chdir_went)
{
    WRITE_FILE("f", 1, 1);
    FAILS(ENOENT, chdir("missing"));
    FAILS(ENOTDIR, chdir("f"));
    OK(mkdir("d", 0755));
    OK(mkdir("d/e", 0755));
    OK(symlink("d/e", "short"));
    OK(chdir("short"));
    u64 n = OK(getcwd(buf, sizeof buf));
    IS(n, strlen(buf) + 1);
    IS(strcmp(buf + n - 5, "/d/e"), 0);
    FAILS(ERANGE, getcwd(buf, n - 1));
    IS(getcwd(buf, n), n);
    OK(chdir("/.."));
    IS(getcwd(buf, sizeof buf), 2);
    IS(strcmp(buf, "/"), 0);
}

/* How many names getdents lists in d with a buffer of this size; all but two
 * are numbers, from 0 on. */
static u32 count_names(u64 size)
{
    int fd = OK(open("d", O_RDONLY));
    u32 n = 0, sum = 0;
    for (i64 got; (got = OK(getdents(fd, buf, size))) > 0;)
        for (i64 at = 0; at < got; n++) {
            struct dirent *e = (struct dirent *)(buf + at);
            TRUE(e->length % 4 == 0 && e->name_len == strlen(e->name));
            TRUE(e->type == (is_dot(e->name) ? DT_DIR : DT_REG));
            sum += is_dot(e->name) ? 0 : atoi(e->name);
            at += e->length;
        }
    close(fd);
    IS(sum, (n - 2) * (n - 3) / 2);
    return n;
}

TEST(a_directory_of_thousands_lists_every_name_once)
{
    enum { N = 2000 };
    char name[20];
    OK(mkdir("d", 0755));
    WRITE_FILE("f", 10, 1);
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "d/%d", i);
        OK(link("f", name));
    }
    IS(STAT("f").st_nlink, N + 1);
    IS(count_names(sizeof buf), N + 2);
    IS(count_names(300), N + 2);
    for (int i = 0; i < N; i += 2) {
        snprintf(name, sizeof name, "d/%d", (i + N / 2) % N);
        OK(unlink(name));
        TRUE(!exists(name));
    }
    IS(STAT("f").st_nlink, N / 2 + 1);
    FAILS(ENOTEMPTY, rmdir("d"));
    remove_tree("d");
    TRUE(!exists("d"));
}

TEST(directories_are_read_by_getdents_only)
{
    int dir = OK(open(".", O_RDONLY)), file = OK(create("f"));
    FAILS(ENOTDIR, getdents(file, buf, 1000));
    FAILS(EINVAL, getdents(dir, buf, 4));
    FAILS(EISDIR, read(dir, buf, 100));
    FAILS(EISDIR, pread(dir, buf, 100, 0));
    FAILS(EBADF, write(dir, buf, 100));
}

TEST(symbolic_links_lead_on)
{
    struct stat st;
    char target[300];
    memset(target, 'x', sizeof target);
    target[sizeof target - 1] = 0;
    OK(mkdir("d", 0755));
    WRITE_FILE("d/f", 100, 1);
    OK(symlink("d/f", "a"));
    OK(symlink("../a", "d/b"));
    OK(symlink(target, "long"));
    CHECK_FILE("d/b", 100, 1);
    IS(readlink("a", buf, 100), 3);
    IS(memcmp(buf, "d/f", 3), 0);
    IS(readlink("a", buf, 2), 2);
    IS(readlink("long", buf, 1000), sizeof target - 1);
    IS(memcmp(buf, target, sizeof target - 1), 0);
    TRUE(S_ISLNK(STAT("a").st_mode) && STAT("a").st_size == 3);
    OK(stat("a", &st));
    TRUE(S_ISREG(st.st_mode));
    FAILS(EINVAL, readlink("d/f", buf, 100));
    FAILS(EINVAL, readlink("a", buf, 0));
    FAILS(EEXIST, symlink("x", "a"));
    FAILS(ENOENT, symlink("", "x"));
    OK(unlink("d/b"));
    TRUE(exists("a"));
}

TEST(symbolic_links_that_lead_nowhere_are_told)
{
    OK(symlink("missing", "dangling"));
    OK(symlink("loop2", "loop1"));
    OK(symlink("loop1", "loop2"));
    FAILS(ENOENT, open("dangling", O_RDONLY));
    FAILS(ENOENT, chmod("dangling", 0644));
    FAILS(EEXIST, open("dangling", O_RDWR | O_CREAT | O_EXCL, 0644));
    FAILS(ELOOP, open("loop1", O_RDONLY));
    FAILS(ELOOP, open("loop1/x", O_RDONLY));
    FAILS(ELOOP, create("loop1"));
    close(OK(create("dangling")));
    TRUE(exists("missing"));
}

/* ---- rename ---- */

TEST(rename_moves_a_file_with_its_bytes)
{
    OK(mkdir("d", 0755));
    WRITE_FILE("f", 5000, 1);
    u32 ino = STAT("f").st_ino;
    OK(rename("f", "g"));
    TRUE(!exists("f"));
    OK(rename("g", "d/h"));
    OK(rename("d/h", "d/h"));
    IS(STAT("d/h").st_ino, ino);
    IS(STAT("d/h").st_nlink, 1);
    CHECK_FILE("d/h", 5000, 1);
}

TEST(rename_replaces_what_was_there)
{
    struct statfs before = space();
    WRITE_FILE("f", 5000, 1);
    WRITE_FILE("g", 9000, 2);
    int fd = OK(open("g", O_RDONLY));
    OK(rename("f", "g"));
    TRUE(!exists("f"));
    CHECK_FILE("g", 5000, 1);
    IS(read(fd, buf, 10000), 9000);
    IS(buf[8999], pattern_byte(2, 8999));
    close(fd);
    OK(link("g", "same"));
    OK(rename("g", "same")); /* two names of one file: nothing happens */
    IS(STAT("g").st_nlink, 2);
    OK(unlink("g"));
    OK(unlink("same"));
    IS(space().free_blocks, before.free_blocks);
}

TEST(rename_moves_directories_with_their_parents)
{
    OK(mkdir("a", 0755));
    OK(mkdir("a/d", 0755));
    OK(mkdir("b", 0755));
    WRITE_FILE("a/d/f", 10, 1);
    OK(rename("a/d", "b/d"));
    CHECK_FILE("b/d/f", 10, 1);
    IS(STAT("a").st_nlink, 2);
    IS(STAT("b").st_nlink, 3);
    IS(STAT("b/d/..").st_ino, STAT("b").st_ino);
    OK(mkdir("empty", 0755));
    OK(rename("b/d", "empty"));
    CHECK_FILE("empty/f", 10, 1);
    IS(STAT("empty").st_nlink, 2);
    IS(STAT("b").st_nlink, 2);
    IS(STAT(".").st_nlink, 5);
}

TEST(rename_refuses_what_would_break_the_tree)
{
    OK(mkdir("a", 0755));
    OK(mkdir("a/b", 0755));
    OK(mkdir("c", 0755));
    WRITE_FILE("f", 10, 1);
    FAILS(EINVAL, rename("a", "a/b/x"));
    FAILS(EINVAL, rename("a", "a/x"));
    FAILS(ENOTEMPTY, rename("c", "a"));
    FAILS(ENOTEMPTY, rename("a/b", "a"));
    FAILS(EISDIR, rename("f", "c"));
    FAILS(ENOTDIR, rename("c", "f"));
    FAILS(ENOTDIR, rename("f/x", "y"));
    FAILS(ENOTDIR, rename("f", "f/y"));
    FAILS(ENOENT, rename("missing", "x"));
    FAILS(ENOENT, rename("f", "missing/x"));
    TRUE(rename("a/.", "x") == -1 && rename("a/b/..", "x") == -1);
    TRUE(rename("c", "a/b/.") == -1 && rename("/", "x") == -1);
    CHECK_FILE("f", 10, 1);
    IS(STAT("a").st_nlink, 3);
}

/* ---- pipes ---- */

TEST(a_pipe_ends_with_its_last_writer)
{
    int fds[2];
    OK(pipe(fds));
    int copy = OK(dup(fds[1]));
    IS(write(fds[1], "abc", 3), 3);
    close(fds[1]);
    IS(write(copy, "de", 2), 2);
    close(copy);
    IS(read(fds[0], buf, 4), 4);
    IS(read(fds[0], buf, 100), 1);
    IS(read(fds[0], buf, 100), 0);
}

static void writes_until_epipe(u64 fds)
{
    close(((int *)fds)[0]);
    writes_for_ever(((int *)fds)[1]);
    IS(errno, EPIPE);
}

TEST(a_pipe_without_readers_gives_epipe)
{
    int fds[2];
    OK(pipe(fds));
    int pid = SPAWN(writes_until_epipe, (u64)fds);
    IS(read(fds[0], buf, 1), 1);
    close(fds[0]);
    FAILS(EPIPE, write(fds[1], "x", 1));
    JOIN(pid);
}

static void sends_a_megabyte(u64 fd)
{
    for (u64 at = 0, n; at < 1 << 20; at += n) {
        n = MIN(1 + at % 20011, (1 << 20) - at);
        pattern(buf, n, 3, at);
        IS(write(fd, buf, n), n);
    }
}

TEST(a_pipe_keeps_every_byte_in_order)
{
    int fds[2];
    u64 at = 0;
    OK(pipe(fds));
    int pid = SPAWN(sends_a_megabyte, fds[1]);
    close(fds[1]);
    for (i64 n; (n = OK(read(fds[0], buf, 1 + at % 9973))) > 0; at += n) {
        pattern(buf2, n, 3, at);
        IS(memcmp(buf, buf2, n), 0);
    }
    IS(at, 1 << 20);
    JOIN(pid);
}

enum { WRITERS = 4, RECORDS = 300, RECORD = 100 };
static void sends_records(u64 fd)
{
    char record[RECORD];
    memset(record, getpid() & 0x7f, sizeof record);
    for (int i = 0; i < RECORDS; i++)
        IS(write(fd, record, sizeof record), sizeof record);
}

/* All records have come, and each is of one byte. */
static void check_records(int fd)
{
    int count = 0;
    for (i64 n; (n = OK(read_all(fd, buf, RECORD))) > 0; count++) {
        IS(n, RECORD);
        IS(memcmp(buf, buf + 1, RECORD - 1), 0);
    }
    IS(count, WRITERS * RECORDS);
}

TEST(what_one_call_writes_to_a_pipe_stays_together)
{
    int fds[2], pids[WRITERS];
    OK(pipe(fds));
    SPAWN_ALL(pids, sends_records, fds[1]);
    close(fds[1]);
    check_records(fds[0]);
    JOIN_ALL(pids);
}

/* ---- at the same time ---- */

TEST(appends_of_several_processes_are_all_there)
{
    int pids[WRITERS], fd = OK(open("f", O_WRONLY | O_CREAT | O_APPEND, 0644));
    SPAWN_ALL(pids, sends_records, fd);
    JOIN_ALL(pids);
    check_records(OK(open("f", O_RDONLY)));
}

static void makes_and_removes(u64 unused)
{
    char name[20], other[20];
    u64 random = getpid() + unused;
    for (int i = 0; i < 40; i++) {
        u64 size = random_u64(&random) % 20000;
        snprintf(name, sizeof name, "f%d-%d", getpid(), i % 7);
        snprintf(other, sizeof other, "g%d", getpid());
        WRITE_FILE(name, size, random);
        OK(rename(name, other));
        CHECK_FILE(other, size, random);
        OK(link(other, name));
        OK(unlink(other));
        CHECK_FILE(name, size, random);
        OK(unlink(name));
    }
}

TEST(processes_change_one_directory_at_the_same_time)
{
    int pids[4];
    SPAWN_ALL(pids, makes_and_removes, 0);
    JOIN_ALL(pids);
    OK(mkdir("d", 0755));
    IS(STAT(".").st_nlink, 3);
}

static void moves_back_and_forth(u64 which)
{
    static const char *const ends[][2] = {
        {"a/x", "b/x"}, {"a/d", "b/d"}, {"b/y", "a/d/y"}, {"b", "a/d/b"}};
    for (int i = 0; i < 200; i++) {
        rename(ends[which][0], ends[which][1]);
        rename(ends[which][1], ends[which][0]);
    }
}

TEST(renames_across_directories_never_deadlock)
{
    int pids[4];
    OK(mkdir("a", 0755));
    OK(mkdir("b", 0755));
    OK(mkdir("a/d", 0755));
    WRITE_FILE("a/x", 10, 1);
    WRITE_FILE("b/y", 10, 2);
    for (u32 i = 0; i < NELEM(pids); i++)
        pids[i] = SPAWN(moves_back_and_forth, i);
    JOIN_ALL(pids);
}

static void takes_many(u64 fd)
{
    char name[20], taken = 0;
    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof name, "once-%d", i);
        int file = open(name, O_RDWR | O_CREAT | O_EXCL, 0644);
        TRUE(file >= 0 || errno == EEXIST);
        taken += file >= 0;
        close(file);
    }
    IS(write(fd, &taken, 1), 1);
}

TEST(an_exclusive_create_has_one_winner)
{
    int fds[2], pids[4];
    OK(pipe(fds));
    SPAWN_ALL(pids, takes_many, fds[1]);
    JOIN_ALL(pids);
    IS(read(fds[0], buf, 100), 4);
    IS(buf[0] + buf[1] + buf[2] + buf[3], 50);
}

/* ---- policies ---- */

/* Is this why the last control line was refused? */
static bool refused_for(const char *why)
{
    static char text[32768];
    read_device("/dev/policy", text, sizeof text);
    char *error = strstr(text, "last error");
    return error && strstr(error, why);
}

/* Put a policy to use, unless it needs the model of a drive. */
static void use(const char *kind, const char *name)
{
    char line[100];
    snprintf(line, sizeof line, "use %s %s\n", kind, name);
    if (control(line) != (i64)strlen(line))
        TRUE(refused_for("no disk has a drive model"));
}

/* Put every policy to use in its turn, then those that were before. */
static void use_every_policy(void)
{
    char text[4096], used[100];
    read_device("/dev/policy", text, sizeof text);
    for (char *line, *rest = text; (line = strsep(&rest, "\n"));) {
        char *kind = strsep(&line, ":");
        if (!line || strchr(kind, ' '))
            return;
        strlcpy(used, strchr(line, '[') + 1, sizeof used);
        *strchr(used, ']') = 0;
        for (char *name; (name = strsep(&line, " []"));)
            if (*name)
                use(kind, name);
        use(kind, used);
    }
}

TEST(policies_are_swapped_under_load_without_loss)
{
    int pids[4], status;
    SPAWN_ALL(pids, makes_and_removes, 0);
    for (u32 i = 0; i < NELEM(pids); i++) {
        while (OK(wait(pids[i], &status, WNOHANG)) == 0)
            use_every_policy();
        IS(status, 0);
    }
}

/* /dev/policy, but for the last error. */
static void read_policies(char *to, u64 n)
{
    read_device("/dev/policy", to, n);
    char *error = strstr(to, "last error");
    if (error)
        *error = 0;
}

TEST(a_wrong_control_line_changes_nothing)
{
    static char before[4096], after[4096];
    const char *lines[] = {"use",
                           "use sched",
                           "use sched nosuch",
                           "use nosuch fcfs",
                           "use sched fcfs clook",
                           "USE sched fcfs",
                           "set",
                           "set pu.nosuch 1",
                           "set pu.interval_ms",
                           "set pu.interval_ms abc",
                           "set pu.interval_ms -1",
                           "set pu.interval_ms 99999999999999999999",
                           " ",
                           "\n",
                           buf};
    memset(buf, 'u', 1000);
    buf[1000] = 0;
    read_policies(before, sizeof before);
    for (u32 i = 0; i < NELEM(lines); i++) {
        FAILS(EINVAL, control(lines[i]));
        read_policies(after, sizeof after);
        IS(strcmp(before, after), 0);
    }
}

/* Is this row of /dev/policy's a tunable: NAME = VALUE UNIT (MIN to MAX)? */
static bool parse_tunable(char *line, char **name, u64 value[3])
{
    *name = strsep(&line, " ");
    if (!line || strncmp(line, "= ", 2))
        return false;
    value[0] = strtoul(line + 2, &line, 10);
    line = strchr(line, '(');
    value[1] = strtoul(line + 1, &line, 10);
    value[2] = strtoul(line + strlen(" to "), &line, 10);
    return *line == ')';
}

static i64 set_tunable(const char *name, u64 value)
{
    char line[100];
    snprintf(line, sizeof line, "set %s %lu", name, value);
    return control(line);
}

TEST(a_tunable_takes_the_values_of_its_range)
{
    char text[16384], *name;
    u64 value[3];
    read_device("/dev/policy", text, sizeof text);
    for (char *line, *rest = text; (line = strsep(&rest, "\n"));) {
        if (!parse_tunable(line, &name, value))
            continue;
        OK(set_tunable(name, value[1]));
        OK(set_tunable(name, value[2]));
        if (value[1] > 0)
            FAILS(EINVAL, set_tunable(name, value[1] - 1));
        if (value[2] < ~0UL)
            FAILS(EINVAL, set_tunable(name, value[2] + 1));
        OK(set_tunable(name, value[0]));
    }
}

/* ---- mount ---- */

/* Mount disk1 at m, or end the test if there is none. */
static void mount_at_m(int flags)
{
    if (!exists("m"))
        OK(mkdir("m", 0755));
    if (mount("disk1", "m", flags) == -1 && errno == ENXIO)
        _exit(SKIPPED);
    TRUE(exists("m/.."));
    IS(STAT("m").st_ino, 2); /* the root of an ext2 */
}

TEST(mount_and_umount_refuse_wrong_arguments)
{
    WRITE_FILE("f", 1, 1);
    OK(mkdir("d", 0755));
    FAILS(ENXIO, mount("nosuch", "d", 0));
    FAILS(ENXIO, mount("", "d", 0));
    FAILS(EINVAL, mount("disk0", "d", 2));
    FAILS(EBUSY, mount("disk0", "d", 0));
    FAILS(EINVAL, umount("d"));
    FAILS(EINVAL, umount("f"));
    FAILS(ENOENT, umount("missing"));
    FAILS(EBUSY, umount("/"));
}

TEST(a_mounted_disk_is_part_of_the_tree)
{
    mount_at_m(0);
    TRUE(STAT("m").st_dev != STAT(".").st_dev);
    IS(STAT("m/..").st_ino, STAT(".").st_ino);
    WRITE_FILE("m/f", 100000, 1);
    WRITE_FILE("f", 10, 2);
    FAILS(EXDEV, link("f", "m/g"));
    FAILS(EXDEV, rename("m/f", "g"));
    FAILS(EBUSY, rmdir("m"));
    FAILS(EBUSY, rename("m", "n"));
    FAILS(EBUSY, mount("disk1", "m", 0));
    OK(umount("m"));
    TRUE(!exists("m/f"));
    mount_at_m(0);
    CHECK_FILE("m/f", 100000, 1);
    OK(unlink("m/f"));
    OK(umount("m"));
}

TEST(a_disk_in_use_is_not_unmounted)
{
    mount_at_m(0);
    int fd = OK(create("m/f"));
    FAILS(EBUSY, umount("m"));
    OK(unlink("m/f"));
    FAILS(EBUSY, umount("m"));
    OK(close(fd));
    OK(chdir("m"));
    FAILS(EBUSY, umount("../m"));
    OK(getcwd(buf, sizeof buf));
    IS(strcmp(buf + strlen(buf) - 2, "/m"), 0);
    OK(chdir(".."));
    OK(umount("m"));
    FAILS(EINVAL, umount("m"));
}

TEST(a_read_only_disk_is_not_changed)
{
    mount_at_m(0);
    WRITE_FILE("m/f", 100, 1);
    OK(umount("m"));
    mount_at_m(MS_RDONLY);
    CHECK_FILE("m/f", 100, 1);
    FAILS(EROFS, open("m/f", O_RDWR));
    FAILS(EROFS, create("m/g"));
    FAILS(EROFS, unlink("m/f"));
    FAILS(EROFS, mkdir("m/d", 0755));
    FAILS(EROFS, symlink("x", "m/s"));
    FAILS(EROFS, link("m/f", "m/g"));
    FAILS(EROFS, rename("m/f", "m/g"));
    FAILS(EROFS, chmod("m/f", 0600));
    FAILS(EROFS, utime("m/f", 0, 0));
    FAILS(EROFS, truncate("m/f", 0));
    FAILS(EROFS, mknod("m/n", S_IFCHR | 0600, 0x200));
    read_device("/dev/mounts", buf, sizeof buf);
    TRUE(strstr(buf, "/m ro\n"));
    OK(umount("m"));
    mount_at_m(0);
    OK(unlink("m/f"));
    OK(umount("m"));
}

/* ---- running them ---- */

/* What a test must leave as it was. */
enum { MEMORY, FILES, INODES, BUFFERS, BLOCKS, FILE_INODES, KINDS };
static const char *const kind_names[KINDS] = {
    "pages of memory", "open files",     "inodes in memory",
    "buffers held",    "blocks of disk", "inodes of disk",
};
struct in_use {
    i64 count[KINDS];
};

static struct in_use take_stock(void)
{
    struct statfs disk = space();
    OK(sync());
    return (struct in_use){{
        -gauge("mem.free") - gauge("mem.kstacks"),
        gauge("file.open"),
        gauge("ext2.inodes"),
        gauge("bio.busy"),
        -(i64)disk.free_blocks,
        -(i64)disk.free_inodes,
    }};
}

/* Which kind there is more of, or -1. */
static int leaked(const struct in_use *before, const struct in_use *after)
{
    for (int i = 0; i < KINDS; i++)
        if (after->count[i] > before->count[i])
            return i;
    return -1;
}

/* Run it in a process and a directory of its own; its status. */
static int run_once(const struct test *t)
{
    OK(mkdir(HOME, 0755));
    OK(chdir(HOME));
    int status, pid = OK(fork());
    if (pid == 0) {
        t->run();
        _exit(0);
    }
    OK(wait(pid, &status, 0));
    OK(chdir("/"));
    umount(HOME "/m"); /* a failed test may have left it */
    remove_tree(HOME);
    TRUE(!exists(HOME));
    return status;
}

/* Run it, and again if it seems to leak. The status, or LEAKED. */
static int judge(const struct test *t, char *what, u64 n)
{
    for (int run = 0;; run++) {
        struct in_use before = take_stock();
        int status = run_once(t);
        struct in_use after = take_stock();
        int kind = leaked(&before, &after);
        if (status != 0 || kind < 0)
            return status;
        snprintf(what, n, "%ld %s", after.count[kind] - before.count[kind],
                 kind_names[kind]);
        if (run == 1)
            return LEAKED;
    }
}

/* Print its line, but for a failure it has told itself. */
static int run_test(const struct test *t)
{
    char what[100];
    int status = judge(t, what, sizeof what);
    if (status == 0)
        printf("ok %s\n", t->name);
    else if (status == SKIPPED)
        printf("skip %s: there is no disk1\n", t->name);
    else if (status == LEAKED)
        printf("FAIL %s: expected no leak, got %s\n", t->name, what);
    else if (status == WKILLED)
        printf("FAIL %s: expected to end, got killed\n", t->name);
    else if (status != SAID)
        printf("FAIL %s: expected status 0, got %d\n", t->name, status);
    fflush(stdout);
    return status;
}

static const struct test *test_named(const char *name)
{
    for (const struct test *t = __start_tests; t < __stop_tests; t++)
        if (!strcmp(t->name, name))
            return t;
    warnx("no test %s; -l lists them", name);
    exit(2);
}

static const char how_to_give_disk1[] =
    "Skipped tests need a second disk, to which they write. On the host, in "
    "the\n"
    "project's folder:\n"
    "  build/mkfs/mkfs -s 32M build/disk1.img\n"
    "  make qemu DISKS=build/disk1.img\n";

static int run_all(const struct test **tests, int n)
{
    int passed = 0, skipped = 0;
    remove_tree(HOME); /* of a run that was cut off */
    for (int i = 0; i < n; i++) {
        current = tests[i]->name;
        int status = run_test(tests[i]);
        passed += status == 0;
        skipped += status == SKIPPED;
    }
    printf("%d passed, %d failed, %d skipped\n", passed, n - passed - skipped,
           skipped);
    if (skipped > 0)
        printf("%s", how_to_give_disk1);
    return passed + skipped < n;
}

int main(int argc, char **argv)
{
    const char *usage = "usertests [-l] [NAME]...: test the kernel from inside";
    int n = __stop_tests - __start_tests, all = n;
    bool list = false;
    for (int c; (c = options(argc, argv, "l", usage)) != -1;)
        list = c == 'l';
    const struct test **tests = xmalloc((n + argc) * sizeof *tests);
    for (int i = 0; i < n; i++)
        tests[i] = &__start_tests[i];
    if (optind < argc)
        n = argc - optind;
    for (int i = 0; optind + i < argc; i++)
        tests[i] = test_named(argv[optind + i]);
    for (int i = 0; list && i < all; i++)
        puts(__start_tests[i].name);
    return list ? 0 : run_all(tests, n);
}
