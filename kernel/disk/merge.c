/*
 * Merging: queued requests that lie one after the other become one command.
 *
 * - The requests of a command have one direction, and lie in one row on the
 *   platters and by their logical sectors; under a place policy that appends,
 *   writes lie in one row on the platters only.
 * - A command has no more sectors than cluster_kb allows, and no more pieces
 *   than the device takes. A request that is `alone` joins no other.
 */
#include "kernel/disk/internal.h"

/* Take a request off the queue, to be dispatched to this physical sector.
 * Caller holds d->lock. */
static void take(struct disk *d, struct request *r, u64 physical, u64 now_ns)
{
    assert(!r->candidate);
    io_remove(d, r);
    place_confirm(d, r, physical, now_ns);
    io_of(r)->issued_ns = now_ns;
    io_of(r)->span.bytes = r->nsectors * SECTOR_BYTES;
    io_set_next(io_of(r), NULL);
}

/* The queued request that begins where io ends, or ends where io begins, if it
 * may be joined; or NULL. The queue is in the order of logical sectors. */
static struct io *next_to(struct disk *d, const struct io *io)
{
    enum direction dir = io->request.write ? WRITES : READS;
    struct io *n = io_of(queue_find_from(&d->queue, dir, io_end(io)));
    return n && n->request.sector == io_end(io) && !n->alone ? n : NULL;
}

static struct io *next_before(struct disk *d, const struct io *io)
{
    enum direction dir = io->request.write ? WRITES : READS;
    struct io *n = io_of(queue_find_before(&d->queue, dir, io->request.sector));
    return n && io_end(n) == io->request.sector && !n->alone ? n : NULL;
}

/* The write that is next in the queue's order, wherever it goes. */
static struct io *next_write(struct disk *d, const struct io *io)
{
    struct request *r = queue_find_from(&d->queue, WRITES, io_end(io));
    struct io *n = io_of(r ? r : queue_find_from(&d->queue, WRITES, 0));
    return io->request.write && n && !n->alone ? n : NULL;
}

/* A command in the making: requests that lie one after the other on the
 * platters, and by their logical sectors, unless the place policy appends. */
struct command {
    struct io *first, *last;
    u32 nsectors, segments;
};

/* Take a request (NULL: there is none) off the queue into the command, before
 * its first one or after its last, if there is room and that is the request's
 * place. Caller holds d->lock. */
static bool join(struct disk *d, struct command *c, struct io *io, bool before,
                 u64 now_ns)
{
    if (!io || c->segments == d->max_segments ||
        c->nsectors + io->request.nsectors > d->cluster_sectors)
        return false;
    struct request *r = &io->request;
    u64 beside = before ? c->first->request.physical - r->nsectors
                        : io_physical_end(c->last);
    if (!place_may_be(d, r, beside, now_ns))
        return false;
    take(d, r, beside, now_ns);
    if (before) {
        io_set_next(io, c->first);
        c->first = io;
    } else {
        io_set_next(c->last, io);
        c->last = io;
    }
    c->nsectors += r->nsectors;
    c->segments++;
    return true;
}

struct io *command_gather(struct disk *d, struct request *r, u64 physical,
                          u64 now_ns)
{
    struct io *io = io_of(r);
    struct command c = {io, io, r->nsectors, 1};
    take(d, r, physical, now_ns);
    while (!io->alone && join(d, &c, next_to(d, c.last), false, now_ns))
        ;
    while (!io->alone && join(d, &c, next_before(d, c.first), true, now_ns))
        ;
    while (!io->alone && d->place->place.appends &&
           join(d, &c, next_write(d, c.last), false, now_ns))
        ;
    d->queue.head_sector = io_physical_end(c.last);
    queue_dispatched(&d->queue, r, now_ns);
    trace_io(now_ns, TRACE_issued, d, c.first, c.nsectors);
    return c.first;
}
