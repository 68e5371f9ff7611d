/* The drive `flash` with a cache that a power cut does not empty, because a
 * capacitor gives it the time to program the waiting pages. */
#include "drives/chips.h"

static const struct flash_figures chips = {
    CHIPS,
    .planes = 1,
    .cleaning = CLEAN_GREEDY,
};

static const struct drive_model flash_nv = {
    .name = "flash_nv",
    .about = "as flash, but its cache is not volatile",
    DRIVE_OF_CHIPS(chips),
};
DRIVE(flash_nv);
