/*
 * The main program of tests in C (test.h): lists them, or runs one or all.
 *
 * link: tests/support/native/random.c
 */
#include "tests/support/native/test.h"

#include <sys/wait.h>
#include <unistd.h>
#include "kernel/measure/cost.h"

/* Time is not charged in these tests (kernel/measure/cost.h). */
bool clock_charged;

void cost_charge(u32 row, u64 n)
{
    (void)row, (void)n;
}

void cost_charge_bytes(u32 row, u64 bytes)
{
    (void)row, (void)bytes;
}

extern const struct test *const __start_tests[];
extern const struct test *const __stop_tests[];

const char *test_step = "";

/* Only a program with policies (test.c) has these. */
#pragma weak watch_counters
#pragma weak print_unmoved

/* Do `call` for each test, and for each row of a table of tests. */
static void each_test(void (*call)(const struct test *, const char *name,
                                   const void *row))
{
    for (const struct test *const *p = __start_tests; p < __stop_tests; p++) {
        const struct test *t = *p;
        if (t->run)
            call(t, t->name, NULL);
        for (u64 i = 0; i < t->nrows; i++) {
            const void *row = (const u8 *)t->rows + i * t->row_bytes;
            call(t, *(const char *const *)row, row);
        }
    }
}

/* Run a test, or a row of a table of tests. */
static void run_test(const struct test *t, const void *row)
{
    if (row)
        t->run_row(row);
    else
        t->run();
}

/* Returns the test's exit status, or 128 and the signal that ended it. */
static int run_apart(const struct test *t, const void *row)
{
    int status;
    pid_t child = fork();
    check(child >= 0);
    if (child == 0) {
        run_test(t, row);
        fflush(stdout);
        _exit(
            0); /* without a search for leaks: what is tested allocates none */
    }
    check(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Run a test in a process of its own, between the lines "@ NAME" and "@
 * STATUS". */
static void run_one(const struct test *t, const char *name, const void *row)
{
    printf("@ %s\n", name);
    fflush(stdout); /* or the child would print it, too */
    printf("@ %d\n", run_apart(t, row));
}

/* Run all tests, each in a process of its own. */
static int run_all(void)
{
    if (watch_counters)
        watch_counters();
    each_test(run_one);
    if (print_unmoved)
        print_unmoved();
    return 0;
}

/* Print a test's name. */
static void list_one(const struct test *t, const char *name, const void *row)
{
    (void)t, (void)row;
    printf("%s\n", name);
}

static const char *wanted;

/* Run the test if its name is the wanted one, and end the program. */
static void run_wanted(const struct test *t, const char *name, const void *row)
{
    if (strcmp(name, wanted) != 0)
        return;
    run_test(t, row);
    exit(0);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--all") == 0)
        return run_all();
    if (argc < 2) {
        each_test(list_one);
        return 0;
    }
    wanted = argv[1];
    each_test(run_wanted);
    return 2;
}
