/* A drive of "Achieving Predictable Response Time with an Intelligent File
 * System Updater". Its 9.4 ms are taken as the average seek. No write-behind:
 * chosen. */
#include "drives/row.h"

static const struct drive_model st31230n = {
    .name = "st31230n",
    .about = "Seagate ST31230N Hawk: 1.1 GB, 5,411 rpm, 9.4 ms",
    .modelled = true,
    .sectors = 2070235, /* published; rpm, heads, cylinders too */
    .rpm = 5411,
    .heads = 5,
    /* chosen: four equal zones, the outermost half as much again as the
     * innermost, that hold the sectors; skews derived */
    .zones =
        (const struct zone[]){
            {0, 972, 128, 11, 20},
            {973, 1945, 114, 10, 18},
            {1946, 2918, 99, 8, 15},
            {2919, 3891, 85, 7, 13},
            {},
        },
    /* derived: as the LPS 540S's */
    .seek = {NULL, 278, 1391000, 274900, 5152000, 3403},
    .head_switch_ns = 890000,  /* class: HP C2249A, measured */
    .write_settle_ns = 650000, /* class: HP C2249A, measured */
    /* chosen */
    OVERHEADS(500000, 1000000),
    .bus_ns = 51200, /* published: SCSI-2, 10 MB/s */
    .depth = 1,
    .segments = 3, /* chosen; 480 KB of cache are published */
    .segment_sectors = 320,
    .read_ahead_sectors = 320,
};
DRIVE(st31230n);
