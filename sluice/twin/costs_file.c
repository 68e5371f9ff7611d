/* The table of costs as a file, with lines "NAME INSTRUCTIONS", and what was
 * counted as text. Rows that the file does not have cost nothing. */
#include <stdio.h>
#include <stdlib.h>

#include "sluice/twin/cost.h"
#include "kernel/base/string.h"
#include "kernel/machine/panic.h"

enum { EVENTS = COST_ROWS - COST_ROWS_OF_TRACE };

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

/* What was done from one event to the next, by the kinds of both. */
static struct {
    double times, count[COST_ROWS];
} between[EVENTS][EVENTS];
static double before[COST_ROWS]; /* the counts at the last event */
static u32 last = EVENTS;        /* its kind */

void costs_traced(u32 event)
{
    if (!costs_shown)
        return;
    for (u32 i = 0; i < COST_ROWS; i++) {
        if (last < EVENTS)
            between[last][event].count[i] += cost_rows[i].count - before[i];
        before[i] = cost_rows[i].count;
    }
    if (last < EVENTS)
        between[last][event].times++;
    last = event;
}

static void show(double *counts)
{
    for (u32 i = 0; i < COST_ROWS; i++)
        fprintf(stderr, " %s %.3f", cost_rows[i].name, counts[i]);
    fprintf(stderr, "\n");
}

void costs_show(void)
{
    if (!costs_shown)
        return;
    double counts[COST_ROWS];
    for (u32 i = 0; i < COST_ROWS; i++) {
        counts[i] = cost_rows[i].count;
        cost_rows[i].count = 0;
    }
    fprintf(stderr, "counts");
    show(counts);
    for (u32 a = 0; a < EVENTS; a++)
        for (u32 b = 0; b < EVENTS; b++)
            if (between[a][b].times) {
                fprintf(stderr, "between %s %s %.0f",
                        cost_rows[COST_ROWS_OF_TRACE + a].name,
                        cost_rows[COST_ROWS_OF_TRACE + b].name,
                        between[a][b].times);
                show(between[a][b].count);
            }
    memset(between, 0, sizeof between);
    memset(before, 0, sizeof before);
    last = EVENTS;
}
