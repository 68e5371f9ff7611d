/* Prefetching: asks the prefetch policy what to read ahead. */
#ifndef SLUICE_PREFETCH_H
#define SLUICE_PREFETCH_H

#include "kernel/policy.h"

void prefetch_init(void); /* owns the prefetch kind */

/* File blocks to start reading, from *first on, for this access to the
 * stream; 0: none. Never past the end of the file. Inode locked. */
u64 prefetch_ahead(struct stream *, const struct access *, u64 *first);

#endif
