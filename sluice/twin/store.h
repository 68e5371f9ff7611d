/*
 * The data of RAM disks in a resident twin (resident.c): a copy in memory of
 * what the file of the machine's memory holds from some offset on.
 *
 * - The copy is made once. What a trial writes is gone when it ends: with its
 *   process, or by store_restore.
 * - A page in which nothing was ever written takes no memory, and reading it
 *   touches none. The others lie close together, in huge pages if the host has
 *   them: so a trial has hundreds of page faults less.
 * - A page that is written as a whole, with the bytes that another page was
 *   lately written with, shares that page's memory until either is written
 *   again. Most loads write one buffer again and again.
 */
#ifndef SLUICE_TWIN_STORE_H
#define SLUICE_TWIN_STORE_H

#include "kernel/base/types.h"

/* Copy [from, end) of the file. `at` below is an offset of the file. */
void store_load(int file, u64 from, u64 end);

/* Move the bytes from or to this address of memory. Both return 0, or -1 if
 * they are not in [from, end). */
i64 store_move(u64 memory, u64 at, u64 bytes, bool write);

/* Keep the disks' contents: store_restore brings them back. Before it
 * pristine_restore brings back the variables (pristine.h). */
void store_save(void);
void store_restore(void);

#endif
