#include "drives/row.h"

static const struct drive_model exponential_18ms = {
    .name = "exponential_18ms",
    .about = "service times of 18 ms on average, exponentially distributed",
    .modelled = true,
    .service_ns = 18000000, /* quoted: Mogul 1994, an RZ58's mean access */
    .service_varies = true, /* Carson and Setia's other case, cv = 1 */
    .depth = 1,
};
DRIVE(exponential_18ms);
