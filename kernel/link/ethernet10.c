/*
 * Ethernet of 10 Mbit/s, as a workstation of 1994 had it: a thick coaxial cable
 * of full length.
 *
 * published: IEEE 802.3, for the rate, the preamble of 8 bytes, the checksum of
 * 4, and the gap of 96 bits. derived: 500 m at 0.77 of the speed of light.
 * chosen: what a controller and its driver need for a frame, 0.1 ms each way.
 */
#include "kernel/link/row.h"

LINK(ethernet10, "Ethernet of 10 Mbit/s, 500 m, of 1994", .byte_ns = 800,
     .around_bytes = 12, .gap_ns = 9600, .propagation_ns = 2166,
     .send_ns = 100000, .receive_ns = 100000);
