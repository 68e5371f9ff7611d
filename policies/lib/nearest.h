/*
 * Nearest: the free slot that the head reaches first, which is where eager
 * writing writes. Wang, Anderson and Patterson, "Virtual Log Based File Systems
 * for a Programmable Disk" (OSDI 1999).
 *
 * On the track where the head is, that is the first free slot that comes by.
 * On another track of the cylinder it is the first that comes by after the head
 * switch, and in the next cylinder after a seek; so those are looked at only if
 * the best slot so far comes later than the arm would be there. After the last
 * cylinder comes the first: the arm seeks in one direction only. So it leaves a
 * cylinder when that is nearly full, and comes to where slots have become free
 * for longest.
 *
 * With some patience the arm stays in its cylinder for a slot that comes a
 * little later. Without any, each write takes the least time, but the arm goes
 * on so soon that all cylinders are equally full. With much, it stays until the
 * last slot is taken.
 *
 * All tracks have as many sectors: a drive of one zone, or a part of one.
 */
#ifndef SLUICE_LIB_NEAREST_H
#define SLUICE_LIB_NEAREST_H

#include "kernel/policy/place.h"

struct nearest_disk {
    u64 turn_ns;
    u64 patience_ns; /* how much later than the arm in another cylinder */
    u32 sectors, heads, cyls; /* of a track; of a cylinder; of the disk */
    /* The first sector of a free slot that begins in [from, end), or
     * NO_SECTOR. */
    u64 (*free_from)(void *arg, u64 from, u64 end);
    /* How the arm would come to this sector for a write, if it went now. */
    struct approach (*approach)(void *arg, u64 sector);
    void *arg;
};

/* The first sector of the nearest free slot, from where the head is; NO_SECTOR
 * if none is free. *begin_ns: when it passes under the head. */
u64 nearest_free(const struct nearest_disk *, u64 head_sector, u64 *begin_ns);

#endif
