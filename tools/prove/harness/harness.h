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

#define CLAIM(holds, what)  __CPROVER_assert(holds, what)
#define REACHED(when, what) __CPROVER_assert(!(when), "reached: " what)
#define ASSUME(holds)       __CPROVER_assume(holds)
#define TELL(...)           __CPROVER_output(__VA_ARGS__)

/* CBMC takes any value for a variable that was not set. */
static inline bool any_bool(void)
{
    bool any;
    return any;
}

/* Any number below a constant. Its upper bits are the constant 0, which saves
 * CBMC most of a multiplication. */
static inline u64 any_below(u64 end)
{
    u64 any, n = any & ~(~0UL << (64 - __builtin_clzll(end)));
    ASSUME(n < end);
    return n;
}

/* Return n / by, which must be less than the constant `end`. It is guessed, and
 * checked by a multiplication: CBMC is quicker with that than with a division,
 * since one of the two numbers has few bits. For the simpler sources of
 * bounds.toml. */
static inline u64 quotient(u64 n, u64 by, u64 end)
{
    u64 q = any_below(end);
    CLAIM(n < by * end, "harness: the quotient is small enough");
    ASSUME(q * by <= n && n - q * by < by);
    return q;
}

/* The one policy takes the place of the linker's table, in which CBMC would see
 * no entry. */
#undef POLICY
#define POLICY(p) static const struct policy *const subject = &p

static inline void consistent(const struct policy *p)
{
    CLAIM(!p->check || !p->check(), "the policy's own check finds nothing");
}
