#include "drives/row.h"

static const struct drive_model exponential = {
    .name = "exponential",
    .about = "service times of 10 ms on average, exponentially distributed",
    .modelled = true,
    .service_ns = 10000000, /* chosen: as fixed */
    .service_varies = true, /* Carson and Setia's other case, cv = 1 */
    .depth = 1,
};
DRIVE(exponential);
