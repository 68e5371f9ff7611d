/*
 * What is measured of requests: sums and a histogram of their response times,
 * of all requests of a kind and of each slice of the trace.
 *
 * The file of slices has only u64 numbers, little-endian. For each slice and
 * kind that has a request: the slice's number; 0 for reads, 1 for writes; the
 * members of struct times from count to hit_bytes; the sum of the response
 * times in ns; the number of buckets that are not empty, and for each of them
 * the largest time that belongs to it, in ns, and the number of requests.
 */
#ifndef SLUICE_BLOCKS_SLICES_H
#define SLUICE_BLOCKS_SLICES_H

#include "kernel/base/types.h"

struct times {
    u64 count, bytes, min, max;
    u64 hits, hit_bytes; /* hits: requests all of whose bytes hit */
    unsigned __int128 sum, squares;
    u64 *bucket; /* HIST_BUCKETS; NULL: nothing was added */
};

/* Add a request: its response time, bytes, and bytes that hit. */
void times_add(struct times *t, u64 ns, u64 bytes, u64 hit_bytes);

/* Add a request to the slice of this number. */
void slices_add(u64 slice, bool write, u64 ns, u64 bytes, u64 hit_bytes);

/* Write the file. Returns whether it could be written. */
bool slices_write(const char *path);

#endif
