/*
 * Histograms, gathered by the linker and read as /dev/hist. For each one a
 * line `hist NAME UNIT COUNT SUM`, then for each bucket that is not empty a
 * line `bucket LOW HIGH COUNT`, LOW <= value < HIGH.
 *
 * - Buckets are log-linear, 128 to a power of two: below 256 each value has
 *   its own, above a bucket is at most 1/128 of its value wide. That is the
 *   scheme of HdrHistogram (G. Tene). Every 64-bit value has a bucket.
 *
 *   HISTOGRAM(response, "disk%u.response", "ns", "of reads");
 *   hist_init(&response, disk_count());       at boot, units of them
 *   hist_add(&response, disk, ns);            from any context
 */
#ifndef SLUICE_HIST_H
#define SLUICE_HIST_H

#include "kernel/types.h"

#define HIST_BUCKETS (58 * 128)

struct hist_unit {
    u64 sum;
    u32 counts[HIST_BUCKETS];
};

struct histogram {
    const char *name; /* a format for the unit's number, if there are units */
    const char *unit, *about;
    u32 nunits;
    struct hist_unit *units; /* NULL until hist_init */
};

#define HISTOGRAM(id, name_, unit_, about_)                          \
    static struct histogram id                                       \
        __attribute__((used, section("histograms"), aligned(8))) = { \
            .name = name_, .unit = unit_, .about = about_}

void hist_init(struct histogram *, u32 nunits);
void hist_add(struct histogram *, u32 unit, u64 value);

/* The bucket of a value, and the least value of a bucket. */
u32 hist_bucket(u64 value);
u64 hist_low(u32 bucket);

#endif
