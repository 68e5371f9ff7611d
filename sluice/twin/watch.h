/*
 * What happens to one disk of the twin, in its order, as a file: for the crash
 * laboratory (sluice/crash/), which asks what a power cut leaves.
 *
 *   KIND PLACE BYTES TIME_NS    four little-endian u64, and so many bytes
 *
 * - WATCH_WRITE: the bytes were written to this place of the disk.
 * - WATCH_FLUSH: the disk was told to flush, and has. No bytes.
 * - WATCH_TEXT: the bytes were written to the console. By what a program prints
 *   between two of its system calls, each write belongs to one of them.
 * - WATCH_FAULTED: a command met the fault that a program had asked for. No
 *   bytes.
 *
 * The linker has these functions called in place of the kernel's own (--wrap in
 * tools/rules/twin.mk): so the kernel knows nothing of it. The file has all
 * events when the machine has ended.
 */
#ifndef SLUICE_TWIN_WATCH_H
#define SLUICE_TWIN_WATCH_H

#include "kernel/base/types.h"

enum watch_kind { WATCH_WRITE, WATCH_FLUSH, WATCH_TEXT, WATCH_FAULTED };

/* A program writes this byte to the console, and behind it a line `KIND AFTER
 * COUNT`, for a fault of the watched disk: of its commands from now on, the
 * AFTER-th and those behind it, COUNT in all, fail, if they are of the KIND
 * read, write or flush; or of any kind (vanish); or a flush does nothing and
 * says it has (lie). */
#define WATCH_FAULT 6

/* Keep the events of the disk with this number, for this file. */
void watch_disk(u32 number, const char *path);

/* The machine ends: write the rest of the file. 0 or -1. */
int watch_end(void);

#endif
