/*
 * Counts of values in buckets, with their exact sum and sum of squares.
 *
 * - The values from 2^k to 2^(k+1) are divided into 128 buckets of equal width,
 *   so a bucket is at most 1/128 of its low end wide. Below 256 each value has
 *   its own bucket.
 * - Any 64-bit value has a bucket.
 */
#ifndef SLUICE_USER_HISTOGRAM_H
#define SLUICE_USER_HISTOGRAM_H

#include "user/lib/fixed.h"

#define SUB_BUCKETS 128
#define BUCKETS     (58 * SUB_BUCKETS)

/* All fields 0: an empty histogram. */
struct histogram {
    u64 count, min, max, sum;
    u128 squares;
    u64 bucket[BUCKETS];
};

void histogram_add(struct histogram *, u64 value);

/* Return the least value that of_1000 of 1000 values do not exceed. It is the
 * middle of its bucket, but at most the maximum; 0 if there are no values. */
u64 histogram_quantile(const struct histogram *, u64 of_1000);

/* As JSON: {"min":0,"max":0,"mean":0,"std":0}. Mean and standard deviation
 * are rounded down; the deviation is that of these values as a population. */
void histogram_print_summary(const struct histogram *);
/* As JSON: [[low end, count],...], without the empty buckets. */
void histogram_print_buckets(const struct histogram *);

#endif
