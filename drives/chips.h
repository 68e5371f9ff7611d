/*
 * What the rows of flash chips have in common (flash.c, flash_cb.c, flash_nv.c,
 * flash_planes.c): a drive of Agrawal, Prabhakaran, Wobber, Davis, Manasse and
 * Panigrahy, "Design Tradeoffs for SSD Performance" (USENIX ATC 2008), NAND
 * flash with one bit a cell. The chip's figures are those of their table of
 * Samsung's K9XXG08UXM; those of the whole drive are quoted from memory. A
 * drive is as large as its disk. Each row says itself how many planes a command
 * is for, and what is cleaned.
 */
#ifndef CHIPS_H
#define CHIPS_H

#include "drives/row.h"

// clang-format off
#define CHIPS                                                           \
    .channels = 8,        /* published, from memory: eight packages */  \
    .dies = 2,            /* published: of 2 GB, two a package */      \
    .page_sectors = 8,    /* published: 4 KB */                         \
    .block_pages = 64,    /* published: 256 KB */                       \
    .spare_percent = 15,  /* published, from memory */                  \
    .read_ns = 25000,     /* published: 25 us */                        \
    .program_ns = 200000, /* published: 200 us */                       \
    .erase_ns = 1500000,  /* published: 1.5 ms */                       \
    .cross_ns = 100000,   /* published: 100 us, to the register */      \
    .cache_pages = 64     /* chosen: 256 KB, within a controller */

#define DRIVE_OF_CHIPS(figures)                                         \
    .modelled = true,                                                   \
    .service_ns = 20000,            /* chosen */                        \
    .bus_ns = 1707,                 /* chosen: Serial ATA, 300 MB/s */  \
    .write_hit_ns = {20000, 20000}, /* a flush; chosen: as a command */ \
    .depth = 1, /* chosen: no native command queueing */                \
    .flash = &(figures)
// clang-format on

#endif
