/* Devices as files: finding, reading and writing them (machine/device.h has
 * their table). At boot the kernel makes a node /dev/NAME for each that has
 * none. */
#pragma once

#include "kernel/machine/device.h"
#include "kernel/proc/uio.h"

const struct device *device_find(u32 number); /* or NULL */

/* Move bytes; advance the uio. 0 or -errno, as struct device says. until: what
 * the device's `end` said when the file was opened. */
int device_read(const struct device *, u32 unit, u64 until, struct uio *);
int device_write(const struct device *, u32 unit, struct uio *);

/* The i-th one's name, and the source that it is from; NULL past the last. */
const char *device_name(u32 i, const char **file);

/* Make the nodes in /dev that are missing or have a wrong number. What
 * cannot be made is named in a message. */
void dev_make_nodes(void);
