/*
 * What the files of the virtual log's room share. No other room includes it.
 *
 * Cleaning: what some slots of a disk hold moves to others, because the place
 * policy wants those empty.
 *
 * - All slots of a run are read by one command. Then each block that is still
 *   there is written where the policy says, and enters the map like any write.
 *   A sector of the map is made anew.
 * - A moved block stays valid at its old slot until the map has the new one, so
 *   a power cut or an error at any time loses nothing.
 * - A write of the block by anybody else overtakes its move, which is dropped.
 * - The drive has one command at a time meanwhile, so no read of a block is
 *   under way when its old slot is freed.
 *
 * The disk's lock guards all of it.
 */
#pragma once

#include "kernel/base/stat.h"
#include "kernel/disk/place.h"
#include "kernel/policy/registry.h"
#include "kernel/vlog/logical.h"

/* ---- map.c ---- */

bool slot_use(struct logical *, u32 slot); /* false: it is not free */

/* Make the map as a sector says. */
void map_become(struct logical *, const struct log_sector *);

/* Make the map as a sector says, and free the slots that it replaces. */
void map_commit(struct logical *, const struct log_sector *);

/* ---- vlog.c ---- */

#define CLEAN_SLOTS (CLEAN_SECTORS / SLOT_SECTORS)

/* The contents of a slot that are on their way to another slot. */
struct move {
    struct io io;   /* the block's write; a piece of the map has none */
    u32 owner;      /* as logical_owner has it */
    bool overtaken; /* the block has been written since */
};

struct cleaning {
    bool urgent;        /* goes before queued requests; else only if none are */
    bool failed;        /* a slot could not be read: nothing is cleaned now */
    bool reading;       /* the run's slots are being read */
    u32 nmoves, next;   /* 0: nothing is cleaned; the next to be written */
    u64 again_ns;       /* when to ask the policy again */
    struct timer timer; /* fires then */
    struct io read;
    struct move move[CLEAN_SLOTS]; /* blocks first */
    u8 data[CLEAN_SECTORS * SECTOR_BYTES];
};

/* A disk's virtual log (vlog.h). */
struct vlog {
    struct logical map;
    struct io sector;   /* writes map.sector */
    bool under_way;     /* it is being written */
    bool in_drive;      /* the drive keeps the log; set once, at boot */
    bool closed;        /* no write but the tail's may begin */
    struct io *written; /* ended writes that no sector tells of yet */
    struct io *told;    /* writes that the sector under way tells of */
    struct cleaning clean;
};

/* Return the disk's log, or NULL. */
static inline struct vlog *vlog_of(const struct disk *d)
{
    return d->mapping;
}

/* Return when the log's next write begins: if the drive makes it itself, at
 * once after its last command, though the kernel learns of that later. */
static inline u64 vlog_next_ns(const struct disk *d, u64 now_ns)
{
    return vlog_of(d)->in_drive ? d->drive.free_ns : now_ns;
}

/* ---- clean.c ---- */

/* True while moves are left to be written. */
static inline bool clean_busy(const struct cleaning *c)
{
    return c->nmoves != 0;
}

/* Nothing is under way on the disk: begin to clean, if the policy wants it.
 * Returns the read of a run, or NULL. */
struct io *clean_begin(struct disk *, u64 now_ns);

/* Note the end of a read. After an error nothing is cleaned any more. */
void clean_was_read(struct disk *, int error);

/* The next command of the moves; or NULL, and *piece is the sector of the map
 * to be made anew, if it is not NO_PIECE. Nothing is under way. */
struct io *clean_next(struct disk *, u64 now_ns, u32 *piece);

/* True if a block that was moved has been written by a request since. */
static inline bool clean_is_void(const struct io *moved)
{
    return CONTAINER(moved, struct move, io)->overtaken;
}

/* Note that a request is dispatched: a write of a block that is being moved
 * overtakes the move. */
void clean_overtaken(struct cleaning *, const struct request *);
