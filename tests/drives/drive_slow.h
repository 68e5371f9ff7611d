/*
 * A drive that is worked out one sector at a time, from a table of where each
 * sector lies: what drives/model/drive.c must agree with. For models of few
 * sectors, whose sectors take whole nanoseconds.
 */
#ifndef SLUICE_NATIVE_DRIVE_SLOW_H
#define SLUICE_NATIVE_DRIVE_SLOW_H

#include "drives/row.h"

#define SLOW_SECTORS 4096

struct slow_drive {
    const struct drive_model *model;
    struct drive_cache cache;
    u64 free_ns, arm_ns, commands;
    bool wrote; /* the last command was a write */
    u32 cyl, head;
    struct segment segment[MAX_SEGMENTS];
    i32 ahead, written; /* numbers of segments; -1: none */
    u64 ahead_end;
    /* Of a drive that reads whole tracks. held: the sectors that each segment
     * holds; turn: the segment is of a turn over a track; turns: how many turns
     * there were; turn_sector: a sector of the last turn's track. */
    bool held[MAX_SEGMENTS][SLOW_SECTORS], turn[MAX_SEGMENTS];
    u64 turns, turn_sector;
};

/* Lay the model's sectors out. Returns how many its zones hold. */
u64 slow_start(struct slow_drive *, const struct drive_model *);

/* As drive_service, drive_catch_up, drive_set_cache, drive_seek_edge. */
u64 slow_service(struct slow_drive *, u64 now_ns, u64 sector, u32 n,
                 bool write);
void slow_catch_up(struct slow_drive *, u64 now_ns);
void slow_divide(struct slow_drive *, u64 now_ns, const struct drive_cache *);
bool slow_holds(const struct slow_drive *, u32 segment, u64 sector);
u64 slow_seek_edge(struct slow_drive *, u64 now_ns, bool last);

#endif
