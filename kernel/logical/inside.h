/* What the files of the logical disk share. No other room includes it. */
#ifndef SLUICE_LOGICAL_INSIDE_H
#define SLUICE_LOGICAL_INSIDE_H

#include "kernel/base/string.h"
#include "kernel/logical/logical.h"

/* map.c */
bool place_use(struct logical *, u32 place); /* false: it is not free */

/* The map is as a sector says. */
void map_become(struct logical *, const struct log_sector *);

/* The same, and the places that it replaces are free. */
void map_commit(struct logical *, const struct log_sector *);

#endif
