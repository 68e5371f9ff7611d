/* A drive of Wang, Anderson and Patterson 1999. No write-behind, so that a
 * synchronous write waits for the platters: chosen. */
#include "drives/row.h"

static const struct drive_model st19101 = {
    .name = "st19101",
    .about = "Seagate ST19101 Cheetah 9: 9.1 GB, 10,000 rpm",
    .modelled = true,
    /* The paper simulated 11 cylinders of one zone, and calls its model a
     * coarse approximation. Its table has the rotational speed, the heads,
     * the sectors of a track, head switch, least seek and overhead; they
     * are quoted from memory. All else is not known from it: the real
     * drive has zones, which would change cylinders and skews. */
    .sectors = 17772544, /* derived: 9.1 GB in whole cylinders */
    .rpm = 10000,        /* published, and the next two figures */
    .heads = 16,
    /* derived: cylinders, from 9.1 GB; skews */
    .zones = (const struct zone[]){{0, 4338, 256, 22, 22}, {}},
    /* published: one cylinder; class: the rest is the Cheetah 4LP's curve,
     * stretched to the cylinders */
    .seek = {(const struct seek_point[]){{1, 500000}, {}}, 396, 1550000, 191000,
             4245800, 2637},
    .head_switch_ns = 500000,  /* published */
    OVERHEADS(100000, 100000), /* published */
    .bus_ns = 12800,           /* not known; chosen: Ultra Wide SCSI, 40 MB/s */
    .depth = 1,
    .segments = 3, /* not known; class: Cheetah 4LP */
    .segment_sectors = 282,
    .read_ahead_sectors = 282,
};
DRIVE(st19101);
