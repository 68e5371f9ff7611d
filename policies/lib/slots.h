/*
 * Slots near the head, for policies of the kind place: nearest.h, asked about
 * a disk that has a queue and a model.
 */
#ifndef SLUICE_LIB_PLACES_H
#define SLUICE_LIB_PLACES_H

#include "kernel/policy/place.h"

#define SLOT 8UL /* sectors */

/* The search for a slot for request r, if it is dispatched at now_ns. */
struct slots {
    const struct queue *q;
    const struct request *r;
    u64 now_ns;
    u64 patience_ns; /* as in nearest.h */
    /* (optional) True if this track, by its number on the disk, may be used. */
    bool (*may)(const struct queue *, u64 track);
};

/* The slots that begin on a track, as sectors: the last one may end on the
 * next track, if a track's sectors are no multiple of a slot's. */
struct track_slots {
    u64 first, end;
};
struct track_slots slots_of_track(const struct queue *, u64 track);

/* The nearest free slot on this many heads of this many cylinders, from the
 * sector `base` on, if the search begins at the track of head_sector, which is
 * one of them. NO_SECTOR: none is free. The disk has tracks that are alike. */
u64 slots_nearest(const struct slots *, u64 base, u32 heads, u32 cyls,
                  u64 head_sector);

/* slots_nearest on all of the disk, from where the head is. */
u64 slots_nearest_of_all(const struct slots *);

/* The first free slot after what was written last, without a model; or
 * NO_SECTOR. */
u64 slots_next(const struct queue *);

#endif
