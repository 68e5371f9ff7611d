/*
 * The drive of a disk: its model, if there is one, decides when a command is
 * done. Caller holds the disk's lock unless it says otherwise.
 */
#ifndef SLUICE_MODEL_H
#define SLUICE_MODEL_H

#include "kernel/base/types.h"

struct disk;
struct io;

/* Fit a drive to the disk, as the boot arguments drive= and drive_*= want it.
 * depth_wanted: commands at a time; 0: as the drive. At boot, no lock. */
void model_fit(struct disk *, u32 depth_wanted);

/* A command goes to the drive. With a model, its data is moved at the instant
 * in which the model has done it. Without one it is with the device now; true:
 * the device must be kicked. */
bool model_start(struct disk *, struct io *command, u64 now_ns);

/* The drive is told to flush. Returns when it has. */
u64 model_flush_ns(struct disk *);

/* Have the device flush within this instant. No lock. */
void model_flush(struct disk *, struct io *);

#endif
