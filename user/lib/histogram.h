/*
 * Counts of values in buckets, with their exact sum and sum of squares.
 *
 * - A power of two is divided into 128 buckets of equal width: a bucket is as
 *   wide as 1/128 of its low end at most. Below 256 each value has its own.
 * - Any 64-bit value has a bucket.
 */
#ifndef SLUICE_USER_HISTOGRAM_H
#define SLUICE_USER_HISTOGRAM_H

#include "user/lib/fixed.h"

#define SUB_BUCKETS 128
#define BUCKETS     (58 * SUB_BUCKETS)

/* Zeros are an empty one. */
struct histogram {
    u64 count, min, max, sum;
    u128 squares;
    u64 bucket[BUCKETS];
};

void histogram_add(struct histogram *, u64 value);

/* The least value that this many of 1000 values do not exceed: the middle of
 * its bucket, and never above the maximum; 0 if there are no values. */
u64 histogram_quantile(const struct histogram *, u64 of_1000);

/* As JSON: {"min":0,"max":0,"mean":0,"std":0}. Mean and standard deviation
 * (of these values, not an estimate for more of them) are rounded down. */
void histogram_print_summary(const struct histogram *);
/* As JSON: [[low end, count],...], without the empty buckets. */
void histogram_print_buckets(const struct histogram *);

#endif
