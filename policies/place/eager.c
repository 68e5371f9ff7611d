/*
 * Eager writing: a block goes to the free slot that the head reaches first, and
 * so does the sector of the map that has its place (nearest.h has the search).
 * It needs a disk with a virtual log; on any other, a block stays where it is.
 *
 * Without a model of the drive, or if its tracks differ, a block goes to the
 * first free slot after the slot that was written last.
 *
 * Source: R. Y. Wang, T. E. Anderson, D. A. Patterson, "Virtual Log Based File
 * Systems for a Programmable Disk", OSDI 1999.
 */
#include "kernel/policy/place.h"
#include "policies/lib/slots.h"

enum { PATIENCE_US };
static struct tunable tunables[] = {
    {"patience_us", "us", 1500, 0, 1000000,
     "how much later than the arm would be in another cylinder a place of this "
     "one may come"},
    {0},
};

static u64 place(const struct queue *q, const struct request *r, u64 now_ns)
{
    struct slots p = {.q = q,
                      .r = r,
                      .now_ns = now_ns,
                      .patience_ns = tunables[PATIENCE_US].value * NS_PER_US};
    u64 sector = NO_SECTOR;
    if (!q->logged)
        return r->sector;
    if (q->tracks.cyls)
        sector = slots_nearest_of_all(&p);
    return sector == NO_SECTOR ? slots_next(q) : sector;
}

static const struct policy eager = {
    .kind = POLICY_PLACE,
    .name = "eager",
    .about = "the free place that the head reaches first; a virtual log",
    .tunables = tunables,
    .place = {.place = place},
};
POLICY(eager);
