/*
 * The twin's way to look at what the kernel charges (kernel/measure/cost.h):
 * `sluice dev costs` counts with it, and tries other tables.
 */
#ifndef SLUICE_TWIN_COSTS_H
#define SLUICE_TWIN_COSTS_H

#include "kernel/measure/cost.h"

/* The table is this file's: lines "NAME INSTRUCTIONS". What it does not have is
 * free. */
void costs_read(const char *path);

/* Print what was charged since the last call on the standard error, if that is
 * asked for: a line "counts ROW N ...", and for each two kinds of event that
 * followed each other a line "between EVENT EVENT TIMES ROW N ...". */
extern bool costs_shown;
void costs_show(void);
void costs_traced(u32 event); /* called before the event is charged */

#endif
