/*
 * Models of drives: when is a request done? Pure arithmetic over a row of
 * figures, in integer nanoseconds; no device is touched, no clock is read.
 * Compiles natively.
 *
 * drive.c holds the arithmetic and explains the model; drives.c the rows.
 * All that a drive remembers is in struct drive, so the same requests at the
 * same times give the same answers, and a copy of it may be asked "what if".
 */
#ifndef SLUICE_DRIVE_H
#define SLUICE_DRIVE_H

#include "kernel/policy/approach.h"
#include "kernel/base/types.h"

#define MAX_SEGMENTS 16

/* Cylinders with the same number of sectors on each track. */
struct zone {
    u32 first_cyl, last_cyl;
    u32 sectors; /* a track */
    /* How far a track's first sector lies behind the last track's, in sectors:
     * to the next head, and to the next cylinder's first. */
    u32 track_skew, cyl_skew;
};

struct seek_point {
    u32 cyls, ns;
};

/* What a seek over d cylinders takes: what the table says, as far as it goes;
 * then a + b sqrt(d) below the knee, and c + e d from there on. */
struct seek_curve {
    const struct seek_point *table; /* rising, up to one of 0 cyls; or NULL */
    u32 knee_cyls;
    u32 a_ns, b_ns, c_ns, e_ns;
};

/* An overhead of the controller, by what it did before. */
enum { AFTER_READ, AFTER_WRITE };

/* A kind of drive: one row of figures, each with its source. */
struct drive_model {
    const char *name, *about;
    bool modelled;  /* false: the device itself is the drive */
    u64 service_ns; /* a constant service time, and nothing below; or 0 */

    /* The platters. */
    u64 sectors; /* capacity, as published; 0: any */
    u32 rpm, heads;
    const struct zone *zones; /* up to one of 0 sectors */
    u32 spares, spare_tracks; /* of each so many tracks of a zone the last so
                                 many sectors are spare; 0: none */

    /* The arm. */
    struct seek_curve seek;
    u32 head_switch_ns;
    u32 write_settle_ns; /* more, before a write on another track */

    /* The controller: from a command's arrival to the arm's leaving or the
     * data's. A hit is served by the cache, or joins what the arm does. */
    u32 read_hit_ns[2], read_miss_ns[2], write_hit_ns[2], write_miss_ns[2];
    u32 bus_ns; /* to move a sector to or from the host */
    u32 depth;  /* commands it takes at a time */

    /* The cache. */
    u32 segments, segment_sectors; /* at most MAX_SEGMENTS */
    u32 read_ahead_sectors; /* beyond a request; over it, if there is no room */
    bool write_behind;      /* a write is done when its data are in the cache */
};

/* What a segment of the cache holds: sectors in one piece. */
struct segment {
    u64 first, end;
    u64 used; /* the number of the last command that used it */
};

/* How the cache is divided: what a SCSI mode select of the caching page sets.
 */
struct drive_cache {
    u32 segments, segment_sectors, read_ahead_sectors;
};

/* One drive: its model and what it remembers between requests. */
struct drive {
    const struct drive_model *model;
    struct drive_cache cache; /* as the model has it, or otherwise */
    u32 bus_ns;               /* likewise */
    u64 commands;             /* so far */
    u64 free_ns;              /* when the last of them is done */
    u32 after;                /* AFTER_READ or AFTER_WRITE: what that was */
    u64 arm_ns;    /* when the arm will have done what it was told ... */
    u32 cyl, head; /* ... and where it will be then */
    struct segment segment[MAX_SEGMENTS];
    /* Numbers of segments, or MAX_SEGMENTS for none. */
    u32 ahead;     /* that the arm is reading ahead into ... */
    u64 ahead_end; /* ... up to here */
    u32 written;   /* that the last write went through */
};

/* The row of that name, or NULL. */
const struct drive_model *drive_find(const char *name);

/* The i-th row, or NULL past the last. */
const struct drive_model *drive_row(u32 i);

/* The drive has platters: its rpm is not 0. */
u64 drive_rotation_ns(const struct drive_model *);
u64 drive_seek_ns(const struct drive_model *, u32 cyls);

/* Sectors that the zones have room for: at least .sectors. */
u64 drive_room(const struct drive_model *);

void drive_start(struct drive *, const struct drive_model *);

/* The model's cache in so many segments, 1 to MAX_SEGMENTS: it stays as large,
 * and as large a part of a segment is read ahead. */
struct drive_cache drive_cache_in(const struct drive_model *, u32 segments);

/* Divide the cache otherwise, which empties it and takes a command's time. */
void drive_set_cache(struct drive *, u64 now_ns, const struct drive_cache *);

/* It is told at now_ns to move its arm to the first cylinder or the last;
 * returns when it will be there; 0 if the model has no arm. */
u64 drive_seek_edge(struct drive *, u64 now_ns, bool last);

/* It is told nothing until now_ns: it reads ahead. */
void drive_catch_up(struct drive *, u64 now_ns);

/* How its arm would come to a request that reached it at now_ns, to which it
 * has caught up. */
struct approach drive_approach(const struct drive *, u64 now_ns, u64 sector,
                               u32 nsectors, bool write);

/* A request reaches the drive at now_ns, which never goes back; returns when it
 * will be done. It lies within the drive's sectors. */
u64 drive_service(struct drive *, u64 now_ns, u64 sector, u32 nsectors,
                  bool write);

#endif
