/* Tables of costs as files, and what was charged as text (costs.h). */
#include <stdio.h>
#include <stdlib.h>

#include "sluice/twin/costs.h"
#include "kernel/base/string.h"
#include "kernel/machine/panic.h"
#include "kernel/measure/trace.h"

enum {
    EVENTS = COST_ROWS - COST_EVENTS,
    ROWS = COST_ROWS,
};

bool costs_shown;

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "twin: costs: %s: %s\n", what, why);
    exit(STATUS_BOOT_FAIL);
}

static bool set(const char *name, u64 instructions)
{
    for (struct cost_row *r = cost_rows; r < cost_rows + ROWS; r++)
        if (r->name && !strcmp(r->name, name)) {
            r->instructions = instructions;
            return true;
        }
    return false;
}

void costs_read(const char *path)
{
    char name[32];
    u64 instructions;
    FILE *f = fopen(path, "r");
    if (!f)
        fail(path, "cannot be read");
    for (u32 i = 0; i < ROWS; i++)
        cost_rows[i].instructions = 0;
    while (fscanf(f, "%31s %lu", name, &instructions) == 2)
        if (!set(name, instructions))
            fail(name, "there is no such row");
    if (!feof(f))
        fail(path, "want lines of a name and a number");
    fclose(f);
}

/* The work from one event to the next, by the kinds of both. */
static struct {
    double times, count[COST_ROWS];
} between[EVENTS][EVENTS];
static double before[COST_ROWS]; /* the counts at the last event */
static double shown[COST_ROWS];  /* and when they were last printed */
static u32 last = EVENTS;        /* the last event's kind */

/* The charges for a row since the boot, in its unit. */
static double count_of(u32 row)
{
    bool in_kb = row == COST_copy_in_kb || row == COST_copy_out_kb;
    return cost_rows[row].charged / (in_kb ? 1024.0 : 1);
}

/* Count, for each pair of events that follow one another, what was charged
 * between them. */
void costs_traced(u32 event)
{
    if (!costs_shown)
        return;
    for (u32 i = 0; i < COST_ROWS; i++) {
        if (last < EVENTS)
            between[last][event].count[i] += count_of(i) - before[i];
        before[i] = count_of(i);
    }
    if (last < EVENTS)
        between[last][event].times++;
    last = event;
}

static void show(double *counts)
{
    for (u32 i = 0; i < COST_ROWS; i++)
        if (cost_rows[i].name)
            fprintf(stderr, " %s %.3f", cost_rows[i].name, counts[i]);
    fprintf(stderr, "\n");
}

/* This runs on a kernel stack: without a buffer of its own the standard error
 * would have one there. */
void costs_show(void)
{
    static char buffer[1 << 16];
    if (!costs_shown)
        return;
    setvbuf(stderr, buffer, _IOFBF, sizeof buffer);
    double counts[COST_ROWS];
    for (u32 i = 0; i < COST_ROWS; i++) {
        counts[i] = count_of(i) - shown[i];
        shown[i] = count_of(i);
    }
    fprintf(stderr, "counts");
    show(counts);
    for (u32 a = 0; a < EVENTS; a++)
        for (u32 b = 0; b < EVENTS; b++)
            if (between[a][b].times) {
                fprintf(stderr, "between %s %s %.0f",
                        cost_rows[COST_EVENTS + a].name,
                        cost_rows[COST_EVENTS + b].name, between[a][b].times);
                show(between[a][b].count);
            }
    fflush(stderr);
    memset(between, 0, sizeof between);
    last = EVENTS;
}
