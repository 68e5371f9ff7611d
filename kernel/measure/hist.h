/*
 * Histograms, gathered by the linker: of the whole system and of each disk in
 * /dev/hist, of each process in /dev/prochist. For each one a line
 * `hist NAME UNIT COUNT SUM`, then for each bucket that is not empty a line
 * `bucket LOW HIGH COUNT`, LOW <= value < HIGH.
 *
 * - Buckets are log-linear, 128 to a power of two: below 256 each value has
 *   its own, above a bucket is at most 1/128 of its value wide. That is the
 *   scheme of HdrHistogram (G. Tene). Every 64-bit value has a bucket.
 *
 *   HISTOGRAM(burst, "bio.burst", "blocks", "that a flush started");
 *   hist_add(&burst, n);                      from any context
 *
 *   DISK_HISTOGRAM(response, "response", "ns", "of requests");
 *   hist_add_request(&response, disk, pid, ns);
 *
 * - DISK_HISTOGRAM makes one for each disk, disk0.response ... in /dev/hist,
 *   and one for each process, proc14.response ... in /dev/prochist
 *   (prochist.c).
 */
#pragma once

#include "kernel/machine/device.h"

#define HIST_GROUPS  58 /* of buckets: one for each power of two */
#define HIST_GROUP   128
#define HIST_BUCKETS (HIST_GROUPS * HIST_GROUP)

struct hist_unit {
    u64 sum;
    u32 counts[HIST_BUCKETS];
};

struct histogram {
    const char *name, *unit, *about;
    bool of_disks; /* and of processes */
    u32 nunits;    /* disks, or 1 */
    u32 place;     /* if of_disks: its number among those */
    struct hist_unit *units;
};

#define HIST_ROW_(id)          \
    static struct histogram id \
        __attribute__((used, section("histograms"), aligned(8)))
#define HIST_FILE_(id)                  \
    ;                                   \
    static const char *const id##_file_ \
        __attribute__((used, section("histogram_files"))) = __FILE__
#define HISTOGRAM(id, name_, unit_, about_) \
    HIST_ROW_(id) = {                       \
        .name = name_, .unit = unit_, .about = about_} HIST_FILE_(id)
#define DISK_HISTOGRAM(id, name_, unit_, about_) \
    HIST_ROW_(id) = {.name = name_,              \
                     .unit = unit_,              \
                     .about = about_,            \
                     .of_disks = true} HIST_FILE_(id)

extern struct histogram __start_histograms[], __stop_histograms[];
#define HISTOGRAM_EACH(h) \
    for (struct histogram *h = __start_histograms; h < __stop_histograms; h++)

/* The i-th one's name, and the source that it is from; NULL past the last. */
const char *hist_name(u32 i, const char **file);

/* Make all histograms at boot, for this many disks. Stops the boot if memory
 * does not suffice. */
void hist_init(u32 disks);

/* Make room at boot for this many histograms of each process, and count in
 * them, from any context. Part of prochist.c, for hist.c alone. */
void prochist_init(u32 histograms);
void prochist_add(const struct histogram *, u32 pid, u32 bucket, u64 value);

void hist_add(struct histogram *, u64 value);
/* Add a value for a disk and a process, unless the disk was added after
 * hist_init: then it has no histograms. */
void hist_add_request(struct histogram *, u32 disk, u32 pid, u64 value);

/* The bucket of a value, and the least value of a bucket. */
u32 hist_bucket(u64 value);
u64 hist_low(u32 bucket);

/* Print the lines of a histogram whose counts are in groups; NULL: a group of
 * zeros. */
void hist_print(struct text *, const char *name, const char *unit, u64 sum,
                const u32 *const group[HIST_GROUPS]);
