/*
 * What computing takes: a table of costs in instructions, which `make
 * twin-costs` finds out in the machine.
 *
 * - The kernel's own trace says what it does: each event has a row, which is
 *   paid when it is traced. The other rows are below.
 * - The Makefile puts functions of this file in the place of those by which a
 *   scheduler looks at its queue (policy.h), in policies alone. They pay, and
 *   then call those. What the kernel looks up is part of what an event takes.
 * - Without a table everything costs nothing.
 */
#ifndef SLUICE_TWIN_COST_H
#define SLUICE_TWIN_COST_H

#include "kernel/measure/trace.h"

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
    X(exec, "programs begun")

enum cost {
#define X(name, about) COST_##name,
    COSTS(X) TRACE_EVENTS(X)
#undef X
        COST_ROWS
};
#define COST_ROWS_OF_TRACE COST_queued /* the first, by number */

/* Execute what n of these take. */
void pay(enum cost, u64 n);

/* The same, for n parts of a whole that has a row. */
void pay_part(enum cost, u64 n, u64 whole);

struct cost_row {
    const char *name;
    u64 instructions;
    double count; /* since costs_show */
};
extern struct cost_row cost_rows[COST_ROWS];

bool cost_set(const char *name, u64 instructions); /* false: no such row */

/* ---- costs_file.c ---- */

void costs_read(const char *path);

/* Print what was counted since the last call on the standard error, if that is
 * asked for: a line "counts ROW N ...", and for each two kinds of event that
 * followed each other a line "between EVENT EVENT TIMES ROW N ...". */
extern bool costs_shown;
void costs_show(void);
void costs_traced(u32 event); /* called before the event's row is paid */

#endif
