/*
 * The virtio block driver: moves the bytes. Virtual I/O Device (VIRTIO) 1.2,
 * sections 2.7 (split virtqueues), 4.2 (MMIO), 5.2 (block device); modern
 * devices only.
 *
 * - Asynchronous: start() puts a command in the ring, kick() tells the device
 *   of all those started, done() is called from the interrupt. A command's
 *   pieces go in one request (scatter-gather, indirect descriptors).
 * - Errors are reported upward, never a panic.
 */
#ifndef SLUICE_VIRTIO_BLK_H
#define SLUICE_VIRTIO_BLK_H

#include "kernel/disk/disk.h"

/* Find the machine's devices and make them ready. Before clock_init, for it
 * takes more or fewer instructions by what a device is capable of, which
 * differs between versions of QEMU. */
void virtio_blk_probe(void);

/* Fill in id, name, nsectors, read_only, can_flush, depth, max_segments and
 * device of up to n disks. Returns how many there are. */
u32 virtio_blk_init(struct disk *disks, u32 n);

/* Start the command made of io and those joined to it, which lie one after
 * the other on the disk. False if the ring is full. */
bool virtio_blk_start(struct disk *, struct io *);

/* Start a flush of the device's cache; as above. */
bool virtio_blk_start_flush(struct disk *, struct io *);

void virtio_blk_kick(struct disk *);

/* Wait, with interrupts off, until the device has done all it was given; the
 * ends of commands are reported as by the interrupt. */
void virtio_blk_settle(struct disk *);

/* Called by the interrupt, no lock held, for each command that has ended. */
void disk_command_done(struct disk *, struct io *, int error);

/* The interrupt of the device in this slot. */
void virtio_blk_interrupt(u32 irq);

#endif
