/*
 * What all virtio devices behind MMIO registers share: VIRTIO 1.2, sections 2.1
 * (status), 2.7.5 (descriptors), 3.1.1 (set-up), 4.2.2 (registers). Modern
 * devices only. `registers` is a device's, as a kernel address.
 *
 * Set-up goes: virtio_present - virtio_negotiate - for each queue
 * virtio_select and virtio_ready - virtio_start. Where a step fails,
 * virtio_fail.
 */
#pragma once

#include "kernel/base/types.h"

#define VIRTIO_F_VERSION1 (1UL << 32)

struct virtio_descriptor {
    u64 phys;
    u32 bytes;
    u16 flags, next;
};

#define VIRTIO_DESC_WRITE 2 /* the device writes it */

#define VIRTIO_RING 256 /* a queue's most descriptors */

/* The descriptors that the driver offers to the device, and those that the
 * device is done with. */
struct virtio_available {
    u16 flags, index, ring[VIRTIO_RING];
};

struct virtio_used {
    u16 flags, index;
    struct {
        u32 id, bytes;
    } ring[VIRTIO_RING];
};

bool virtio_present(u64 registers, u32 device_id);

/* Reset the device and agree on features. Returns them, or 0 if the device
 * lacks some that are required. */
u64 virtio_negotiate(u64 registers, u64 required, u64 wanted);

/* Choose a queue. Returns how long it may be; 0: there is none. */
u32 virtio_select(u64 registers, u32 queue);

/* Give the chosen queue its parts. */
void virtio_ready(u64 registers, u32 size, const void *ring,
                  const void *available, const void *used);

void virtio_start(u64 registers);
void virtio_fail(u64 registers);

static inline volatile u32 *virtio_register(u64 registers, u32 offset)
{
    return (volatile u32 *)(registers + offset);
}

/* Make the device look at what was offered to the queue before. */
static inline void virtio_notify(u64 registers, u32 queue)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    *virtio_register(registers, 0x50) = queue;
}

/* Take notice of an interrupt. */
static inline void virtio_acknowledge(u64 registers)
{
    *virtio_register(registers, 0x64) = *virtio_register(registers, 0x60);
}

#define VIRTIO_CONFIG 0x100 /* registers of its own kind begin here */
