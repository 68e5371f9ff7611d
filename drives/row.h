/*
 * The row of a drive (kernel/disk/drive.h). A new drive is a new file in this
 * folder and nothing else: the linker gathers them.
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
#ifndef SLUICE_DRIVES_ROW_H
#define SLUICE_DRIVES_ROW_H

#include "kernel/disk/drive.h"

/* Overheads that are the same after a read and after a write: of a read that
 * hits, and of all others. */
#define OVERHEADS(hit, other)                                  \
    .read_hit_ns = {hit, hit}, .read_miss_ns = {other, other}, \
    .write_hit_ns = {other, other}, .write_miss_ns = {other, other}

#endif
