/*
 * A device that holds a disk's data, as its driver (virtio_blk.h, ramdisk.h)
 * and the driver's client speak of it. Errors are reported to the client, never
 * a panic.
 */
#pragma once

#include "kernel/base/types.h"

#define SECTOR_BYTES 512

/* A span of memory that a command reads or writes. On the disk, the next span
 * of a command follows this one. */
struct span {
    void *data;
    u32 bytes; /* whole sectors */
    struct span *next;
};

enum command_kind { COMMAND_READ, COMMAND_WRITE, COMMAND_FLUSH };

/* The facts about a device that its driver reports. */
struct device_facts {
    u64 nsectors;
    bool read_only;
    bool can_flush;   /* it has a volatile cache */
    u32 depth;        /* commands at a time, and besides them one flush */
    u32 max_segments; /* most spans of a command */
};

/* How the driver calls its client, with no lock held: begin, then ended for
 * each command that has ended, then end. A command is named by its first span;
 * error is 0 or -EIO. */
struct device_client {
    void (*begin)(void *arg);
    void (*ended)(void *arg, struct span *first, int error);
    void (*end)(void *arg);
};
