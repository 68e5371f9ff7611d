/* Prefetching: asks the prefetch policy what to read ahead. */
#pragma once

#include "kernel/cache/stream.h"

void prefetch_init(void); /* owns the prefetch kind */

/* The blocks to start reading besides those that this access to a file on the
 * disk asks for. The inode is locked. */
struct readahead prefetch_readahead(struct disk *, struct streams *,
                                    struct access *);

/* True if the policy in use acts on the hints of programs. */
bool prefetch_takes_hints(void);

/* True if the policy wants each block of a call to be a read of its own. */
bool prefetch_by_block(void);

/* Return block i of a read-ahead request, i from 0 to n * times - 1: its run is
 * number i / n, its place in that run is i % n. */
static inline u64 readahead_block(const struct readahead *w, u64 i)
{
    return w->first + w->step * (i64)(i / w->n) + i % w->n;
}
