/* The part of the replayer's machine that its files share (hart.c). */
#ifndef SLUICE_BLOCKS_HART_H
#define SLUICE_BLOCKS_HART_H

#include "kernel/base/types.h"

struct trace_ring;

/* Zeros, which take memory where they are touched. */
void *host_memory(u64 bytes);

/* The trace of events, or NULL. */
const struct trace_ring *trace_kept(void);

/* The one disk, before disk_init. */
void volume_make(u64 nsectors);

#endif
