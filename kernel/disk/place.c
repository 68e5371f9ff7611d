/* Placement (place.h). A disk's lock guards the answers for its requests. */
#include "kernel/disk/internal.h"

/* Return why a disk cannot have this policy, or NULL. A translation needs one
 * that chooses places. */
static const char *refuses(const struct policy *to)
{
    for (u32 i = 0; i < disk_count() && !to->place.place; i++)
        if (disk_get(i)->translation)
            return disk_get(i)->translation->refusal;
    return NULL;
}

void place_init(void (*swap)(const struct policy *to))
{
    policy_own(POLICY_PLACE,
               (struct policy_owner){.swap = swap, .refuses = refuses});
}

/* ---- wrong answers ---- */

/* Give the disk the place policy that it has without a fault. */
void place_adopt_default(struct disk *d)
{
    d->place =
        d->translation ? d->translation->fallback : policy_in_use[POLICY_PLACE];
}

/* Blame the disk's place policy for a wrong answer. True if the default took
 * over. */
bool place_fault(struct disk *d, u64 sector, const char *what)
{
    if (!policy_take_over(d->place, d->id, sector, what))
        return false;
    place_adopt_default(d);
    return true;
}

/* ---- places ---- */

/* Return the physical sector of r's first one. NO_SECTOR: no place is free, so
 * r waits. A wrong answer of the policy has the default asked. */
u64 place_ask(struct disk *d, const struct request *r, u64 now_ns)
{
    const struct translation *t = d->translation;
    if (t && !r->write)
        return t->find(d, r);
    if (t && t->is_full(d, r))
        return NO_SECTOR;
    d->inside = r->inside;
    u64 physical = d->place->place.place(&d->queue, r, now_ns);
    d->inside = false;
    policy_check_disk(d->place, &d->queue);
    bool right =
        t ? t->may_take(d, r, physical) : physical <= d->nsectors - r->nsectors;
    if (right)
        return physical;
    if (place_fault(d, r->sector,
                    t ? "place returned no free place"
                      : "place returned a sector off the disk"))
        return place_of(d, r, now_ns);
    return t ? t->fallback->place.place(&d->queue, r, now_ns) : r->sector;
}

/* True if the request may go to this sector. A translation takes any free
 * place, unless the policy appends; without one a request has only its
 * place. */
bool place_may_be(struct disk *d, const struct request *r, u64 physical,
                  u64 now_ns)
{
    if (d->translation && r->write && !r->raw && !d->place->place.appends)
        return d->translation->may_take(d, r, physical);
    return place_of(d, r, now_ns) == physical;
}

/* r goes to r->physical: notify the translation and the policy. */
void place_confirm(struct disk *d, struct request *r, u64 now_ns)
{
    if (r->physical == NO_SECTOR)
        return;
    if (r->physical != r->sector)
        trace_at(now_ns, TRACE_placed, d->id, r->sector, r->pid,
                 r->physical | (r->write ? TRACE_WRITE : 0));
    if (d->translation && r->write)
        d->translation->take(d, r);
    if (d->place->place.placed)
        d->place->place.placed(&d->queue, r);
}
