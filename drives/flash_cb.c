/* The drive `flash` with another choice of what to clean: Kawaguchi, Nishioka
 * and Motoda, "A Flash-Memory Based File System" (USENIX 1995). */
#include "drives/row.h"

/* All but the last: as of `flash`. */
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
    .cleaning = CLEAN_COST_BENEFIT, /* published */
};

static const struct drive_model flash_cb = {
    .name = "flash_cb",
    .about = "as flash, but old blocks are cleaned first (cost-benefit)",
    .modelled = true,
    .service_ns = 20000,
    .bus_ns = 1707,
    .write_hit_ns = {20000, 20000},
    .depth = 1,
    .volatile_cache = true,
    .flash = &chips,
};
DRIVE(flash_cb);
