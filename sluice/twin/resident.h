/*
 * A resident twin: makes many trials, each a child of its own, so that only the
 * trial itself costs time. The programs, the table of costs and the disks are
 * read once.
 *
 * A trial is asked for on the standard input:
 *
 *   PUTS BOOT ARGUMENTS         a line
 *   OFFSET BYTES                a line, PUTS times, and so many bytes behind
 *                               it: the disks' contents; OFFSET counts from
 *                               MEMORY
 *
 * and is answered on the standard output, when it has ended:
 *
 *   STATUS BYTES CPU_US FAULTS  a line: exit status or, if it is negative, a
 *                               signal; microseconds of processor, and page
 *                               faults of the host; and behind it so many
 *                               bytes, all that the console showed
 */
#ifndef SLUICE_TWIN_RESIDENT_H
#define SLUICE_TWIN_RESIDENT_H

#include "kernel/base/types.h"

/* Wait for the next trial. Returns its boot arguments, in the child that is the
 * trial, with the console as its standard output. This process never returns;
 * it ends with its input. */
char *resident_trial(void);

#endif
