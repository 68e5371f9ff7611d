/*
 * Models of drives: when is a request done? Pure arithmetic over a row of
 * figures, in integer nanoseconds; no device is touched, no clock is read.
 * Compiles natively.
 */
#ifndef SLUICE_DRIVE_H
#define SLUICE_DRIVE_H

#include "kernel/types.h"

/* A kind of drive: one row of figures, each with its source. */
struct drive_model {
    const char *name, *about;
    bool modelled;  /* false: the device itself is the drive */
    u64 service_ns; /* a constant service time */
};

/* One drive: its model and what it remembers between requests. */
struct drive {
    const struct drive_model *model;
    u64 free_ns; /* when it finishes what it has */
};

/* The row of that name, or NULL. */
const struct drive_model *drive_find(const char *name);

/* The i-th row, or NULL past the last. */
const struct drive_model *drive_row(u32 i);

void drive_start(struct drive *, const struct drive_model *);

/* A request reaches the drive at now_ns; returns when it will be done. */
u64 drive_service(struct drive *, u64 now_ns, u64 sector, u32 nsectors,
                  bool write);

#endif
