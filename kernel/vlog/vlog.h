/*
 * Disks that write where a slot is free: each has a virtual log
 * (kernel/vlog), which is found at boot by its label, if the place policy in
 * use has hooks for it.
 *
 * - A write goes to a free slot. When its data are on the disk, a sector of
 *   the map follows, to a free slot, too, and before any other command. Only
 *   when that is on the disk the write is done. One sector tells of all data of
 *   its piece that are on the disk by then; a summary of all in a row.
 * - With the boot argument log_in_drive=1, the drives keep their logs
 *   themselves (drive.h, `inside`). A write and its sectors of the map are one
 *   command then: the host gives it, and hears of it when the last sector is on
 *   the disk. So are the steps of cleaning no commands. The kernel still does
 *   the drive's thinking, within its own time, and the trace still has each
 *   step.
 * - Requests are of whole blocks of SLOT_SECTORS, except reads within a block.
 * - If a sector of the map cannot be written, all writes that wait for one
 *   fail. The cache keeps their blocks dirty and tries again.
 *
 * The disk's lock guards all of it.
 */
#pragma once

#include "kernel/vlog/logical.h"

/* Find the disks' virtual logs; the boot stops if one is damaged. A disk is as
 * large as its log's blocks then. At boot, after disk_init. */
void vlog_init(void);

/* Write where each log ends. All file systems are written, and nothing will be
 * after this. May sleep. */
void vlog_close(void);
