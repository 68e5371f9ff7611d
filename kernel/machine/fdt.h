/*
 * The device tree, as the machine describes itself (Devicetree
 * Specification 0.4, chapter 5). Parsed once at boot into `machine`.
 */
#pragma once

#include "kernel/machine/mem.h"

#define MAX_HARTS    8
#define MAX_VIRTIO   32
#define MEMORY_LEAST (32UL << 20)
#define MEMORY_MOST  (8UL << 30) /* what the direct map has room for */

struct device_node {
    u64 phys; /* of its registers */
    u32 irq;  /* at the interrupt controller */
};

struct machine {
    u64 memory_phys, memory_bytes;
    u32 nharts;      /* hart ids 0 .. nharts - 1 */
    u32 spare_harts; /* further harts, which are not used */
    u64 tick_ns;     /* of the hardware's time, a whole number */
    struct device_node uart, plic, test, rtc, clint; /* phys 0: absent */
    struct device_node virtio[MAX_VIRTIO]; /* by address, lowest first */
    u32 nvirtio;
    char bootargs[1024];
};

extern struct machine machine;

/* A part of physical memory: [start, end). */
struct region {
    u64 start, end;
};

/* Read the tree at this physical address. Panics if there is no tree. Returns
 * where the tree lies: QEMU chooses the place, each version in its own way. */
struct region fdt_init(u64 phys);
