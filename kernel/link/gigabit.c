/*
 * Ethernet of 1 Gbit/s, as a machine room of 2008 had it: twisted pairs of full
 * length.
 *
 * published: IEEE 802.3ab, for the rate, the preamble of 8 bytes, the checksum
 * of 4, and the gap of 96 bits. derived: 100 m at 0.64 of the speed of light.
 * chosen: what a controller and its driver need for a frame, 0.01 ms each way.
 */
#include "kernel/link/row.h"

LINK(gigabit, "Ethernet of 1 Gbit/s, 100 m, of 2008", .byte_ns = 8,
     .around_bytes = 12, .gap_ns = 96, .propagation_ns = 521, .send_ns = 10000,
     .receive_ns = 10000);
