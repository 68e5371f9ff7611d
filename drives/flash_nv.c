/* The drive `flash` with a cache that a power cut does not empty, because a
 * capacitor gives it the time to program what waits. */
#include "drives/row.h"

/* As of `flash`. */
static const struct flash_figures chips = {
    .channels = 8,
    .dies = 2,
    .page_sectors = 8,
    .block_pages = 64,
    .spare_percent = 15,
    .read_ns = 25000,
    .program_ns = 200000,
    .erase_ns = 1500000,
    .cross_ns = 100000,
    .cache_pages = 64,
    .cleaning = CLEAN_GREEDY,
};

static const struct drive_model flash_nv = {
    .name = "flash_nv",
    .about = "as flash, but its cache is not volatile",
    .modelled = true,
    .service_ns = 20000,
    .bus_ns = 1707,
    .write_hit_ns = {20000, 20000},
    .depth = 1,
    .flash = &chips,
};
DRIVE(flash_nv);
