/* This process's use of the host's resources, for the programs of
 * sluice/blocks. */
#ifndef SLUICE_BLOCKS_USAGE_H
#define SLUICE_BLOCKS_USAGE_H

#include "kernel/base/types.h"

/* The most memory since the program began, in KiB. */
u64 usage_memory_kb(void);

/* Processor time in seconds. */
double usage_cpu_s(void);

#endif
