/* The table of costs (cost.h). */
#include "sluice/twin/cost.h"

#include "sluice/twin/hart.h"
#include "kernel/base/string.h"
#include "kernel/policy/policy.h"

bool costs_shown;
u64 cpu_shift = 5; /* 32 ns an instruction: a workstation of 1990 */

struct cost_row cost_rows[COST_ROWS] = {
#define X(name_, about) [COST_##name_] = {.name = #name_},
    COSTS(X) TRACE_EVENTS(X)
#undef X
};

void pay_part(enum cost c, u64 n, u64 whole)
{
    if (costs_shown)
        cost_rows[c].count += (double)n / whole;
    u64 instructions = cost_rows[c].instructions * n / whole;
    if (instructions)
        spend(instructions << cpu_shift);
}

void pay(enum cost c, u64 n)
{
    pay_part(c, n, 1);
}

bool cost_set(const char *name, u64 instructions)
{
    u32 i = 0;
    while (i < COST_ROWS && strcmp(cost_rows[i].name, name))
        i++;
    if (i == COST_ROWS)
        return false;
    cost_rows[i].instructions = instructions;
    return true;
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
