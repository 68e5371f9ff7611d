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

/* kernel/vm.h's map of user memory, and places that are not in it. */
#define USER_TOP    0x3ffffff000UL
#define NOT_MAPPED  0x2000000000UL
#define KERNEL_TEXT 0xffffffc080000000UL
#define PAGE        4096UL

#define MAX_FDS 64
#define SAID    99 /* exit status of a process that has told its failure */
#define HOME    "/usertests.dir"

struct test {
    const char *name;
    void (*run)(void);
};
extern const struct test __start_tests[], __stop_tests[];

#define TEST(name)                                                           \
    static void test_##name(void);                                           \
    static const struct test entry_##name                                    \
        __attribute__((used, section("tests"), aligned(8))) = {#name,        \
                                                               test_##name}; \
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
        FAILS(EFAULT,
              exec("/bin/echo", (char *[]){"x", (char *)p ?: "",
                                           p ? NULL : (char *)8, NULL}));
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

static void waits_for_ever(u64 unused)
{
    SPAWN(sleeps_for_ever, unused);
    setpgrp(0, 0);
    wait(-1, NULL, 0);
}

TEST(kill_ends_a_process_whatever_it_does)
{
    int fds[2];
    OK(pipe(fds));
    const int pids[] = {SPAWN(never_ends, 0), SPAWN(sleeps_for_ever, 0),
                        SPAWN(reads_for_ever, fds[0]),
                        SPAWN(writes_for_ever, fds[1])};
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
    int pid = SPAWN(waits_for_ever, 0); /* and its child, in this group */
    OK(kill(pid));
    IS(STATUS(pid), WKILLED);
    DIES(exits, 0 * kill(-getpid())); /* this process and all in its group */
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
    for (u32 i = 0; i < NELEM(pids); i++)
        JOIN(pids[i]);
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
    int pid = SPAWN(waits_for_ever, 0);
    reads_into((u64)buf2 + 100);
    OK(kill(-getpid() * 0 + pid));
    IS(STATUS(pid), WKILLED);
}

static void uses_all_memory(u64 unused)
{
    (void)unused;
    struct stat st;
    u64 bytes = gauge("mem.free") * PAGE, used = 0;
    int fd = OK(open("/dev/zero", O_RDONLY)), fds[2];
    recurses(32); /* make its pages this process's own */
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
    for (u32 i = 0; i < NELEM(pids); i++)
        JOIN(pids[i]);
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
    while (n-- > 0)
        JOIN(OK(wait(-1, NULL, WNOHANG)) * 0 + wait_any());
}
