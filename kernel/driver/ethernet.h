/* The header of an Ethernet frame, and the numbers in headers, which are
 * big-endian: net16 and net32 convert, both ways. */
#pragma once

#include "kernel/base/types.h"

#define MAC_BYTES   6
#define FRAME_LEAST 60   /* bytes of a frame, without its checksum */
#define MTU         1500 /* bytes of its payload, at most */

/* Exchange the two bytes: this machine is little-endian. */
static inline u16 net16(u16 v)
{
    return (u16)(v << 8 | v >> 8);
}

static inline u32 net32(u32 v)
{
    return (u32)net16(v) << 16 | net16(v >> 16);
}

struct ethernet {
    u8 to[MAC_BYTES], from[MAC_BYTES];
    u16 type;
} __attribute__((packed));
