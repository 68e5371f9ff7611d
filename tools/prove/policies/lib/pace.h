/*
 * The pace of policies/lib/pace.h without its slots: how many writes are to be
 * done in a tick is any number of what is dirty. CBMC would have to follow a
 * division for each slot. tests/policies/lib/pace_proof_test.c holds the
 * kernel's answers against pace_may_keep, pace_may_be_due and pace_may_owe.
 */
#ifndef SLUICE_LIB_PACE_H
#define SLUICE_LIB_PACE_H

#include "kernel/policy/update.h"
#ifdef __CPROVER__
#include "tools/prove/harness/harness.h"
#endif

#define PACE_TICK_NS (250 * NS_PER_MS)
#define PACE_SLOTS   256
#define PACE_TICKS   (1UL << 20) /* the ticks of a proof are below */

struct pace {
    u64 dues; /* sum of the ticks in which the dirty blocks are due */
    u64 dirty, tick, todo, next_ns;
};

/* True if the tick is that of a time. */
static inline bool pace_is_tick_of(u64 tick, u64 ns)
{
    return tick * PACE_TICK_NS <= ns && ns < (tick + 1) * PACE_TICK_NS;
}

/* True if pace_keep may make `p` of `old`. */
static inline bool pace_may_keep(const struct pace *old, const struct pace *p,
                                 u64 now_ns)
{
    if (now_ns < (old->tick + 1) * PACE_TICK_NS)
        return p->tick == old->tick && p->todo == old->todo &&
               p->next_ns == old->next_ns;
    return pace_is_tick_of(p->tick, now_ns) && p->todo <= p->dirty &&
           p->next_ns == (p->todo ? p->tick * PACE_TICK_NS : NEVER_NS);
}

/* True if pace_due may have this answer. */
static inline bool pace_may_be_due(u64 due, u64 at_ns)
{
    return pace_is_tick_of(due + 2, at_ns);
}

/* True if pace_owe_next may set this time. */
static inline bool pace_may_owe(const struct pace *old, u64 next_ns)
{
    return next_ns >= old->next_ns && next_ns - old->next_ns <= PACE_TICK_NS &&
           (old->todo || next_ns == old->next_ns);
}

static inline void pace_start(struct pace *p)
{
    *p = (struct pace){.next_ns = NEVER_NS};
}

static inline void pace_keep(struct pace *p, u64 now_ns, u64 early)
{
    struct pace any = *p;
    CLAIM(now_ns < PACE_TICKS * PACE_TICK_NS,
          "harness: there are enough ticks");
    CLAIM(early < PACE_SLOTS, "writes are spread over the slots at most");
    any.tick = any_below(PACE_TICKS);
    any.todo = any_below(1UL << 20);
    any.next_ns = any_bool() ? p->next_ns
                  : any.todo ? any.tick * PACE_TICK_NS
                             : NEVER_NS;
    ASSUME(pace_may_keep(p, &any, now_ns));
    *p = any;
}

static inline u64 pace_due(u64 at_ns)
{
    u64 due = any_below(PACE_TICKS);
    CLAIM(at_ns >= 2 * PACE_TICK_NS,
          "a block is due two ticks from 0 at least");
    ASSUME(pace_may_be_due(due, at_ns));
    return due;
}

static inline void pace_add(struct pace *p, u64 due)
{
    CLAIM(due < p->tick + PACE_SLOTS, "no block is due later than the slots");
    p->dues += due;
    p->dirty++;
}

static inline void pace_drop(struct pace *p, u64 due)
{
    CLAIM(p->dirty && p->dues >= due, "a block becomes clean that was dirty");
    p->dues -= due;
    p->dirty--;
}

static inline void pace_owe_next(struct pace *p)
{
    u64 next_ns = p->next_ns + any_below(2 * PACE_TICK_NS);
    ASSUME(pace_may_owe(p, next_ns));
    p->next_ns = next_ns;
}

static inline const char *pace_check(const struct pace *p)
{
    if (!p->dirty && p->dues)
        return "a block became clean that was due in another tick";
    if ((p->next_ns == NEVER_NS) != (p->todo == 0))
        return "writes are to be done now, and none is owed";
    return NULL;
}

#endif
