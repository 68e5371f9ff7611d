/*
 * RAM disks: disks whose data is in the machine's own memory. In virtual time
 * the drive model says how long a command takes, and moving its data takes no
 * time at all; so nothing is lost if no device moves it, and much is gained: a
 * run waits for no thread of the host.
 *
 * - The host lays the disks out (sluice/system/guest.py), past the memory that
 *   is the kernel's: a table, the log of moves, then the disks' data.
 * - Machine mode moves the data, because the kernel cannot reach it (entry.S).
 * - QEMU puts the device tree where it likes: version 7.2 below 3 GiB, version
 *   10 at the end of memory. The host leaves room for both. A kernel that finds
 *   the tree among the disks does not boot.
 */
#pragma once

#include "kernel/driver/driver.h"
#include "kernel/machine/fdt.h"

struct ramdisk;

/* Find the RAM disks by the table that the boot argument ramdisks= tells of,
 * and leave the memory from there on to them. Before memory is handed out.
 * Ends the machine if two of them overlap, or the device tree is there. */
void ramdisk_probe(struct region tree);

/* Take the i-th disk, whose client gets arg; NULL past the last. */
struct ramdisk *ramdisk_open(u32 i, const struct device_client *, void *arg,
                             struct device_facts *);

/* Move the spans' data at this instant, and report nothing. True: an error. */
bool ramdisk_move(struct ramdisk *, bool write, u64 sector, struct span *first);

/* Do a command at this instant, and report its end: move the spans' data from
 * or to this sector; a flush has nothing to do. */
void ramdisk_do(struct ramdisk *, enum command_kind, u64 sector,
                struct span *first);
