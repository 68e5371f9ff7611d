/* Computing, for programs that imitate others. */
#ifndef SLUICE_USER_COMPUTE_H
#define SLUICE_USER_COMPUTE_H

#include "kernel/base/types.h"

/* Execute so many thousand instructions: as many on every machine. Next to
 * nothing for QEMU, so that an hour of it passes in no time. */
void compute(u64 thousands);

#endif
