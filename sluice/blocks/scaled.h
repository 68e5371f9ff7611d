/* A drive of any size: a row of drives/, scaled to a volume (scaled.c). */
#ifndef SLUICE_BLOCKS_SCALED_H
#define SLUICE_BLOCKS_SCALED_H

#include "kernel/base/types.h"

/* Make the drive "scaled" of this row, if that is smaller than the volume.
 * Returns the name of the drive to use; NULL: there is no such row. */
const char *drive_scaled_to(const char *name, u64 nsectors);

#endif
