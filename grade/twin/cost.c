/* The table of costs (cost.h). The file has lines "NAME INSTRUCTIONS"; rows
 * that it does not have cost nothing. */
#include "grade/twin/cost.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grade/twin/hart.h"
#include "kernel/machine/power.h"
#include "kernel/policy/policy.h"

bool costs_shown;
u64 cpu_shift = 5; /* 32 ns an instruction: a workstation of 1990 */

static struct {
    const char *name;
    u64 instructions;
    double count; /* since costs_show */
} rows[COST_ROWS] = {
#define X(name_, about) [COST_##name_] = {.name = #name_},
    COSTS(X) TRACE_EVENTS(X)
#undef X
};

void pay_part(enum cost c, u64 n, u64 whole)
{
    if (costs_shown)
        rows[c].count += (double)n / whole;
    u64 instructions = rows[c].instructions * n / whole;
    if (instructions)
        spend(instructions << cpu_shift);
}

void pay(enum cost c, u64 n)
{
    pay_part(c, n, 1);
}

/* ---- what schedulers ask ---- */

#define LOOK(name, parameters, arguments)     \
    struct request *__real_##name parameters; \
    struct request *__wrap_##name parameters; \
    struct request *__wrap_##name parameters  \
    {                                         \
        pay(COST_look, 1);                    \
        return __real_##name arguments;       \
    }
LOOK(queue_at_or_after, (const struct queue *q, enum direction d, u64 sector),
     (q, d, sector))
LOOK(queue_before, (const struct queue *q, enum direction d, u64 sector),
     (q, d, sector))
LOOK(queue_circular, (const struct queue *q, enum direction d, u64 sector),
     (q, d, sector))
LOOK(queue_oldest, (const struct queue *q, enum direction d), (q, d))

struct approach __real_queue_approach(const struct queue *, u64 start_ns,
                                      const struct request *first, u64 gap_ns,
                                      const struct request *);
struct approach __wrap_queue_approach(const struct queue *, u64 start_ns,
                                      const struct request *first, u64 gap_ns,
                                      const struct request *);

struct approach __wrap_queue_approach(const struct queue *q, u64 start_ns,
                                      const struct request *first, u64 gap_ns,
                                      const struct request *r)
{
    pay(first ? COST_approach_after : COST_approach, 1);
    return __real_queue_approach(q, start_ns, first, gap_ns, r);
}

/* ---- the file ---- */

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "twin: costs: %s: %s\n", what, why);
    exit(STATUS_BOOT_FAIL);
}

static void set(const char *name, u64 instructions)
{
    u32 i = 0;
    while (i < COST_ROWS && strcmp(rows[i].name, name))
        i++;
    if (i == COST_ROWS)
        fail(name, "there is no such row");
    rows[i].instructions = instructions;
}

void costs_read(const char *path)
{
    char name[32];
    u64 instructions;
    FILE *f = fopen(path, "r");
    if (!f)
        fail(path, "cannot be read");
    while (fscanf(f, "%31s %lu", name, &instructions) == 2)
        set(name, instructions);
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
        fprintf(stderr, " %s %.3f", rows[i].name, rows[i].count);
        rows[i].count = 0;
    }
    fprintf(stderr, "\n");
}
