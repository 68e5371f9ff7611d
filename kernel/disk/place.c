/* Placement (place.h). A disk's lock guards the answers for its requests. */
#include "kernel/disk/place.h"
#include "kernel/measure/trace.h"
#include "kernel/policy/registry.h"

/* The new policy starts before all disks have changed over to it, and the old
 * one stops after. */
static void swap(const struct policy *to)
{
    const struct policy *from = policy_in_use[POLICY_PLACE];
    if (to->start)
        to->start();
    policy_in_use[POLICY_PLACE] = to;
    for (u32 i = 0; i < disk_count(); i++) {
        struct disk *d = disk_get(i);
        HOLD(spin, &d->lock);
        d->place = to;
    }
    if (from && from->stop)
        from->stop();
}

void place_init(void)
{
    policy_own(POLICY_PLACE, (struct policy_owner){.swap = swap});
}

/* The policy has answered wrongly: this disk changes to the default now,
 * another one when it gets a wrong answer, too; or the policy stays. Returns
 * the place. */
static u64 fault(struct disk *d, const struct request *r)
{
    if (d->place == policy_in_use[POLICY_PLACE]) {
        const struct policy *to =
            policy_fault(POLICY_PLACE, d->id, r->sector,
                         "place returned a sector off the disk");
        if (!to)
            return r->sector;
        if (to->start)
            to->start();
        policy_in_use[POLICY_PLACE] = to;
    }
    d->place = policy_in_use[POLICY_PLACE];
    return place_of(d, r);
}

u64 place_ask(struct disk *d, const struct request *r)
{
    u64 physical = d->place->place.place(&d->queue, r);
    policy_check(d->place);
    if (physical <= d->nsectors - r->nsectors)
        return physical;
    return fault(d, r);
}

void place_confirm(struct disk *d, struct request *r, u64 physical, u64 now_ns)
{
    r->physical = physical;
    if (physical != r->sector)
        trace_at(now_ns, TRACE_placed, d->id, r->sector, r->pid,
                 physical | (r->write ? TRACE_WRITE : 0));
    if (!r->raw && d->place->place.placed)
        d->place->place.placed(&d->queue, r);
}
