/*
 * What computing costs in charged time (kernel/machine/clock.c): this many
 * instructions for each of the things below, by the tables in costs.h and
 * network_costs.h. The events of the trace have rows, too; trace() charges
 * them.
 *
 * - A cost is paid once what it is for has happened, except a system call's,
 *   which comes first.
 * - What a policy computes beyond these things is free. What it asks about its
 *   queue and the arm is charged; the kernel's own questions are part of what
 *   the events cost.
 * - Without charged time nothing here takes more than a test of a flag.
 */
#pragma once

#include "kernel/machine/clock.h"

/* X(name, what is counted) */
#define COSTS(X)                                                \
    X(program, "system calls: what a program does between two") \
    X(work, "transfers: what a program does with one")          \
    X(call, "system calls")                                     \
    X(read, "of these, reads")                                  \
    X(write, "of these, writes")                                \
    X(copy_in_kb, "KiB copied from a program")                  \
    X(copy_out_kb, "KiB copied to a program")                   \
    X(interrupt, "timer interrupts")                            \
    X(switch, "switches to a process")                          \
    X(look, "requests that a policy looks up in a queue")       \
    X(approach, "questions of a policy about the arm")          \
    X(approach_after, "the same, after another command")        \
    X(fork, "forks")                                            \
    X(exec, "programs begun")                                   \
    X(frame, "frames received")                                 \
    X(sent_kb, "KiB of datagrams sent")                         \
    X(joined_kb, "KiB of datagrams put together of fragments")  \
    X(rpc_call, "calls of RPC made, and made again")

enum cost {
#define X(name, about) COST_##name,
    COSTS(X)
#undef X
        COST_EVENTS /* and an event's row is COST_EVENTS + its number */
};

#define COST_ROWS (COST_EVENTS + 32)

/* A row: its cost, and how much was charged for it since the boot: things, or
 * bytes if it is of KiB. */
struct cost_row {
    const char *name;
    u64 instructions, charged;
};
extern struct cost_row cost_rows[COST_ROWS];

void cost_charge(u32 row, u64 n);
void cost_charge_bytes(u32 row, u64 bytes);

/* How long an instruction takes in charged time, and how long some take, at
 * most 2^40 of them. */
extern u64 instruction_ns;
static inline u64 cost_ns(u64 instructions)
{
    return instructions * instruction_ns;
}

/* cost_charge, inline: where time is charged, on the way of each call. */
static inline void cost_pay(u32 row, u64 n)
{
    cost_rows[row].charged += n;
    clock_spend(cost_ns(cost_rows[row].instructions * n));
}

/* Charge n times what the row costs, in charged time. */
static inline void charge(u32 row, u64 n)
{
    if (clock_charged)
        cost_charge(row, n);
}

/* Charge a row whose cost is for 1024 bytes, in charged time. */
static inline void charge_bytes(u32 row, u64 bytes)
{
    if (clock_charged)
        cost_charge_bytes(row, bytes);
}

void cost_init(void);
