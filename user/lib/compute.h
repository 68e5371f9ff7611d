/* Compute for a given number of instructions, as imitated programs do. */
#ifndef SLUICE_USER_COMPUTE_H
#define SLUICE_USER_COMPUTE_H

#include "kernel/base/types.h"

/* Execute this many thousand instructions, the same on every machine. They cost
 * QEMU next to nothing, so an hour of computing passes in no time. */
void compute(u64 thousands);

#endif
