/* The main program of tests in C (test.h): lists them, or runs one or all. */
#include "tests/native/test.h"

#include <sys/wait.h>
#include <unistd.h>

extern const struct test *const __start_tests[];
extern const struct test *const __stop_tests[];

/* Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
 * OOPSLA 2014. */
u64 random_u64(u64 *state)
{
    u64 z = *state += 0x9e3779b97f4a7c15UL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9UL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebUL;
    return z ^ (z >> 31);
}

/* Of a program with policies (test.c) only. */
#pragma weak watch_counters
#pragma weak print_unmoved

/* Returns the test's exit status, or 128 and the signal that ended it. */
static int run_apart(const struct test *t)
{
    int status;
    pid_t child = fork();
    check(child >= 0);
    if (child == 0) {
        t->run();
        fflush(stdout);
        _exit(
            0); /* without a search for leaks: what is tested allocates none */
    }
    check(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int run_all(void)
{
    if (watch_counters)
        watch_counters();
    for (const struct test *const *t = __start_tests; t < __stop_tests; t++) {
        printf("@ %s\n", (*t)->name);
        fflush(stdout); /* or the child would print it, too */
        printf("@ %d\n", run_apart(*t));
    }
    if (print_unmoved)
        print_unmoved();
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--all") == 0)
        return run_all();
    for (const struct test *const *t = __start_tests; t < __stop_tests; t++) {
        if (argc < 2)
            printf("%s\n", (*t)->name);
        else if (strcmp(argv[1], (*t)->name) == 0)
            return (*t)->run(), 0;
    }
    return argc < 2 ? 0 : 2;
}
