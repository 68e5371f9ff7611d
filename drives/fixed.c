#include "drives/row.h"

static const struct drive_model fixed = {
    .name = "fixed",
    .about = "a constant service time of 10 ms, one request at a time",
    .modelled = true,
    .service_ns = 10000000, /* chosen: a round figure for a 1990s disk */
    .depth = 1,
};
DRIVE(fixed);
