/*
 * Placement: from a request's logical sectors to physical ones, by the place
 * policy.
 *
 * - The cache, the disk's queue and its order know logical sectors. The drive
 *   model and the driver know physical ones, which a request has from its
 *   dispatch on.
 * - A raw request, which goes past the cache, is where it says.
 */
#ifndef SLUICE_PLACE_H
#define SLUICE_PLACE_H

#include "kernel/disk/disk.h"

void place_init(void); /* owns the place kind */

/* The policy's answer, on the disk. */
u64 place_ask(struct disk *, const struct request *);

/* The first physical sector of the request, if it were dispatched now. Caller
 * holds the disk's lock. */
static inline u64 place_of(struct disk *d, const struct request *r)
{
    return r->raw || !d->place->place.place ? r->sector : place_ask(d, r);
}

/* The request is dispatched at now_ns to this physical sector, which place_of
 * returned last for it. Caller holds the disk's lock. */
void place_confirm(struct disk *, struct request *, u64 physical, u64 now_ns);

#endif
