/*
 * Eager writing: a block goes to the free place that the head reaches first,
 * and the sector of the map that tells of it, too (nearest.h has the search).
 * It needs a disk with a virtual log; on any other, a block stays where it is.
 *
 * Without a model of the drive, or where its tracks differ, it is the first
 * free place after the one that was written last.
 *
 * Source: R. Y. Wang, T. E. Anderson, D. A. Patterson, "Virtual Log Based File
 * Systems for a Programmable Disk", OSDI 1999.
 */
#include "kernel/policy/policy.h"
#include "policies/lib/nearest.h"

enum { PATIENCE_US };
static struct tunable tunables[] = {
    {"patience_us", "us", 1500, 0, 1000000,
     "how much later than the arm would be in another cylinder a place of this "
     "one may come"},
    {0},
};

/* A place is looked for. */
struct search {
    const struct queue *q;
    const struct request *r;
    u64 now_ns;
};

static u64 free_from(void *arg, u64 from, u64 end)
{
    const struct search *s = arg;
    return queue_free_from(s->q, from, end);
}

static struct approach arrival(void *arg, u64 sector)
{
    const struct search *s = arg;
    return queue_arrival(s->q, s->now_ns, sector, s->r->nsectors);
}

static u64 nearest(const struct queue *q, const struct request *r, u64 now_ns)
{
    struct search s = {q, r, now_ns};
    u64 begin_ns;
    struct nearest_disk d = {.turn_ns = q->turn_ns,
                             .patience_ns =
                                 tunables[PATIENCE_US].value * NS_PER_US,
                             .sectors = q->tracks.sectors,
                             .heads = q->tracks.heads,
                             .cyls = q->tracks.cyls,
                             .free_from = free_from,
                             .approach = arrival,
                             .arg = &s};
    return nearest_free(&d, q->head_sector, &begin_ns);
}

static u64 place(const struct queue *q, const struct request *r, u64 now_ns)
{
    u64 sector = NO_SECTOR;
    if (!q->logged)
        return r->sector;
    if (q->tracks.cyls)
        sector = nearest(q, r, now_ns);
    if (sector == NO_SECTOR)
        sector = queue_free_from(q, q->head_sector, NO_SECTOR);
    return sector == NO_SECTOR ? queue_free_from(q, 0, NO_SECTOR) : sector;
}

static const struct policy eager = {
    .kind = POLICY_PLACE,
    .name = "eager",
    .about = "the free place that the head reaches first; a virtual log",
    .tunables = tunables,
    .place = {.place = place},
};
POLICY(eager);
