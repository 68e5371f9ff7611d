/*
 * Which places of the code were reached. The compiler puts a call of
 * __sanitizer_cov_trace_pc at the beginning of each basic block of the cache,
 * the queue and the policies. The command finds all such calls in the program,
 * and their lines (tools/search/coverage.py).
 */
#include "tools/search/machine.h"

#include <stdio.h>
#include <stdlib.h>

extern const u8 __executable_start[], etext[];

/* Not part of a state: the pointer never changes. */
static struct covered {
    u64 bytes;
    u8 reached[];
} * covered;

void covered_make(void)
{
    u64 bytes = etext - __executable_start;
    covered = calloc(1, sizeof *covered + bytes);
    covered->bytes = bytes;
}

void __sanitizer_cov_trace_pc(void);

void __sanitizer_cov_trace_pc(void)
{
    u64 at = (const u8 *)__builtin_return_address(0) - __executable_start;
    if (covered && at < covered->bytes)
        covered->reached[at] = 1;
}

void covered_print(void)
{
    printf("covered");
    for (u64 at = 0; covered && at < covered->bytes; at++)
        if (covered->reached[at])
            printf(" %lx", (u64)__executable_start + at);
    printf("\n");
}
