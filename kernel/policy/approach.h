/*
 * How a drive's arm comes to a request. Between the two times the platter turns
 * and the arm waits: the request might have come by so much later, and be done
 * as early. What the drive's cache holds is there at once.
 */
#pragma once

#include "kernel/base/types.h"

struct approach {
    u64 there_ns; /* the arm is at the track */
    u64 begin_ns; /* the first sector begins to pass */
};

/* The tracks of a part of a drive. All are 0 if there is no model of one, or if
 * its tracks are not alike. */
struct tracks {
    u32 sectors, heads, cyls; /* of a track, of a cylinder, of the part */
};
