#include "drives/row.h"

static const struct drive_model none = {
    .name = "none",
    .about = "no model: as fast as the device answers",
};
DRIVE(none);
