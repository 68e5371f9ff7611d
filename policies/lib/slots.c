/* Slots near the head (slots.h). */
#include "policies/lib/slots.h"
#include "policies/lib/nearest.h"

struct search {
    const struct slots *p;
    u64 base; /* the sector that counts as the first */
};

/* The first free sector from `from` to `end`, if their track may be used. These
 * three sectors count from s->base; the queue's from the disk's beginning. */
static u64 free_from(void *arg, u64 from, u64 end)
{
    const struct search *s = arg;
    const struct queue *q = s->p->q;
    if (s->p->may && !s->p->may(q, (from + s->base) / q->tracks.sectors))
        return NO_SECTOR;
    u64 sector = queue_free_from(q, from + s->base, end + s->base);
    return sector == NO_SECTOR ? NO_SECTOR : sector - s->base;
}

/* Return when the head reaches the sector, as nearest.h asks for it. */
static struct approach arrival(void *arg, u64 sector)
{
    const struct search *s = arg;
    return queue_arrival(s->p->q, s->p->now_ns, sector + s->base,
                         s->p->r->nsectors);
}

/* Return the free slot that the arm reaches first within these cylinders from
 * sector `base` on. */
u64 slots_nearest(const struct slots *p, u64 base, u32 heads, u32 cyls,
                  u64 head_sector)
{
    u64 begin_ns;
    struct search s = {p, base};
    struct nearest_disk d = {.turn_ns = p->q->turn_ns,
                             .patience_ns = p->patience_ns,
                             .sectors = p->q->tracks.sectors,
                             .heads = heads,
                             .cyls = cyls,
                             .free_from = free_from,
                             .approach = arrival,
                             .arg = &s};
    u64 sector = nearest_free(&d, head_sector - base, &begin_ns);
    return sector == NO_SECTOR ? NO_SECTOR : sector + base;
}

/* Return the free slot of the whole disk that the head reaches first. */
u64 slots_nearest_of_all(const struct slots *p)
{
    const struct tracks *t = &p->q->tracks;
    return slots_nearest(p, 0, t->heads, t->cyls, p->q->head_sector);
}

/* Return the slots that begin on a track, which need not begin where the track
 * does. */
struct track_slots slots_of_track(const struct queue *q, u64 track)
{
    u64 sectors = q->tracks.sectors, all = q->nsectors / SLOT * SLOT;
    u64 first = ROUND_UP(track * sectors, SLOT);
    u64 end = ROUND_UP((track + 1) * sectors, SLOT);
    return (struct track_slots){MIN(first, all), MIN(end, all)};
}

/* Return the next free slot after the head by number, or else the first of the
 * disk. */
u64 slots_next(const struct queue *q)
{
    u64 sector = queue_free_from(q, q->head_sector, NO_SECTOR);
    return sector == NO_SECTOR ? queue_free_from(q, 0, NO_SECTOR) : sector;
}
