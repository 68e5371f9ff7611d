/* Placement: from logical to physical blocks, by the place policy. */
#ifndef SLUICE_PLACE_H
#define SLUICE_PLACE_H

#include "kernel/base/types.h"

struct disk;

void place_init(void); /* owns the place kind */

/* The physical block of a logical one of block_bytes each. */
u64 place_physical(struct disk *, u64 blkno, u32 block_bytes, bool write);

#endif
