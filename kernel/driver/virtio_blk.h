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
#pragma once

#include "kernel/driver/driver.h"

struct virtio_blk; /* a device */

/* Find the machine's devices and make them ready. Before clock_init, for it
 * takes more or fewer instructions by what a device is capable of, which
 * differs between versions of QEMU. */
void virtio_blk_probe(void);

/* Take the i-th device, whose client gets arg; NULL past the last. */
struct virtio_blk *virtio_blk_open(u32 i, const struct device_client *,
                                   void *arg, struct device_facts *);

/* Start a command on the spans, at this sector; of a flush the span only names
 * it. False if the ring is full. */
bool virtio_blk_start(struct virtio_blk *, enum command_kind, u64 sector,
                      struct span *first);

void virtio_blk_kick(struct virtio_blk *);

/* Wait, with interrupts off, until the device has done all it was given; the
 * ends of commands are reported as by the interrupt. */
void virtio_blk_settle(struct virtio_blk *);
