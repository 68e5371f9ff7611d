/*
 * Placement: from a request's logical sectors to physical ones, by the place
 * policy.
 *
 * - The cache, the disk's queue and its order know logical sectors. The drive
 *   model and the driver know physical ones, which a request has from its
 *   dispatch on.
 * - A raw request, which goes past the cache, is where it says.
 * - On a disk with a translation (disk.h) the kernel knows where a block is.
 *   The policy says only where the next write goes; what joins that in one
 *   command goes beside it, if the places there are free.
 */
#pragma once

#include "kernel/disk/disk.h"

/* Own the place kind. At boot. */
void place_init(void (*swap)(const struct policy *to));

/* True if the policy says where the request goes. If not, the request is where
 * it says itself. */
static inline bool place_is_asked(const struct disk *d, const struct request *r)
{
    return !r->raw && !d->carry && d->place->place.place;
}

/* The policy's answer, on the disk. */
u64 place_ask(struct disk *, const struct request *, u64 now_ns);

/* Return the first physical sector of the request, if it were dispatched at
 * now_ns; NO_SECTOR: on a disk with a translation, the block was never written,
 * or no place is free for it. Caller holds the disk's lock. */
static inline u64 place_of(struct disk *d, const struct request *r, u64 now_ns)
{
    return place_is_asked(d, r) ? place_ask(d, r, now_ns) : r->sector;
}

/* True if the request may be dispatched at now_ns to this physical sector, next
 * to its neighbour. Caller holds the disk's lock. */
bool place_may_be(struct disk *, const struct request *, u64 physical,
                  u64 now_ns);

/* The policy has answered wrongly: this disk changes to the default now,
 * another one when it gets a wrong answer, too. False: the policy stays. Caller
 * holds the disk's lock. */
bool place_fault(struct disk *, u64 sector, const char *what);

/* Change the disk to the default policy, which is in use after a fault of the
 * policy that the disk had. Caller holds the disk's lock. */
void place_adopt_default(struct disk *);

/* Note that the request, about which the policy is asked, is dispatched at
 * now_ns to r->physical, the last that place_of returned for it. Caller holds
 * the disk's lock. */
void place_confirm(struct disk *, struct request *r, u64 now_ns);
