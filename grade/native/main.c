/* The main program of tests in C (test.h): lists them, or runs one. */
#include "grade/native/test.h"

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
#pragma weak run_for_counters

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--counters") == 0 && run_for_counters)
        return run_for_counters();
    for (const struct test *const *t = __start_tests; t < __stop_tests; t++) {
        if (argc < 2)
            printf("%s\n", (*t)->name);
        else if (strcmp(argv[1], (*t)->name) == 0)
            return (*t)->run(), 0;
    }
    return argc < 2 ? 0 : 2;
}
