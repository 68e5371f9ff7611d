/*
 * The row of a link between machines in virtual time. A new link is a new file
 * in this room and nothing else: the linker gathers them.
 *
 * A frame takes the link so: the sender's controller, send_ns; the wire, when
 * the sender's earlier frames and a gap have passed, byte_ns for each byte; its
 * length, propagation_ns; the receiver's controller, receive_ns. Each sender
 * has the wire to itself: machines do not wait for each other's frames, and
 * there are no collisions.
 *
 * The source of each figure stands with it, in the words of drives/row.h.
 */
#pragma once

#include "kernel/base/types.h"

struct link_row {
    const char *name, *about;
    u32 byte_ns;
    u32 around_bytes; /* preamble and checksum, of each frame */
    u32 gap_ns;
    u32 propagation_ns;
    u32 send_ns, receive_ns;
};

/* Define a link: its name, its description for `sluice`, and its figures. */
#define LINK(row, words, ...)                            \
    static const struct link_row row = {                 \
        .name = #row, .about = words, __VA_ARGS__};      \
    static const struct link_row *const row##_registered \
        __attribute__((used, section("links"))) = &row;  \
    static const char *const row##_file                  \
        __attribute__((used, section("link_files"))) = __FILE__
