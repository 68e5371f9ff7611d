/* The cost of computing (cost.h). */
#include "kernel/measure/cost.h"

#include "kernel/machine/args.h"
#include "kernel/measure/trace.h"

#define MAX_NS 1000000 /* an instruction's time, at most */

enum {
#define X(name, meaning) COST_##name = COST_EVENTS + TRACE_##name,
    TRACE_EVENTS(X)
#undef X
        COST_END
};
_Static_assert(COST_END <= COST_ROWS, "a row for each event");

struct cost_row cost_rows[COST_ROWS] = {
#define X(name_, about) [COST_##name_].name = #name_,
    COSTS(X) TRACE_EVENTS(X)
#undef X
#define COST(name, n) [COST_##name].instructions = n,
#include "kernel/measure/costs.h"
#include "kernel/measure/network_costs.h"
#undef COST
};

u64 instruction_ns;

/* Charge n times what the row costs. The inline charge() has asked for charged
 * time. */
void cost_charge(u32 row, u64 n)
{
    cost_pay(row, n);
}

/* Charge a row whose cost is for 1024 bytes. */
void cost_charge_bytes(u32 row, u64 bytes)
{
    cost_rows[row].charged += bytes;
    clock_spend(cost_ns(cost_rows[row].instructions * bytes / 1024));
}

/* At boot: how long an instruction takes in charged time. */
void cost_init(void)
{
    if (clock_charged)
        instruction_ns = arg_number("charged_ns", 0, 0, MAX_NS);
}
