/*
 * The nearest free place (policies/lib/nearest.h) on a model of a real drive,
 * with nothing but the platters and the arm: no overheads and no bus, so that
 * what is measured is the time to locate a place and nothing else.
 */
#ifndef SLUICE_NATIVE_NEAREST_H
#define SLUICE_NATIVE_NEAREST_H

#include "drives/row.h"
#include "policies/lib/nearest.h"

struct bare_drive {
    struct drive_model model;
    struct drive drive;
    struct nearest_disk disk;
    u8 *used; /* for each sector */
    u64 now_ns;
};

/* Begin with the sectors of the first cylinders of a drive, all of them free.
 * False: there is no such drive, or it has more than one zone, or spares. */
bool bare_drive_start(struct bare_drive *, const char *name, u32 cyls);

/* The arm is over a track, and the given slot of each track, by angle, is about
 * to pass under its head (in 2 ns); the platters have turned so often, at least
 * once. */
void bare_drive_set(struct bare_drive *, u32 cyl, u32 head, u32 slot,
                    u64 turns);

#endif
