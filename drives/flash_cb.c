/* The drive `flash` with another choice of what to clean: Kawaguchi, Nishioka
 * and Motoda, "A Flash-Memory Based File System" (USENIX 1995). */
#include "drives/chips.h"

static const struct flash_figures chips = {
    CHIPS, .planes = 1, .cleaning = CLEAN_COST_BENEFIT, /* published */
};

static const struct drive_model flash_cb = {
    .name = "flash_cb",
    .about = "as flash, but old blocks are cleaned first (cost-benefit)",
    .volatile_cache = true,
    DRIVE_OF_CHIPS(chips),
};
DRIVE(flash_cb);
