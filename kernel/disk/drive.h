/*
 * Models of drives, which compute when a request is done. Pure arithmetic over
 * a row of figures, in integer nanoseconds; no device is touched, no clock is
 * read. Compiles natively.
 *
 * - This is the boundary between the kernel and the drives that it imitates,
 *   which are no part of it: drives/model/ has the arithmetic and explains the
 *   models, each file of drives/ a row of figures, drives/row.h what only they
 *   know.
 * - All that a drive with platters remembers is in struct drive, so the same
 *   requests at the same times give the same answers, and a copy of it may be
 *   asked "what if".
 * - A drive of flash chips has tables besides, which are as large as the disk.
 *   They belong to the struct drive that they were made for. A copy of that is
 *   answered from them and changes none.
 */
#pragma once

#include "kernel/policy/position.h"

#define MAX_SEGMENTS 16

/* The time of a seek over d cylinders: by the table, as far as that goes; then
 * a + b sqrt(d) below the knee, and c + e d from the knee on. */
struct seek_curve {
    const struct seek_point *table; /* by rising cyls, up to 0 cyls; or NULL */
    u32 knee_cyls;
    u32 a_ns, b_ns, c_ns, e_ns;
};

/* How far the arm reads ahead after a request. FAR: the request's own data may
 * give way. IN_SEGMENT: as far as these data keep their place in the segment.
 * IN_TRACK: to the end of the track. These three read read_ahead_sectors at
 * most. TRACK: the whole track, from where the arm comes to it, so before the
 * request, too. */
enum ahead { AHEAD_FAR, AHEAD_IN_SEGMENT, AHEAD_IN_TRACK, AHEAD_TRACK };

/* A kind of drive: one row of figures, each with its source. */
struct drive_model {
    const char *name, *about;
    bool modelled;       /* false: the device itself is the drive */
    u64 service_ns;      /* a service time, and nothing below but depth; or the
                            overhead of a flash drive's command; or 0 */
    bool service_varies; /* exponentially, service_ns is its mean */

    /* The platters. */
    u64 sectors; /* capacity, as published; 0: any */
    u32 rpm, heads;
    const struct zone *zones; /* ends with one of 0 sectors */
    u32 spares, spare_tracks; /* the last `spares` sectors of each spare_tracks
                                 tracks of a zone hold no data; 0: none */
    const struct zone_gaps *gaps; /* one for each zone; or NULL */

    /* The arm. */
    struct seek_curve seek;
    u32 head_switch_ns;
    i32 write_settle_ns; /* added before a write on another track */

    /* The controller: from a command's arrival until the arm or the data leave.
     * A hit is served by the cache, or by what the arm is already doing. */
    u32 read_hit_ns[2], read_miss_ns[2], write_hit_ns[2], write_miss_ns[2];
    u32 bus_ns;      /* to move a sector to or from the host */
    u32 reselect_ns; /* to get the bus again when the platter has been waited
                        for */
    u32 done_ns[2];  /* to report the end after the last sector: of a read, of a
                       write */
    u32 read_mark_percent; /* how much of a read must be in the buffer
                              before the bus starts */
    u32 depth;             /* most commands that it takes at a time */

    /* The cache. */
    u32 segments, segment_sectors, read_ahead_sectors; /* how many
                                                          segments, at most
                                                          MAX_SEGMENTS */
    enum ahead ahead;
    bool ahead_if_sequential; /* only if a read goes on from a segment */
    bool write_behind;   /* a write is done when its data are in the cache */
    bool volatile_cache; /* a power cut loses what the cache has, unless it was
                            flushed */

    const struct flash_figures *flash; /* of flash chips; or NULL */
};

/* A segment of the cache: one run of sectors. If the arm reads a
 * whole track, what has passed of that: it began at `first`, and has come
 * round to the track's start, `low`, if low_end is beyond it. */
struct segment {
    u64 first, end, low, low_end;
    u64 used; /* the number of the last command that used it */
};

/* How the cache is divided: what a SCSI host sets by a mode select of the
 * caching page. */
