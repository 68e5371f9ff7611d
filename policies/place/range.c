/*
 * Range writes: a block may go to any free slot that is near where the file
 * system put it, and goes to the one that the head reaches first. So a write
 * saves rotation as eager writing does, and a file that is updated at random
 * stays nearly together.
 *
 * - A block is at home in a cylinder: blocks are spread over the cylinders in
 *   their order. It may be up to range_cyls cylinders away from there.
 * - If none of those places is free, the block goes to the nearest free slot of
 *   all. A sector of the map, which has no home, always does.
 *
 * It needs a disk with a virtual log, and a model of the drive; on any other
 * disk a block stays where it is, and without a model it is the first free
 * place after the one that was written last.
 *
 * Source: A. Anand, S. Sen, A. Krioukov, F. Popovici, A. Akella, A.
 * Arpaci-Dusseau, R. Arpaci-Dusseau, S. Banerjee, "Avoiding File System
 * Micromanagement with Range Writes", OSDI 2008. There a file system names the
 * range of each write; here the policy does.
 */
#include "kernel/policy/place.h"
#include "policies/lib/slots.h"

enum { RANGE_CYLS, PATIENCE_US };
static struct tunable tunables[] = {
    {"range_cyls", "cylinders", 1, 0, 10000,
     "how far from its own a block may be, on each side"},
    {"patience_us", "us", 1500, 0, 1000000,
     "how much later than the arm would be in another cylinder a place of this "
     "one may come"},
    {0},
};

static u64 cyl_sectors(const struct queue *q)
{
    return (u64)q->tracks.heads * q->tracks.sectors;
}

/* The nearest free slot of these cylinders. The search begins where the arm
 * is. If the arm is elsewhere, it begins at the cylinder nearest to the arm. */
static u64 nearest_within(const struct slots *p, u64 first, u64 end)
{
    const struct queue *q = p->q;
    u64 head = q->head_sector, here = head / cyl_sectors(q);
    if (here < first || here >= end)
        head = (here < first ? first : end - 1) * cyl_sectors(q);
    return slots_nearest(p, first * cyl_sectors(q), q->tracks.heads,
                         end - first, head);
}

/* The cylinder where a block is at home: as far along the disk as the sector's
 * number is among all numbers. */
static u64 home(const struct queue *q, u64 sector)
{
    return MIN(sector * q->tracks.cyls / q->nsectors, q->tracks.cyls - 1);
}

/* Look for a slot within range_cyls cylinders of the block's own place, and
 * then anywhere. */
static u64 find(const struct queue *q, const struct request *r, u64 now_ns)
{
    struct slots p = {.q = q,
                      .r = r,
                      .now_ns = now_ns,
                      .patience_ns = tunables[PATIENCE_US].value * NS_PER_US};
    u64 range = tunables[RANGE_CYLS].value, sector = NO_SECTOR;
    u64 at = home(q, r->sector);
    if (r->nsectors > 1)
        sector = nearest_within(&p, at - MIN(at, range),
                                MIN(at + range + 1, q->tracks.cyls));
    return sector == NO_SECTOR ? slots_nearest_of_all(&p) : sector;
}

static u64 place(const struct queue *q, const struct request *r, u64 now_ns)
{
    u64 sector = NO_SECTOR;
    if (!q->logged)
        return r->sector;
    if (q->tracks.cyls)
        sector = find(q, r, now_ns);
    return sector == NO_SECTOR ? slots_next(q) : sector;
}

static const struct policy range = {
    .kind = POLICY_PLACE,
    .name = "range",
    .about = "the free place near home that the head reaches first",
    .tunables = tunables,
    .place = {.place = place},
};
POLICY(range);
