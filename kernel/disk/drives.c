/*
 * The table of drives (drive.h). A new drive is a new row and nothing else.
 *
 * The source of every figure stands with it:
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
#include "kernel/disk/drive.h"

/* Overheads that are the same after a read and after a write: of a read that
 * hits, and of all others. */
#define OVERHEADS(hit, other)                                  \
    .read_hit_ns = {hit, hit}, .read_miss_ns = {other, other}, \
    .write_hit_ns = {other, other}, .write_miss_ns = {other, other}

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
        .depth = 1,
    },
    {
        .name = "exponential",
        .about = "service times of 10 ms on average, exponentially distributed",
        .modelled = true,
        .service_ns = 10000000, /* chosen: as fixed */
        .service_varies = true, /* Carson and Setia's other case, cv = 1 */
        .depth = 1,
    },

    /* The two drives of Mogul 1994. Their average access times are taken as
     * seek, half a rotation and overhead. What is not known of the RZ58 is the
     * Seagate ST41601N's, of the same size and speed: it reads ahead, and a
     * write is done when it is on the platters. */
    {
        .name = "rz57",
        .about = "DEC RZ57: 1.0 GB, 3,600 rpm, 23 ms average access",
        .modelled = true,
        /* published: disktab; skews derived */
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
    },
    {
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
    },

    /* The drives of "Achieving Predictable Response Time with an Intelligent
     * File System Updater". Its 10.7 and 9.4 ms are taken as average seeks. The
     * data sheet of the LPS 540S has 12.0 ms (product manual 81-104075-01), so
     * its row has the paper's drive. No write-behind: chosen. */
    {
        .name = "lps540s",
        .about = "Quantum ProDrive LPS 540S: 541 MB, 4,500 rpm, 10.7 ms",
        .modelled = true,
        .sectors = 1056640, /* published: 541 MB; rpm, heads, cylinders too */
        .rpm = 4500,
        .heads = 4,
        /* chosen: five equal zones, the outermost half as much again as the
         * innermost; skews derived */
        .zones =
            (const struct zone[]){
                {0, 547, 116, 9, 18},
                {548, 1095, 107, 9, 16},
                {1096, 1643, 97, 8, 15},
                {1644, 2191, 87, 7, 13},
                {2192, 2739, 76, 6, 12},
                {},
            },
        /* derived: the ST41601N's curve, stretched to the cylinders and
         * scaled to the average */
        .seek = {NULL, 196, 1582000, 372800, 5860000, 5498},
        .head_switch_ns = 999000,  /* class: Quantum Atlas III, measured */
        .write_settle_ns = 650000, /* class: HP C2249A, measured */
        /* chosen */
        OVERHEADS(500000, 1000000),
        .bus_ns = 51200, /* published: SCSI-2, 10 MB/s */
        .depth = 1,
        .segments = 2, /* chosen; the 128 KB of the buffer are published */
        .segment_sectors = 96,
        .read_ahead_sectors = 96,
    },
    {
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
    },

    /* The drive of Shriver, Small and Smith 1999, and the one whose measured
     * service times the model is held to. */
    {
        .name = "cheetah4lp",
        .about = "Seagate ST34501N Cheetah 4LP: 4.5 GB, 10,033 rpm",
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
        .seek = {(const struct seek_point[]){{1, 636000}, {}}, 600, 1550000,
                 155134, 4245800, 1740},
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
        /* Its cache is volatile, as that of most drives. Here it is as if a
         * battery kept it, for Shriver et al. flush nothing;
         * drive_volatile=1 makes it as it was sold. */
        .volatile_cache = false,
    },

    /* The drives of Wang, Anderson and Patterson 1999. No write-behind, so that
     * a synchronous write is one: chosen. */
    {
        .name = "hp97560",
        .about = "HP 97560: 1.4 GB, 4,002 rpm",
        .modelled = true,
        /* All published (the model of Ruemmler and Wilkes 1994 and of Kotz, Toh
         * and Radhakrishnan 1994), but for those marked. */
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
    },
    {
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
        .seek = {(const struct seek_point[]){{1, 500000}, {}}, 396, 1550000,
                 191000, 4245800, 2637},
        .head_switch_ns = 500000,  /* published */
        OVERHEADS(100000, 100000), /* published */
        .bus_ns = 12800, /* not known; chosen: Ultra Wide SCSI, 40 MB/s */
        .depth = 1,
        .segments = 3, /* not known; class: Cheetah 4LP */
        .segment_sectors = 282,
        .read_ahead_sectors = 282,
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
