/*
 * Marks: a high and a low limit of how many blocks are dirty, which adapt to
 * the load. With more than `high` blocks dirty, write all but `low`. marks.c
 * says how they adapt.
 */
#ifndef SLUICE_LIB_MARKS_H
#define SLUICE_LIB_MARKS_H

#include "kernel/policy/policy.h"

struct marks {
    u64 high, low; /* blocks; the rest is marks.c's */
    u64 exact_high, exact_low;
    u64 steps;
    u64 dirtied, cleaned; /* in the last step */
    u64 all_dirtied, all_cleaned;
};

/* Begin with these. */
void marks_start(struct marks *, u64 high, u64 low);

/* A step of time has passed: adapt the marks to what it did to the cache. Then
 * 1 <= high <= MAX(1, most), and low <= high. Steps are to be equally long. */
void marks_step(struct marks *, const struct cache_state *, u64 most);

#endif
