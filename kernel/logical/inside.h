/* What the files of the logical disk share. No other room includes it. */
#ifndef SLUICE_LOGICAL_INSIDE_H
#define SLUICE_LOGICAL_INSIDE_H

#include "kernel/base/string.h"
#include "kernel/logical/logical.h"

/* map.c */
bool place_use(struct logical *, u32 place); /* false: it is not free */

/* What is known of a piece is as a sector says. */
void map_become(struct logical *, const struct log_sector *);

/* The same, and the places that it replaces are free. */
void map_commit(struct logical *, const struct log_sector *);

/* When all pieces and summaries have been read: the blocks of which summaries
 * tell are where they say, the latest of them. False: they make no sense. */
bool map_apply_summaries(struct logical *);

#endif
