/* Placement (place.h). A disk's lock guards the answers for its requests. */
#include "kernel/disk/place.h"
#include "kernel/measure/trace.h"
#include "kernel/policy/registry.h"

static const char *refuses(const struct policy *to)
{
    for (u32 i = 0; i < disk_count() && !to->place.place; i++)
        if (disk_get(i)->vlog)
            return "a disk has a virtual log, and this policy has no place for "
                   "its blocks";
    return NULL;
}

void place_init(void (*swap)(const struct policy *to))
{
    policy_own(POLICY_PLACE,
               (struct policy_owner){.swap = swap, .refuses = refuses});
    for (u32 i = 0; i < disk_count(); i++)
        if (policy_in_use[POLICY_PLACE]->place.place)
            vlog_open(disk_get(i));
}

/* ---- wrong answers ---- */

/* Where a request goes without a policy: where it always was, or on a disk with
 * a virtual log to the first free place after the head, or of all. */
static u64 plain(const struct queue *q, const struct request *r, u64 now_ns)
{
    (void)now_ns;
    u64 sector = queue_free_from(q, q->head_sector, NO_SECTOR);
    if (sector == NO_SECTOR)
        sector = queue_free_from(q, 0, NO_SECTOR);
    return q->logged ? sector : r->sector;
}

/* What the blocks of a disk with a virtual log are placed by when the default
 * of the kind takes over, which has no places for them. */
static const struct policy kernels_own = {.kind = POLICY_PLACE,
                                          .place = {.place = plain}};

void place_adopt_default(struct disk *d)
{
    d->place = d->vlog ? &kernels_own : policy_in_use[POLICY_PLACE];
}

/* The policy has answered wrongly: this disk changes to the default now,
 * another one when it gets a wrong answer, too. False: the policy stays. */
static bool fault(struct disk *d, u64 sector, const char *what)
{
    if (!policy_take_over(d->place, d->id, sector, what))
        return false;
    place_adopt_default(d);
    return true;
}

/* ---- places ---- */

u64 place_ask(struct disk *d, const struct request *r, u64 now_ns)
{
    if (d->vlog && !r->write)
        return vlog_find(d->vlog, r);
    if (d->vlog && vlog_is_full(d->vlog, r))
        return NO_SECTOR;
    u64 physical = d->place->place.place(&d->queue, r, now_ns);
    policy_check_disk(d->place, &d->queue);
    bool right = d->vlog ? vlog_may_take(d->vlog, r, physical)
                         : physical <= d->nsectors - r->nsectors;
    if (right)
        return physical;
    return fault(d, r->sector,
                 d->vlog ? "place returned no free place"
                         : "place returned a sector off the disk")
               ? place_of(d, r, now_ns)
               : plain(&d->queue, r, now_ns);
}

bool place_may_be(struct disk *d, const struct request *r, u64 physical,
                  u64 now_ns)
{
    if (d->vlog && r->write && !r->raw && !d->place->place.appends)
        return vlog_may_take(d->vlog, r, physical);
    return place_of(d, r, now_ns) == physical;
}

void place_confirm(struct disk *d, struct request *r, u64 physical, u64 now_ns)
{
    r->physical = physical;
    if (physical == NO_SECTOR)
        return;
    if (physical != r->sector)
        trace_at(now_ns, TRACE_placed, d->id, r->sector, r->pid,
                 physical | (r->write ? TRACE_WRITE : 0));
    if (r->raw || !d->place->place.place)
        return;
    if (d->vlog && r->write) {
        bool taken = logical_take(&d->vlog->map, physical / PLACE_SECTORS);
        assert(taken);
        clean_overtaken(&d->vlog->clean, r);
    }
    if (d->place->place.placed)
        d->place->place.placed(&d->queue, r);
}

bool place_clean(struct disk *d, u64 now_ns, bool idle, struct clean *what)
{
    *what = (struct clean){.again_ns = NEVER_NS};
    if (!d->place->place.clean)
        return false;
    d->place->place.clean(&d->queue, now_ns, idle, what);
    policy_check_disk(d->place, &d->queue);
    if (what->first == what->end)
        return false;
    u64 first = what->first, end = what->end;
    bool whole = first % PLACE_SECTORS == 0 && end % PLACE_SECTORS == 0;
    if (whole && end <= d->device_sectors && end - first <= CLEAN_SECTORS &&
        queue_used(&d->queue, first, end))
        return true;
    *what = (struct clean){.again_ns = NEVER_NS};
    fault(d, first,
          whole ? "clean named places with nothing to move"
                : "clean named sectors that are no whole places");
    return false;
}

u64 queue_used(const struct queue *q, u64 from, u64 end)
{
    const struct disk *d = CONTAINER(q, struct disk, queue);
    u64 n = 0;
    if (!d->vlog)
        return 0;
    end = MIN(end, d->vlog->map.nplaces * PLACE_SECTORS);
    for (u64 at = ROUND_UP(from, PLACE_SECTORS); at < end; at += PLACE_SECTORS)
        n += logical_owner(&d->vlog->map, at / PLACE_SECTORS) != 0;
    return n;
}

u64 queue_free_from(const struct queue *q, u64 from, u64 end)
{
    const struct disk *d = CONTAINER(q, struct disk, queue);
    u64 most = d->device_sectors - PLACE_SECTORS + 1; /* no sum overflows */
    from = ROUND_UP(MIN(from, most), PLACE_SECTORS) / PLACE_SECTORS;
    end = ROUND_UP(MIN(end, most), PLACE_SECTORS) / PLACE_SECTORS;
    u32 place = d->vlog ? logical_free_from(&d->vlog->map, from, end) : 0;
    return place ? place * PLACE_SECTORS : NO_SECTOR;
}
