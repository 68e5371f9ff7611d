/*
 * What the harnesses share. A harness calls the hooks of one policy, named by
 * SUBJECT, in any order and with any arguments that the header of its kind
 * allows, and CBMC looks for a sequence whose answers break a claim.
 *
 * - CLAIM must hold; its text is what the counterexample is told by.
 * - REACHED must fail: CBMC has to find a run that gets there. If there is none
 *   the claims behind it hold of nothing, and nothing is proved.
 * - TELL is a line of that story; its numbers follow the text.
 */
#pragma once

#include "kernel/policy/policy.h"

#define CLAIM(holds, what) __CPROVER_assert(holds, what)
#define REACHED(when, what) __CPROVER_assert(!(when), "reached: " what)
#define ASSUME(holds)      __CPROVER_assume(holds)
#define TELL(...)          __CPROVER_output(__VA_ARGS__)

/* CBMC takes any value for a variable that was not set. */
static inline u64 any_u64(void)
{
    u64 any;
    return any;
}

static inline bool any_bool(void)
{
    bool any;
    return any;
}

static inline u64 any_below(u64 end)
{
    u64 n = any_u64();
    ASSUME(n < end);
    return n;
}

/* The one policy takes the place of the linker's table, in which CBMC would see
 * no entry. */
#undef POLICY
#define POLICY(p) static const struct policy *const subject = &p

/* Set the tunables to any values of their ranges that the policy does not
 * refuse; with DEFAULTS, to those that they begin with. */
static void tune(const struct policy *p)
{
    for (struct tunable *t = p->tunables; t && t->name; t++) {
        t->value = t->def;
#ifndef DEFAULTS
        t->value = any_u64();
        ASSUME(t->value >= t->min && t->value <= t->max);
#endif
    }
    for (u64 row = 0; p->tunables && p->tunables[row].name; row++)
        TELL("set tunable {} to {}", row, p->tunables[row].value);
    ASSUME(!p->refuses || !p->refuses());
}

/* Give the policy its memory for so many buffers, from a region that is not
 * cleared, and start it. */
static void begin(const struct policy *p, void *region, u64 bytes, u64 buffers)
{
    tune(p);
    if (p->memory) {
        p->memory->start = region;
        p->memory->buffers = buffers;
        ASSUME(p->memory->bytes(buffers) <= bytes);
    }
    if (p->start)
        p->start();
}

static void consistent(const struct policy *p)
{
    CLAIM(!p->check || !p->check(), "the policy's own check finds nothing");
}
