/*
 * usertests: test what the kernel and the C library (heap.c, text.c, streams.c)
 * promise to programs.
 *
 *   usertests [-l] [NAME]...   all tests, those named, or with -l a list
 *
 * - A test is a function in TEST(name), in any file of this folder; the name
 *   states the property. It runs in a process of its own, in an empty
 *   directory of its own, and the first expectation that fails ends it:
 *   `FAIL NAME: line N: expected ...`.
 * - After each test the gauges of /dev/stat and the free space must be what
 *   they were before. If they are not, the test runs again, for the first
 *   time fills caches and tables; what the second run loses too is a leak.
 * - Tests wait for events, never for a time to pass.
 * - Exit status: 0 if all passed, 1 if not, 2 for a wrong name.
 *
 * main.c runs the tests, expect.c and files.c are what they use, and each of
 * the other files holds the tests of one topic.
 */
#ifndef SLUICE_USERTESTS_H
#define SLUICE_USERTESTS_H

#include "user/lib.h"

/* kernel/proc/vm.h's map of user memory, and places that are not in it. */
#define USER_TOP    0x3ffffff000UL
#define NOT_MAPPED  0x2000000000UL
#define KERNEL_TEXT 0xffffffc080000000UL
#define PAGE        4096UL

#define MAX_FDS 64
#define SAID    99 /* exit status of a process that has told its failure */
#define SKIPPED 98 /* ... of a test that cannot be done here */

/* The linker gathers the tests of all files into one array. Tests of one file
 * are in the order in which the file has them. */
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

extern const char *current;          /* the test's name */
extern char buf[65536], buf2[65536]; /* for any use */

/* ---- expectations (expect.c) ---- */

void fail(int line, const char *fmt, ...) PRINTF(2, 3) NORETURN;
i64 expect_ok(int line, const char *what, i64 got);
void expect_is(int line, const char *what, i64 got, i64 wanted);
void expect_fails(int line, const char *what, int error, i64 got);

#define OK(call)           expect_ok(__LINE__, #call, (i64)(call))
#define IS(call, wanted)   expect_is(__LINE__, #call, (i64)(call), wanted)
#define FAILS(error, call) expect_fails(__LINE__, #call, error, (i64)(call))
#define TRUE(condition)                                                  \
    do                                                                   \
        if (!(condition))                                                \
            fail(__LINE__, "expected %s, got the contrary", #condition); \
    while (0)

/* ---- processes (expect.c) ---- */

int spawn(int line, void (*fn)(u64), u64 arg);
int status_of(int line, int pid);
void close_both(const int fds[2]);

/* A child that calls fn(arg) and exits with 0. */
#define SPAWN(fn, arg) spawn(__LINE__, fn, arg)
/* Wait for a child; its status as wait() has it. */
#define STATUS(pid) status_of(__LINE__, pid)
/* Wait for a child that must have succeeded. */
#define JOIN(pid) expect_is(__LINE__, "status of child", STATUS(pid), 0)
/* Start as many children as the array has room for; wait for them. */
#define SPAWN_ALL(pids, fn, arg)             \
    for (u32 i_ = 0; i_ < NELEM(pids); i_++) \
    (pids)[i_] = SPAWN(fn, arg)
#define JOIN_ALL(pids)                       \
    for (u32 i_ = 0; i_ < NELEM(pids); i_++) \
    JOIN((pids)[i_])
/* Expect that the kernel kills a process that calls fn(arg). */
#define DIES(fn, arg) expect_is(__LINE__, #fn, STATUS(SPAWN(fn, arg)), WKILLED)

/* A signal between processes: TELL writes a byte, HEAR waits for a byte, or for
 * the end of the pipe when no writer is left. */
#define TELL(fds) IS(write((fds)[1], "!", 1), 1)
#define HEAR(fds) OK(read((fds)[0], &(char){0}, 1))

/* For SPAWN. */
void never_ends(u64 unused);
void exits(u64 status);
void waits_for_end(u64 fds); /* of a pipe */
void reads_for_ever(u64 fd);
void writes_for_ever(u64 fd);
void sleeps_for_ever(u64 unused);
void computes_right(u64 wanted); /* what computes() returned */
u64 computes(void);
void makes_and_removes(u64 rounds); /* files in the current directory */

/* Several processes write records, each of one byte, to one place. */
enum { WRITERS = 4, RECORDS = 300, RECORD = 100 };
void sends_records(u64 fd);
void check_records(int fd); /* all have come, none is mixed */

/* ---- files (files.c) ---- */

char pattern_byte(u64 seed, u64 offset);
void pattern(char *to, u64 n, u64 seed, u64 offset);
void write_file(int line, const char *path, u64 n, u64 seed);
void check_file(int line, const char *path, u64 n, u64 seed);
struct stat stat_of(int line, const char *path);
#define WRITE_FILE(path, n, seed) write_file(__LINE__, path, n, seed)
#define CHECK_FILE(path, n, seed) check_file(__LINE__, path, n, seed)
#define STAT(path)                stat_of(__LINE__, path)

bool is_zero(const char *p, u64 n);
int create(const char *path);
bool exists(const char *path);
struct statfs space(void);
void remove_tree(const char *path);
void read_device(const char *path, char *to, u64 n); /* as a text */
i64 gauge(const char *name); /* the value of a row of /dev/stat */

/* ---- calls with wrong arguments (files.c) ---- */

/* A system call by its number: its result as the kernel returned it. */
i64 raw_call(u64 number, u64 a, u64 b, u64 c);

#define BAD_ADDRESSES 14
extern const u64 bad_addresses[BAD_ADDRESSES];

#endif
