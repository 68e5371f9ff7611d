/* A drive of Mogul 1994. Its average access time is taken as seek, half a
 * rotation and overhead. */
#include "drives/row.h"

static const struct drive_model rz57 = {
    .name = "rz57",
    .about = "DEC RZ57: 1.0 GB, 3,600 rpm, 23 ms average access",
    .modelled = true,
    /* published: disktab; skews derived, but that from track to track is a
     * sector longer than a head switch: chosen, as the RZ58's */
    .sectors = 1954050,
    .rpm = 3600,
    .heads = 15,
    .zones = (const struct zone[]){{0, 1853, 71, 2, 12}, {}},
    /* derived: the RZ58's curve times 1.2625, which makes access 23 ms */
    .seek = {NULL, 151, 2080700, 560200, 7706600, 9442},
    .head_switch_ns = 200000, /* chosen */
    /* class: as the RZ58 */
    .read_hit_ns = {896000, 506000},
    .read_miss_ns = {1433000, 1433000},
    .write_hit_ns = {2059000, 1404000},
    .write_miss_ns = {2059000, 1404000},
    .bus_ns = 128000, /* chosen: SCSI at 4 MB/s */
    .depth = 1,
    .segments = 1,
    .segment_sectors = 128, /* chosen: 64 KB */
    .read_ahead_sectors = 128,
};
DRIVE(rz57);
