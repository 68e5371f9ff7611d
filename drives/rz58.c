/* A drive of Mogul 1994. Its average access time is taken as seek, half a
 * rotation and overhead. What is not known of it is the Seagate ST41601N's, of
 * the same size and speed: it reads ahead, and a write is done when it is on
 * the platters. */
#include "drives/row.h"

static const struct drive_model rz58 = {
    .name = "rz58",
    .about = "DEC RZ58: 1.4 GB, 5,400 rpm, 18 ms average access",
    .modelled = true,
    .sectors = 2698061, /* published: disktab; rpm, heads, cylinders too */
    .rpm = 5400,
    .heads = 15,
    /* chosen: four equal zones that hold the sectors, outer to inner as
     * the published rates, 5.0 to 3.8 MB/s; skews derived */
    .zones =
        (const struct zone[]){
            {0, 527, 96, 2, 19},
            {528, 1055, 89, 2, 17},
            {1056, 1583, 82, 2, 16},
            {1584, 2111, 75, 2, 15},
            {},
        },
    /* class: ST41601N, fitted to the measured curve */
    .seek = {NULL, 151, 1648000, 443700, 6104000, 7479},
    .head_switch_ns = 200000, /* chosen: within the ST41601N's skew */
    /* class: ST41601N, measured */
    .read_hit_ns = {896000, 506000},
    .read_miss_ns = {1433000, 1433000},
    .write_hit_ns = {2059000, 1404000},
    .write_miss_ns = {2059000, 1404000},
    .bus_ns = 102400, /* chosen: SCSI at 5 MB/s */
    .depth = 1,
    .segments = 1, /* class: ST41601N */
    .segment_sectors = 384,
    .read_ahead_sectors = 384,
};
DRIVE(rz58);
