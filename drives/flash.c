/* The drive of Agrawal, Prabhakaran, Wobber, Davis, Manasse and Panigrahy,
 * "Design Tradeoffs for SSD Performance" (USENIX ATC 2008): NAND flash with one
 * bit a cell. The chip's figures are those of their table of Samsung's
 * K9XXG08UXM; those of the whole drive are quoted from memory. It is as large
 * as its disk. */
#include "drives/row.h"

static const struct flash_figures chips = {
    .channels = 8,        /* published, from memory: eight packages */
    .dies = 2,            /* published: 2 GB each, in a package of 4 GB */
    .page_sectors = 8,    /* published: 4 KB */
    .block_pages = 64,    /* published: 256 KB */
    .spare_percent = 15,  /* published, from memory */
    .read_ns = 25000,     /* published: 25 us */
    .program_ns = 200000, /* published: 200 us */
    .erase_ns = 1500000,  /* published: 1.5 ms */
    .cross_ns = 100000,   /* published: 100 us, serial access to the register */
    .cache_pages = 64,    /* chosen: 256 KB, within a controller */
    .cleaning = CLEAN_GREEDY, /* published, from memory: their base */
};

static const struct drive_model flash = {
    .name = "flash",
    .about = "flash chips behind a page map, 16 dies on 8 channels",
    .modelled = true,
    .service_ns = 20000,            /* chosen */
    .bus_ns = 1707,                 /* chosen: Serial ATA at 300 MB/s */
    .write_hit_ns = {20000, 20000}, /* a flush; chosen: as any command */
    .depth = 1, /* chosen: as drives without native command queueing */
    .volatile_cache = true,
    .flash = &chips,
};
DRIVE(flash);
