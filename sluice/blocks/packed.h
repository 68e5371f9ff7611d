/* The file of requests, as sluice/trace/packed.py writes it. */
#ifndef SLUICE_BLOCKS_PACKED_H
#define SLUICE_BLOCKS_PACKED_H

#include "kernel/base/types.h"

#define PACKED_MAGIC "sluice requests\n"
#define PACKED_FORM  1

struct packed_head {
    char magic[16];
    u64 form, count; /* count 0: the requests end where the file ends */
};

struct packed_request {
    u64 time_ns, offset;
    u32 bytes, write;
};
_Static_assert(sizeof(struct packed_request) == 24, "as in the file");

#endif
