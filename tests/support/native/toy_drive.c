/* The toy drive, whose times can be worked out by hand (toy_drive.h). */
#include "tests/support/native/toy_drive.h"

/* When the arm that leaves a sector at this time is at the request's track, and
 * when the request's first sector comes. */
static struct approach toy_arm(u64 ns, u64 from, const struct request *to)
{
    u64 track = to->sector / 100;
    u64 tracks = track > from / 100 ? track - from / 100 : from / 100 - track;
    u64 there_us = ns / 1000 + 10 * tracks;
    u64 turn_us = (to->sector + 100 - there_us % 100) % 100;
    return (struct approach){there_us * 1000, (there_us + turn_us) * 1000};
}

struct approach toy_drive(const struct queue *q, u64 start_ns,
                          const struct request *first, u64 gap_ns,
                          const struct request *r)
{
    check(first || !gap_ns); /* there is no gap after nothing */
    if (!first)
        return toy_arm(start_ns, q->head_sector, r);
    u64 done_ns = toy_arm(start_ns, q->head_sector, first).begin_ns +
                  first->nsectors * 1000;
    return toy_arm(done_ns + gap_ns, first->sector + first->nsectors, r);
}
