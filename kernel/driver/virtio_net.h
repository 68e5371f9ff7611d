/*
 * The virtio network device: moves frames. VIRTIO 1.2, sections 2.7 (split
 * virtqueues), 4.2 (MMIO), 5.1 (network device); modern devices only. The
 * machine has one, or none.
 */
#pragma once

#include "kernel/driver/ethernet.h"

/* A buffer that a frame comes in; `data` begins with the frame. */
struct nic_buffer {
    u8 header[12]; /* VIRTIO 1.2, section 5.1.6 */
    u8 data[2036];
};

#define NIC_RING 256 /* buffers each way */

/* True if there is a device. Its address goes to mac. */
bool nic_probe(u8 mac[MAC_BYTES]);

/* Call arrived() in an interrupt whenever frames have come, from now on. */
void nic_start(void (*arrived)(void));

/* Send head and body as one frame. False if the ring is full. */
bool nic_send(const void *head, u32 head_bytes, const void *body, u32 bytes);

/* The next frame that has come, which is the caller's until nic_give; NULL:
 * none. */
struct nic_buffer *nic_take(u32 *bytes);
void nic_give(struct nic_buffer *);
u32 nic_number(const struct nic_buffer *); /* below NIC_RING */
bool nic_is_sent(void);                    /* the host has all frames */
