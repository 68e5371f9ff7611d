/* Cleaning (internal.h). */
#include "kernel/vlog/internal.h"
#include "kernel/disk/queue.h"

COUNTER(cleanings, "disk.cleanings", "runs", "of places that were emptied");
COUNTER(moved, "disk.moved", "blocks", "moved to empty their places");

/* ---- the run ---- */

/* Ask the policy what to clean. False: nothing now; what->again_ns is when
 * to ask again. */
static bool ask_place(struct disk *d, u64 now_ns, bool idle, struct clean *what)
{
    *what = (struct clean){.again_ns = NEVER_NS};
    if (!d->place->place.clean)
        return false;
    d->place->place.clean(&d->queue, now_ns, idle, what);
    policy_check_disk(d->place, &d->queue);
    if (what->first == what->end)
        return false;
    u64 first = what->first, end = what->end;
    bool whole = first % SLOT_SECTORS == 0 && end % SLOT_SECTORS == 0;
    if (whole && end <= d->device_sectors && end - first <= CLEAN_SECTORS &&
        queue_used(&d->queue, first, end))
        return true;
    *what = (struct clean){.again_ns = NEVER_NS};
    place_fault(d, first,
                whole ? "clean named places with nothing to move"
                      : "clean named sectors that are no whole places");
    return false;
}

/* True if what the slot's owner number names is a block, not a sector of the
 * map. */
static bool is_block(const struct logical *l, u32 owner)
{
    return owner <= logical_numbers(l);
}

/* Note the move of what lies `at` slots from the start of the run read. */
static void add_move(struct vlog *v, u32 owner, u32 at)
{
    struct cleaning *c = &v->clean;
    c->move[c->nmoves++] = (struct move){
        .io = {.request = {.sector = (owner - 1) * SLOT_SECTORS,
                           .nsectors = SLOT_SECTORS,
                           .write = true,
                           .moved = true,
                           .inside = v->in_drive},
               .span.data = c->data + at * SLOT_SECTORS * SECTOR_BYTES},
        .owner = owner};
}

/* If the policy wants slots emptied, list what they hold, blocks first, and
 * return the command that reads them all; otherwise NULL. */
struct io *clean_begin(struct disk *d, u64 now_ns)
{
    struct cleaning *c = &vlog_of(d)->clean;
    const struct logical *l = &vlog_of(d)->map;
    struct clean what = {.again_ns = NEVER_NS};
    bool idle = queue_empty(&d->queue);
    bool wanted = !c->failed && ask_place(d, now_ns, idle, &what);
    c->again_ns = what.again_ns;
    if (!wanted)
        return NULL;
    u32 first = what.first / SLOT_SECTORS;
    u32 end = MIN(what.end / SLOT_SECTORS, l->nslots);
    for (u32 blocks = 2; blocks--;)
        for (u32 slot = first; slot < end; slot++) {
            u32 owner = logical_owner(l, slot);
            if (owner && is_block(l, owner) == blocks)
                add_move(vlog_of(d), owner, slot - first);
        }
    c->urgent = !idle;
    c->next = 0;
    c->reading = true;
    c->read = (struct io){
        .request = {.sector = first * SLOT_SECTORS,
                    .physical = first * SLOT_SECTORS,
                    .nsectors = (end - first) * SLOT_SECTORS,
                    .raw = true,
                    .moved = true,
                    .inside = vlog_of(d)->in_drive},
        .span = {c->data, (end - first) * SLOT_SECTORS * SECTOR_BYTES},
        .issued_ns = now_ns};
    count(&cleanings, 1);
    return &c->read;
}

/* The run has been read. After an error nothing is cleaned any more. */
void clean_was_read(struct disk *d, int error)
{
    struct cleaning *c = &vlog_of(d)->clean;
    c->reading = false;
    if (!error)
        return;
    kprintf("%s: sector %lu or one after it cannot be read: nothing is cleaned "
            "any more\n",
            d->name, c->read.request.sector);
    c->failed = true;
    c->nmoves = 0;
}

/* ---- the moves ---- */

/* Add a move to a command. `last` is the command's last move so far, or NULL if
 * it has none. False: the move does not fit. */
static bool take(struct disk *d, struct move *m, struct io *last, u64 now_ns)
{
    struct request *r = &m->io.request;
    u64 begin_ns = vlog_next_ns(d, now_ns);
    u64 at = last ? io_physical_end(last) : place_of(d, r, begin_ns);
    if (at == NO_SECTOR || (last && !place_may_be(d, r, at, begin_ns)))
        return false;
    r->physical = at;
    place_confirm(d, r, now_ns);
    m->io.issued_ns = begin_ns;
    m->io.span.bytes = r->nsectors * SECTOR_BYTES;
    count(&moved, 1);
    if (last)
        io_set_next(last, &m->io);
    return true;
}

/* Take the next moves to neighbouring slots as one command, with no more pieces
 * than the device takes. */
static struct io *gather_moves(struct disk *d, u64 now_ns)
{
    struct cleaning *c = &vlog_of(d)->clean;
    struct io *first = NULL, *last = NULL;
    u32 segments = 0;
    for (; c->next < c->nmoves && segments < d->max_segments; c->next++) {
        struct move *m = &c->move[c->next];
        if (!is_block(&vlog_of(d)->map, m->owner))
            break;
        if (m->overtaken)
            continue;
        if (!take(d, m, last, now_ns))
            break;
        last = &m->io;
        first = first ? first : last;
        segments++;
    }
    return first;
}

/* Return the next command of moved blocks. NULL: if *piece is set, that sector
 * of the map is to be written; else nothing is to be done now. */
struct io *clean_next(struct disk *d, u64 now_ns, u32 *piece)
{
    struct cleaning *c = &vlog_of(d)->clean;
    const struct logical *l = &vlog_of(d)->map;
    struct clean more; /* wanted now, beside what is being moved */
    *piece = NO_PIECE;
    if (c->reading)
        return NULL;
    if (!c->urgent && !queue_empty(&d->queue) &&
        !(c->urgent = ask_place(d, now_ns, false, &more)))
        return NULL;
    struct io *command = gather_moves(d, now_ns);
    if (command)
        return command;
    for (; c->next < c->nmoves; c->next++) {
        const struct request *run = &c->read.request;
        u32 owner = c->move[c->next].owner;
        if (is_block(l, owner))
            break; /* there is no slot for it */
        u32 of = owner - 1 - logical_numbers(l);
        u64 at = l->pieces[of].slot * SLOT_SECTORS;
        if (at < run->sector || at >= run->sector + run->nsectors)
            continue;
        *piece = logical_due(l, of);
        c->next += *piece == of;
        return NULL;
    }
    c->nmoves = 0;
    return NULL;
}

/* Mark the move of a block that somebody else writes: it will be dropped. */
void clean_overtaken(struct cleaning *c, const struct request *r)
{
    for (u32 i = 0; i < c->nmoves && !r->moved; i++)
        if (c->move[i].io.request.sector == r->sector)
            c->move[i].overtaken = true;
}
