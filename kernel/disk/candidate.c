/*
 * Candidate writes: dirty blocks that the scheduler may write early (disk.h).
 *
 * - A candidate is queued in a set of its own, and is no request yet.
 * - When the scheduler chooses one, its owner's reserve() says whether it may
 *   be written now. The disk's lock is not held then, because reserve() takes
 *   the cache's, which comes before it; so the queue may change meanwhile.
 */
#include "kernel/disk/internal.h"

COUNTER(offers_taken, "disk.offers_taken", "requests",
        "dirty blocks written by the scheduler's choice");

/* Make a candidate a write; false if the block is in use or clean. Caller holds
 * d->lock, which is released meanwhile. */
static bool reserve(struct disk *d, struct io *io)
{
    bool (*reserve_io)(struct io *, const struct disk *) = io->reserve;
    assert(reserve_io && io->request.candidate);
    io_remove(d, &io->request);
    spin_unlock(&d->lock);
    bool reserved = reserve_io(io, d);
    spin_lock(&d->lock);
    return reserved;
}

/* Return the candidate that begins where io ends; NULL: there is none, or the
 * scheduler does not join candidates. */
static struct io *next_candidate(struct disk *d, const struct io *io)
{
    if (!d->sched->sched.joins_candidates)
        return NULL;
    struct request *r = queue_find_from(&d->queue, CANDIDATES, io_end(io));
    return r && r->sector == io_end(io) ? io_of(r) : NULL;
}

/* Make the candidate and those that follow it on the disk into requests, up to
 * a whole command. Drops the lock meanwhile. True if there is something to
 * dispatch. */
bool candidate_take_up(struct disk *d, struct io *io)
{
    struct io *taken = NULL;
    u64 nsectors = 0;
    while (io && reserve(d, io)) {
        io_set_next(io, taken);
        taken = io;
        nsectors += io->request.nsectors;
        io = nsectors < d->cluster_sectors ? next_candidate(d, io) : NULL;
    }
    for (struct io *i = taken, *next; i; i = next) {
        next = io_next(i);
        count(&offers_taken, 1);
        io_arrive(d, i);
    }
    return taken && d->in_flight < d->depth;
}

/* Offer the write of a dirty block to the scheduler. */
void disk_add_candidate(struct disk *d, struct io *io)
{
    assert(io->request.write && io->reserve && io_end(io) <= d->nsectors);
    if (d->takes)
        return; /* an older write of the block may be held back there */
    io->request.candidate = true;
    HOLD(spin, &d->lock);
    io_enqueue(d, io);
}

/* Take a candidate back: its block is in use, or is not dirty any more. */
void disk_remove_candidate(struct disk *d, struct io *io)
{
    HOLD(spin, &d->lock);
    if (io->request.queue)
        io_remove(d, &io->request);
}
