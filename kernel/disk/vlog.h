/*
 * Disks that write where a place is free: each has a virtual log
 * (kernel/logical), which is found at boot by its label, if the place policy in
 * use has hooks for it.
 *
 * - A write goes to a free place. When its data are on the disk, a sector of
 * the map follows, to a free place, too, and before any other command. Only
 * when that is on the disk the write is done. One sector tells of all data of
 * its piece that are on the disk by then; a summary of all in a row.
 * - Requests are of whole blocks of PLACE_SECTORS, but for reads within one.
 * - If a sector of the map cannot be written, all writes that wait for one
 * fail. The cache keeps their blocks dirty and tries again.
 *
 * The disk's lock guards all of it.
 */
#ifndef SLUICE_VLOG_H
#define SLUICE_VLOG_H

#include "kernel/disk/clean.h"
#include "kernel/disk/disk.h"
#include "kernel/logical/logical.h"

struct vlog {
    struct logical map;
    struct io sector;   /* writes map.sector */
    bool under_way;     /* it is being written */
    bool closed;        /* the tail is written: nothing else may be */
    struct io *written; /* data on the disk that no sector tells of yet */
    struct io *told;    /* those of which the one under way tells */
    struct cleaning clean;
};

/* If the disk has a virtual log, find its map; the boot stops if that is
 * damaged. The disk is as large as the log's blocks then. At boot. */
void vlog_open(struct disk *);

/* All file systems are written, and nothing will be after this: write where
 * each log ends. May sleep. */
void vlog_close(void);

/* Where the sectors of a read are, or NO_SECTOR: they were never written. */
u64 vlog_find(const struct vlog *, const struct request *);

/* May this write go to this place? Nowhere, if the last free places are kept
 * for the map. */
bool vlog_may_take(const struct vlog *, const struct request *, u64 physical);
bool vlog_is_full(const struct vlog *, const struct request *);

/* A command has ended. Returns the requests that are done, in one chain, or
 * NULL. A read of what was never written gives zeros, a write without a place
 * an error: both had no part of the drive. */
struct io *vlog_ended(struct disk *, struct io *, int *error);

/* What is to be given to the drive before anything queued, or NULL: a sector of
 * the map, or a step of cleaning. It has its place. */
struct io *vlog_next(struct disk *, u64 now_ns);

/* How many commands the drive may have: one, while places are cleaned. */
static inline u32 vlog_depth(const struct disk *d)
{
    return clean_busy(&d->vlog->clean) ? 1 : d->depth;
}

/* Nothing is queued or under way: call back when the place policy is to be
 * asked again. */
void vlog_wait(struct disk *, void (*ask_again)(void *disk));

#endif
