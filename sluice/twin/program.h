/*
 * The host's copies of programs: PROGRAMS/NAME is a position-independent ELF
 * file, made from the same sources as the machine's /bin/NAME.
 *
 * - A copy may run at several bases at once. Its constant parts are mapped from
 *   the file; its data lies behind them, and the heap may follow.
 */
#ifndef SLUICE_TWIN_PROGRAM_H
#define SLUICE_TWIN_PROGRAM_H

#include "kernel/base/types.h"

/* Offsets are from the base on. */
struct program {
    char name[16];
    u64 entry;
    u64 data, end; /* where the data begins, and the end, rounded to a page */
    struct program_file *file;
};

extern const char *programs_folder;

/* The program of this name; panics, saying where, if there is none. */
const struct program *program_named(const char *name);

/* Map the constant parts, and zeros everywhere else in [base, base + bytes),
 * where nothing is mapped. */
void program_map(const struct program *, u64 base, u64 bytes);

/* Give the data the values with which a program begins. */
void program_fill(const struct program *, u64 base);

#endif
