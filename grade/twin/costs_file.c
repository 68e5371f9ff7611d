/* The table of costs as a file, with lines "NAME INSTRUCTIONS", and what was
 * counted as text. Rows that the file does not have cost nothing. */
#include <stdio.h>
#include <stdlib.h>

#include "grade/twin/cost.h"
#include "kernel/machine/panic.h"

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "twin: costs: %s: %s\n", what, why);
    exit(STATUS_BOOT_FAIL);
}

void costs_read(const char *path)
{
    char name[32];
    u64 instructions;
    FILE *f = fopen(path, "r");
    if (!f)
        fail(path, "cannot be read");
    while (fscanf(f, "%31s %lu", name, &instructions) == 2)
        if (!cost_set(name, instructions))
            fail(name, "there is no such row");
    if (!feof(f))
        fail(path, "want lines of a name and a number");
    fclose(f);
}

void costs_show(void)
{
    if (!costs_shown)
        return;
    fprintf(stderr, "counts");
    for (u32 i = 0; i < COST_ROWS; i++) {
        fprintf(stderr, " %s %.3f", cost_rows[i].name, cost_rows[i].count);
        cost_rows[i].count = 0;
    }
    fprintf(stderr, "\n");
}
