/* A drive of "Achieving Predictable Response Time with an Intelligent File
 * System Updater". Its 10.7 ms are taken as the average seek. The data sheet
 * has 12.0 ms (product manual 81-104075-01), so the row has the paper's drive.
 * No write-behind: chosen. */
#include "drives/row.h"

static const struct drive_model lps540s = {
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
};
DRIVE(lps540s);
