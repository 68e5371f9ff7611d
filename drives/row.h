/*
 * The row of a drive (kernel/disk/drive.h). To add a drive, add a file to this
 * folder: the linker collects the rows.
 *
 * Each figure names its source:
 *   published  the papers that measured with the drive, disktab, data sheets
 *   measured   the validated parameters of DiskSim 4.0 for that drive
 *   derived    follows from other figures, as said
 *   class      not known: the figure of a similar drive, which is named
 *   chosen     not known: what was usual in its years
 *
 * A seek curve's figures are its table, knee_cyls, a_ns, b_ns, c_ns and e_ns.
 * Where skews are derived: the fewest sectors that cover a head switch, and a
 * seek of one cylinder, so that a sequential transfer loses no rotation.
 */
#ifndef SLUICE_DRIVES_ROW_H
#define SLUICE_DRIVES_ROW_H

#include "kernel/disk/drive.h"

/* Cylinders with the same number of sectors on each track. */
struct zone {
    u32 first_cyl, last_cyl;
    u32 sectors; /* a track */
    /* How far a track's first sector lies behind the last track's, in sectors:
     * to the next head, and to the next cylinder's first. */
    u32 track_skew, cyl_skew;
};

/* Further figures of a zone: the angle of its first track, and which sectors
 * hold no data. */
struct zone_gaps {
    u32 first_slot;   /* of the first track: the slot where it begins */
    u32 front, back;  /* sectors without data, at the zone's start and end */
    const u32 *slips; /* and others, counted from the zone's start (spares left
                         out), rising; ends with 0; or NULL */
};

struct seek_point {
    u32 cyls, ns;
};

/* An overhead of the controller, by what it did before. */
enum { AFTER_READ, AFTER_WRITE };

/* For models with platters. */
u64 drive_seek_ns(const struct drive_model *, u32 cyls);

/* Sectors that the zones have room for: at least .sectors. */
u64 drive_room(const struct drive_model *);

/* ---- flash chips (drives/model/flash.c) ---- */

/* Which block is emptied next: the one with the fewest pages in use, or the one
 * for which age * (1 - u) / 2u is largest, u being the share in use. */
enum cleaning { CLEAN_GREEDY = 1, CLEAN_COST_BENEFIT };

/* A row must have all figures: drive_wrong refuses a row without a figure that
 * must not be 0. */
struct flash_figures {
    u32 channels, dies;            /* at most MAX_CHANNELS, MAX_DIES in all */
    u32 planes;                    /* of a die, that work together */
    u32 page_sectors, block_pages; /* what is programmed, what is erased */
    /* The spare blocks of a die, in % of the blocks that hold the disk's
     * pages, rounded up, and at least two. One of them is the reserve, so a
     * small disk may have a larger or smaller share to spare
     * (book/pages/inside/drives.md has a table). */
    u32 spare_percent;
    u32 read_ns, program_ns; /* a page, in its die */
    u32 erase_ns;            /* a block */
    u32 cross_ns;            /* a page crosses its channel */
    u32 cache_pages;         /* that wait to be programmed; 0: no write cache */
    enum cleaning cleaning;
};

/* Like drive_wrong, for a drive of flash chips. */
const char *flash_wrong(const struct flash_figures *);

u64 flash_service(struct drive *, u64 now_ns, u64 sector, u32 nsectors,
                  bool write);

/* ---- drives and their rows ---- */

static inline u64 drive_service(struct drive *d, u64 now_ns, u64 sector,
                                u32 nsectors, bool write)
{
    return d->service(d, now_ns, sector, nsectors, write);
}

/* The i-th row, or NULL past the last; and the source that it is from. */
const struct drive_model *drive_row(u32 i);
const char *drive_file(u32 i);

#define DRIVE(row)                                          \
    static const struct drive_model *const row##_registered \
        __attribute__((used, section("drives"))) = &row;    \
    static const char *const row##_file                     \
        __attribute__((used, section("drive_files"))) = __FILE__

/* Overheads that are the same after a read and after a write: of a read that
 * hits, and of all others. */
#define OVERHEADS(hit, other)                                  \
    .read_hit_ns = {hit, hit}, .read_miss_ns = {other, other}, \
    .write_hit_ns = {other, other}, .write_miss_ns = {other, other}

#endif
