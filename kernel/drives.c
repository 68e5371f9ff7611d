/*
 * The table of drives (drive.h). A new drive is a new row and nothing else.
 *
 * Each figure has its source behind it:
 *   papers   the facts of the papers that used the drive (see the README)
 *   DiskSim  the validated parameters of DiskSim 4.0 for that drive
 *   derived  follows from others, as said
 *   chosen   not published: a value usual for the class, as said
 */
#include "kernel/drive.h"

#define BOTH(ns) \
    {            \
        ns, ns   \
    } /* after a read and after a write */

static const struct drive_model rows[] = {
    {
        .name = "none",
        .about = "no model: as fast as the device answers",
    },
    {
        .name = "fixed",
        .about = "a constant service time of 10 ms, one request at a time",
        .modelled = true,
        .service_ns = 10000000, /* chosen: a round figure for a 1990s disk */
    },
    {
        .name = "cheetah4lp",
        .about = "Seagate ST34501N Cheetah 4LP, 1996: 4.5 GB, 10,033 rpm",
        .modelled = true,
        /* All: measured, DiskSim; but the seek formula: fitted to DiskSim's
         * measured curve. */
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
        .seeks = (const struct seek_point[]){{1, 636000}, {}},
        .knee_cyls = 600,
        .a_ns = 1550000,
        .b_ns = 155134,
        .c_ns = 4245800,
        .e_ns = 1740,
        .head_switch_ns = 195000,
        .read_hit_ns = {68000, 309000},
        .read_miss_ns = {607730, 568830},
        .write_hit_ns = {474000, 95000},
        .write_miss_ns = {431330, 537760},
        .bus_ns = 106000, /* the host that measured: 4.8 MB/s */
        .segments = 3,
        .segment_sectors = 282,
        .read_ahead_sectors = 282, /* until the segment is full */
        .write_behind = true,
    },
};

static bool same(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

const struct drive_model *drive_row(u32 i)
{
    return i < NELEM(rows) ? &rows[i] : NULL;
}

const struct drive_model *drive_find(const char *name)
{
    for (u32 i = 0; i < NELEM(rows); i++) {
        if (same(rows[i].name, name))
            return &rows[i];
    }
    return NULL;
}
