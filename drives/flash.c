/* Flash chips behind a page map. */
#include "drives/chips.h"

static const struct flash_figures chips = {
    CHIPS, .planes = 1,       /* chosen: a command is for one plane */
    .cleaning = CLEAN_GREEDY, /* published, from memory: their base */
};

static const struct drive_model flash = {
    .name = "flash",
    .about = "flash chips behind a page map, 16 dies on 8 channels",
    .volatile_cache = true,
    DRIVE_OF_CHIPS(chips),
};
DRIVE(flash);
