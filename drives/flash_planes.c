/* The drive `flash` with commands to two planes of a die at once. The chip has
 * four planes a die, and its commands are for one plane or for two (Agrawal and
 * others, 2008, quoted from memory). */
#include "drives/chips.h"

static const struct flash_figures chips = {
    CHIPS,
    .planes = 2,
    .cleaning = CLEAN_GREEDY,
};

static const struct drive_model flash_planes = {
    .name = "flash_planes",
    .about = "as flash, but two planes of a die work at once",
    .volatile_cache = true,
    DRIVE_OF_CHIPS(chips),
};
DRIVE(flash_planes);
