/*
 * What the files of the disks' room share. No other room includes it. Caller
 * holds the disk's lock unless it says otherwise.
 */
#pragma once

#include "kernel/base/stat.h"
#include "kernel/disk/place.h"
#include "kernel/disk/queue.h"
#include "kernel/measure/trace.h"
#include "kernel/policy/registry.h"

/* Return the transfer whose request r is; NULL for NULL. */
static inline struct io *io_of(struct request *r)
{
    return r ? CONTAINER(r, struct io, request) : NULL;
}

/* ---- disk.c ---- */

/* Record an event of a request at now_ns, the time that the caller gives its
 * histograms, too: so that they agree with the trace. */
void trace_io(u64 now_ns, enum trace_event, const struct disk *,
              const struct io *, u64 argument);

/* Put a request into the queue, or take it out, and notify the scheduler. */
void io_enqueue(struct disk *, struct io *);
void io_remove(struct disk *, struct request *);

/* Queue a request now: io_enqueue, with the request's time and in the trace. */
void io_arrive(struct disk *, struct io *);

/* ---- dispatch.c ---- */

/* Own the kinds sched and place. At boot, no lock. */
void dispatch_init(void);

/* Dispatch commands while the drive takes them. */
void disk_dispatch(struct disk *);

/* ---- candidate.c ---- */

/* The scheduler has chosen a candidate: queue it as a write, with its
 * neighbours that may be merged with it. Returns true if the drive can take a
 * command now. The lock is released meanwhile. */
bool candidate_take_up(struct disk *, struct io *);

/* ---- model.c ---- */

/* Fit a drive to the disk, as the boot arguments drive= and drive_*= want it.
 * depth_wanted: commands at a time; 0: as the drive. At boot, no lock. */
void model_fit(struct disk *, u32 depth_wanted);

/* Give a command to the drive. With a model, its data is moved at the instant
 * in which the model has done it. Without one the device has it at once.
 * Returns true if the device must be kicked. */
bool model_start(struct disk *, struct io *command, u64 now_ns);

/* Tell the drive to flush. Returns when it will have done so. */
u64 model_flush_ns(struct disk *);

/* Have the device flush within this instant. No lock. */
void model_flush(struct disk *, struct io *);