struct drive_cache {
    u32 segments, segment_sectors, read_ahead_sectors;
};

/* One drive: its model, and its state between requests. */
struct drive {
    const struct drive_model *model;
    struct drive_cache cache; /* the model's, or as it was set */
    u32 bus_ns;               /* of the model, or as it was set */
    bool inside; /* its own processor wants what it does now: that takes no
                    controller's time, and nothing crosses the bus */
    bool ahead_if_sequential, whole_tracks; /* of the model, or as set */
    u32 after;    /* what the last command was: AFTER_READ or AFTER_WRITE */
    u64 commands; /* so far */
    u64 free_ns;  /* when the last of the commands is done */
    union {
        u64 random;          /* state of the generator, if service_varies */
        struct flash *flash; /* the tables of a flash drive */
    };
    /* A request reaches the drive at now_ns, which is no earlier than in the
     * call before. It lies within the drive's sectors. Returns when it will be
     * done. */
    u64 (*service)(struct drive *, u64 now_ns, u64 sector, u32 nsectors,
                   bool write);
    u64 durable_ns; /* when all writes that it was given are on the platters */
    u64 arm_ns;     /* when the arm will have done what it was told */
    u32 cyl, head;  /* where it will be then */
    struct segment segment[MAX_SEGMENTS];
    /* Numbers of segments, or MAX_SEGMENTS for none: the one that the arm reads
     * ahead into, up to the sector ahead_end; the one that the last write used.
     */
    u32 ahead, written;
    u64 ahead_end;
};

/* Return the row with this name, or NULL. */
const struct drive_model *drive_find(const char *name);

/* Return which field of a row is wrong, and what it must be; NULL if the row is
 * right. Nothing below is called for a row that is wrong. */
const char *drive_wrong(const struct drive_model *);

/* These are for models with platters, whose rpm is not 0. */
u64 drive_rotation_ns(const struct drive_model *);

/* Return the tracks of the whole cylinders among the first `sectors`. */
struct tracks drive_tracks(const struct drive_model *, u64 sectors);

void drive_start(struct drive *, const struct drive_model *);

/* Then a flash drive that is a disk of this many sectors needs this memory,
 * which must be zeros, and counts the pages that it writes for the host and
 * moves, and the blocks that it erases. The tables have numbers for less than
 * 2^32 pages: a larger disk needs 2^62 bytes, which no machine has. */
u64 flash_bytes(const struct drive_model *, u64 sectors);
void flash_start(struct drive *, void *memory, u64 sectors, u64 *counts[3]);

/* Return the model's cache divided into this many segments, 1 to MAX_SEGMENTS:
 * it stays as large, and as large a part of a segment is read ahead. */
struct drive_cache drive_cache_in(const struct drive_model *, u32 segments);

/* Set how the drive reads ahead: "track" for AHEAD_TRACK. Return why that is
 * not possible, or NULL. adapts: the cache will be divided anew, into up to
 * MAX_SEGMENTS. */
const char *drive_set_ahead(struct drive *, const char *how, bool adapts);

/* Divide the cache again. This empties it and takes a command's time. */
void drive_set_cache(struct drive *, u64 now_ns, const struct drive_cache *);

/* Have the drive, at now_ns, move its arm to the first cylinder or the last.
 * Return when the arm will be there; 0 if the model has no arm. */
u64 drive_seek_edge(struct drive *, u64 now_ns, bool last);

/* Let the drive read ahead until now_ns, if it gets no command until then. */
void drive_catch_up(struct drive *, u64 now_ns);

/* Return how the arm would come to a request that reached the drive at now_ns,
 * to which the drive has caught up. A drive that reads whole tracks does so
 * while it waits: it may be done later with a read that came later. */
struct approach drive_approach(const struct drive *, u64 now_ns, u64 sector,
                               u32 nsectors, bool write);

/* Have the drive, at now_ns, bring all writes that it has been given onto the
 * platters. Return when they are there. */
u64 drive_flush(struct drive *, u64 now_ns);
