/*
 * Cleaning: on a disk with a virtual log (vlog.h), what some places hold moves
 * to others, because the place policy wants those empty.
 *
 * - All places of a run are read by one command. Then each block that is still
 *   there is written where the policy says, and told of as any other write.
 *   A sector of the map is made anew.
 * - What is moved stays valid at its old place until the new one is told of, so
 *   a power cut or an error at any time loses nothing.
 * - A write of the block by anybody else overtakes its move, which is dropped.
 * - The drive has one command at a time meanwhile, so no read of a block is
 *   under way when its old place is freed.
 *
 * The disk's lock guards all of it.
 */
#ifndef SLUICE_CLEAN_H
#define SLUICE_CLEAN_H

#include "kernel/disk/disk.h"
#include "kernel/logical/logical.h"

#define CLEAN_PLACES (CLEAN_SECTORS / PLACE_SECTORS)

/* What a place holds, on its way to another one. */
struct move {
    struct io io;   /* writes it, if it is a block */
    u32 owner;      /* as logical_owner has it */
    bool overtaken; /* the block has been written since */
};

struct cleaning {
    bool urgent;        /* before what is queued; else only if nothing is */
    bool failed;        /* a place could not be read: nothing is cleaned now */
    bool reading;       /* the run */
    u32 nmoves, next;   /* none: nothing is cleaned; the next to be written */
    u64 again_ns;       /* when to ask the policy again */
    struct timer timer; /* for then */
    struct io read;
    struct move move[CLEAN_PLACES]; /* blocks first */
    u8 data[CLEAN_SECTORS * SECTOR_BYTES];
};

static inline bool clean_busy(const struct cleaning *c)
{
    return c->nmoves != 0;
}

/* Nothing is under way on the disk: begin to clean, if the policy wants it.
 * Returns the read of a run, or NULL. */
struct io *clean_begin(struct disk *, u64 now_ns);

/* The read has ended. */
void clean_was_read(struct disk *, int error);

/* The next command of the moves; or NULL, and *piece is the sector of the map
 * to be made anew, if it is not NO_PIECE. Nothing is under way. */
struct io *clean_next(struct disk *, u64 now_ns, u32 *piece);

/* Has a block that was moved been written by anybody else since? */
static inline bool clean_is_void(const struct io *moved)
{
    return CONTAINER(moved, struct move, io)->overtaken;
}

/* A request is dispatched: if it is a write of a block that is being moved, it
 * overtakes the move. */
void clean_overtaken(struct cleaning *, const struct request *);

#endif
