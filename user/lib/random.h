/* Random numbers of several distributions (random.c), all from random_u64:
 * *state is a generator's state, one output is used for each number. */
#ifndef SLUICE_USER_RANDOM_H
#define SLUICE_USER_RANDOM_H

#include "kernel/base/types.h"

/* The first state of a generator that is independent of those with another
 * seed, job or use. */
u64 random_stream(u64 seed, u64 job, u64 use);

u64 random_below(u64 *state, u64 n); /* 0 to n - 1 */

/* A choice that a program makes at random, with probability weight / sum of all
 * weights. */
struct weighted {
    const char *name;
    void (*act)(void);
    u32 weight;
};

/* One of n, with a probability proportional to its weight. */
const struct weighted *random_weighted(u64 *state, const struct weighted *,
                                       u32 n);

/* ns from one Poisson arrival to the next, at this rate a second. */
u64 random_gap_ns(u64 *state, u64 rate_per_s);

#define ZIPF_MAX (1UL << 22) /* most items */

struct zipf;

/* n items, the r-th most popular chosen with a probability proportional to
 * r^-theta. Which items are popular is shuffled by `seed`. */
struct zipf *zipf_make(u64 n, u64 theta_thousandths, u64 seed);
u64 zipf_pick(const struct zipf *, u64 *state); /* 0 to n - 1 */

#endif
