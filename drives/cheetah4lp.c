/* The drive of Shriver, Small and Smith 1999, and the one whose measured
 * service times the model is held to. */
#include "drives/row.h"

static const struct drive_model cheetah4lp = {
    .name = "cheetah4lp",
    .about = "Seagate ST34501N Cheetah 4LP: 4.5 GB, 10,033 rpm",
    .modelled = true,
    /* All figures: measured, DiskSim; except the seek formula, which is fitted
     * to DiskSim's measured curve. */
    .sectors = 8887200,
    .rpm = 10033,
    .heads = 8,
    .zones =
        (const struct zone[]){
            {0, 1343, 195, 22, 37},
            {1345, 2448, 187, 22, 35},
            {2450, 3541, 176, 20, 33},
            {3543, 4406, 166, 19, 31},
            {4408, 5223, 155, 18, 29},
            {5225, 5956, 145, 17, 27},
            {5958, 6580, 131, 15, 25},
            {},
        },
    .spares = 108,
    .spare_tracks = 12 * 8, /* 12 cylinders */
    .seek = {(const struct seek_point[]){{1, 636000}, {}}, 600, 1550000, 155134,
             4245800, 1740},
    .head_switch_ns = 195000,
    .read_hit_ns = {68000, 309000},
    .read_miss_ns = {607730, 568830},
    .write_hit_ns = {474000, 95000},
    .write_miss_ns = {431330, 537760},
    .bus_ns = 106000, /* the host that measured: 4.8 MB/s */
    .depth = 1,
    .segments = 3,
    .segment_sectors = 282,
    .read_ahead_sectors = 282, /* all of the segment */
    .write_behind = true,
    /* The real cache is volatile, as in most drives. Here a battery keeps it,
     * because Shriver et al. flush nothing; drive_volatile=1 makes it
     * volatile. */
    .volatile_cache = false,
};
DRIVE(cheetah4lp);
