/* The nearest free slot (nearest.h). */
#include "policies/lib/nearest.h"

/* The first free slot of a track that comes by, once the head is there. passed
 * is the part of the track that has gone by until then, and sector first + k
 * the next one to come: free slots are searched from there to the track's end,
 * then from its beginning. */
static u64 nearest_on_track(const struct nearest_disk *d, u64 track,
                            struct approach *a)
{
    u64 first = track * d->sectors, end = first + d->sectors;
    if (d->free_from(d->arg, first, end) == NO_SECTOR)
        return NO_SECTOR;
    *a = d->approach(d->arg, first);
    u64 passed_ns = d->turn_ns - (a->begin_ns - a->there_ns);
    u64 k = (passed_ns * d->sectors + d->turn_ns - 1) / d->turn_ns % d->sectors;
    u64 sector = d->free_from(d->arg, first + k, end);
    if (sector == NO_SECTOR)
        sector = d->free_from(d->arg, first, first + k);
    /* The slot passes angle_ns after the track's first sector. A whole turn
     * more keeps the difference from being negative. */
    u64 angle_ns = (sector - first) * d->turn_ns / d->sectors;
    a->begin_ns =
        a->there_ns + (angle_ns + 2 * d->turn_ns - passed_ns) % d->turn_ns;
    return sector;
}

/* Search track by track from the head's on, cylinder by cylinder. Returns the
 * free sector that the drive reaches first, and when; NO_SECTOR if none is
 * free. */
u64 nearest_free(const struct nearest_disk *d, u64 head_sector, u64 *begin_ns)
{
    u64 here = head_sector / d->sectors, head = here % d->heads;
    u64 cyl = here / d->heads, best = NO_SECTOR, best_cyl = 0;
    *begin_ns = NEVER_NS;
    for (u64 i = 0; i < (u64)d->cyls * d->heads; i++) {
        struct approach a;
        u64 at_cyl = (cyl + i / d->heads) % d->cyls;
        u64 at_head = (head + i) % d->heads;
        if (best != NO_SECTOR && at_cyl < cyl && at_cyl != best_cyl)
            break; /* back only if nothing is free on the way */
        u64 sector = nearest_on_track(d, at_cyl * d->heads + at_head, &a);
        if (sector == NO_SECTOR)
            continue;
        u64 stay_ns = at_cyl == cyl ? 0 : d->patience_ns;
        if (a.there_ns + stay_ns >= *begin_ns)
            break; /* so for all tracks that are left */
        if (a.begin_ns < *begin_ns) {
            best = sector;
            best_cyl = at_cyl;
            *begin_ns = a.begin_ns;
        }
    }
    return best;
}
