/*
 * A resident twin: makes many trials, so that only the trial itself costs time.
 * The programs, the table of costs and the disks are read once.
 *
 * - A child of it, the worker, makes trials one after the other. When a trial
 *   has ended with status 0, all that the next one can see is set back: the
 *   variables (pristine.h), the kernel's memory and stacks, the memory of
 *   programs, and the disks (store.h). Files and mappings stay.
 * - Any other end is the worker's end, too, and the next trial has a new
 *   worker. So has one after a trial that took much memory.
 *
 * A trial is asked for on the standard input, when the one before is answered:
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

/* Make trials until the input ends. run: boots the machine, in the worker, with
 * the console as its standard output, and ends with resident_ended. */
void resident_serve(void run(char *args)) __attribute__((noreturn));

/* The machine has ended. Returns unless the worker goes on. */
void resident_ended(int status);

#endif
