/*
 * The nearest free slot of policies/lib/nearest.h without the times that make
 * one the nearest: any free slot may be the answer, and none only if no slot is
 * free. CBMC would have to follow a division by the turn of the platter for
 * each track. tests/policies/lib/nearest_proof_test.c holds the kernel's
 * answers against nearest_may_be.
 */
#ifndef SLUICE_LIB_NEAREST_H
#define SLUICE_LIB_NEAREST_H

#include "kernel/policy/place.h"
#ifdef __CPROVER__
#include "tools/prove/harness/harness.h"
#endif

struct nearest_disk {
    u64 turn_ns, patience_ns;
    u32 sectors, heads, cyls;
    u64 (*free_from)(void *arg, u64 from, u64 end);
    struct approach (*approach)(void *arg, u64 sector);
    void *arg;
};

/* True if a slot of this track is free. Where one is, the kernel's search may
 * ask how the arm comes there. */
static inline bool nearest_has_free(const struct nearest_disk *d, u64 track)
{
    u64 first = track * d->sectors;
    if (d->free_from(d->arg, first, first + d->sectors) == NO_SECTOR)
        return false;
    d->approach(d->arg, first);
    return true;
}

static inline bool nearest_any_free(const struct nearest_disk *d)
{
    bool any = false;
    for (u64 track = 0; track < (u64)d->cyls * d->heads; track++)
        any |= nearest_has_free(d, track);
    return any;
}

/* True if the search may have this answer. */
static inline bool nearest_may_be(const struct nearest_disk *d, u64 sector)
{
    if (sector == NO_SECTOR)
        return !nearest_any_free(d);
    return sector < (u64)d->cyls * d->heads * d->sectors &&
           d->free_from(d->arg, sector, sector + 1) == sector;
}

static inline u64 nearest_free(const struct nearest_disk *d, u64 head_sector,
                               u64 *begin_ns)
{
    u64 sector = any_below(64);
    *begin_ns = NEVER_NS;
    CLAIM(head_sector / d->sectors < (u64)d->cyls * d->heads,
          "the search begins on one of its tracks");
    CLAIM((u64)d->cyls * d->heads * d->sectors <= 64,
          "harness: each slot is among the answers");
    if (!nearest_any_free(d))
        return NO_SECTOR;
    ASSUME(nearest_may_be(d, sector));
    *begin_ns = any_below(1UL << 62);
    return sector;
}

#endif
