/*
 * The virtio block driver: moves the bytes. Virtual I/O Device (VIRTIO) 1.2,
 * sections 2.7 (split virtqueues), 4.2 (MMIO), 5.2 (block device); modern
 * devices only.
 *
 * - It knows devices, sectors and memory; disks and requests are its client's.
 * - Asynchronous: start() puts a command in the ring, kick() tells the device
 *   of all those started, the client is told when one has ended. A command's
 *   spans go in one request (scatter-gather, indirect descriptors).
 * - Errors are reported to the client, never a panic.
 */
#ifndef SLUICE_VIRTIO_BLK_H
#define SLUICE_VIRTIO_BLK_H

#include "kernel/base/types.h"

#define SECTOR_BYTES 512

struct virtio_blk; /* a device */

/* A span of memory that a command reads or writes. The next span of the same
 * command goes on, on the disk, where this one ends. */
struct span {
    void *data;
    u32 bytes; /* whole sectors */
    struct span *next;
};

enum command_kind { COMMAND_READ, COMMAND_WRITE, COMMAND_FLUSH };

/* What the driver says about a device. */
struct virtio_blk_facts {
    u64 nsectors;
    bool read_only;
    bool can_flush;   /* it has a volatile cache */
    u32 depth;        /* commands at a time, and besides them one flush */
    u32 max_segments; /* most spans of a command */
};

/* How the driver calls its client, with no lock held: for each interrupt begin,
 * then ended for each command that has ended, then end. A command is named by
 * its first span; error is 0 or -EIO. */
struct virtio_blk_client {
    void (*begin)(void *arg);
    void (*ended)(void *arg, struct span *first, int error);
    void (*end)(void *arg);
};

/* Find the machine's devices and make them ready. Before clock_init, for it
 * takes more or fewer instructions by what a device is capable of, which
 * differs between versions of QEMU. */
void virtio_blk_probe(void);

/* Take the i-th device, whose client gets arg; NULL past the last. */
struct virtio_blk *virtio_blk_open(u32 i, const struct virtio_blk_client *,
                                   void *arg, struct virtio_blk_facts *);

/* Start a command on the spans, at this sector; of a flush the span only names
 * it. False if the ring is full. */
bool virtio_blk_start(struct virtio_blk *, enum command_kind, u64 sector,
                      struct span *first);

void virtio_blk_kick(struct virtio_blk *);

/* Wait, with interrupts off, until the device has done all it was given; the
 * ends of commands are reported as by the interrupt. */
void virtio_blk_settle(struct virtio_blk *);

#endif
