/* A drive of Wang, Anderson and Patterson 1999. No write-behind, so that a
 * synchronous write waits for the platters: chosen. */
#include "drives/row.h"

static const struct drive_model hp97560 = {
    .name = "hp97560",
    .about = "HP 97560: 1.4 GB, 4,002 rpm",
    .modelled = true,
    /* All published (the model of Ruemmler and Wilkes 1994 and of Kotz, Toh
     * and Radhakrishnan 1994), except those marked. */
    .sectors = 2684016,
    .rpm = 4002,
    .heads = 19,
    .zones = (const struct zone[]){{0, 1961, 72, 8, 18}, {}},
    .seek = {NULL, 383, 3240000, 400000, 8000000, 8000},
    .head_switch_ns = 1600000,
    OVERHEADS(2200000, 2200000),
    .bus_ns = 51200, /* chosen: SCSI-2, 10 MB/s */
    .depth = 1,
    .segments = 1, /* chosen: 128 KB in one piece */
    .segment_sectors = 256,
    .read_ahead_sectors = 256,
};
DRIVE(hp97560);
