/*
 * The link between machines: all frames go through here. In live mode that is
 * the device. In virtual time it is a model (row.h), and the machines on it
 * share one time (link.c).
 */
#pragma once

#include "kernel/base/types.h"

/* Read the boot arguments, which may choose a link. mac: the address of the
 * network device; NULL, there is none. */
void link_init(const u8 *mac);

/* Find the other machines, and hand the frames that arrive to received, with no
 * lock. False if there is no link. */
bool link_start(void (*received)(const void *, u32));

/* Leave the link, because the machine goes off: the others need not wait for it
 * any more. */
void link_end(void);

/* Send a frame: by the link, at this instant of virtual time, or else by the
 * device. Returns when it arrives; SENT: the device has it, or it is lost; 0:
 * there is no room for it. */
#define SENT 1
u64 link_send(const void *head, u32 head_bytes, const void *body, u32 bytes);
