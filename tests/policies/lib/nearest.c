/*
 * A drive's platters and arm alone (nearest.h).
 *
 * link: drives policies/lib/nearest.c
 */
#include "tests/policies/lib/nearest.h"

#include <stdlib.h>

static u64 free_from(void *arg, u64 from, u64 end)
{
    const struct bare_drive *b = arg;
    for (; from < end; from++)
        if (!b->used[from])
            return from;
    return NO_SECTOR;
}

static struct approach approach(void *arg, u64 sector)
{
    const struct bare_drive *b = arg;
    return drive_approach(&b->drive, b->now_ns, sector, 1, true);
}

/* Make a drive of the first `cyls` cylinders of the model of that name, whose
 * overheads are 0. False: it has no platters, or several zones, or spares. */
bool bare_drive_start(struct bare_drive *b, const char *name, u32 cyls)
{
    const struct drive_model *m = drive_find(name);
    if (!m || !m->zones || m->zones[1].sectors || m->spares)
        return false;
    u32 sectors = m->zones[0].sectors;
    *b = (struct bare_drive){.model = *m};
    b->model.write_settle_ns = b->model.bus_ns = 0;
    for (u32 i = 0; i < 2; i++)
        b->model.write_miss_ns[i] = b->model.write_hit_ns[i] = 0;
    b->used = calloc((u64)cyls * m->heads, sectors);
    b->disk = (struct nearest_disk){.turn_ns = drive_rotation_ns(m),
                                    .sectors = sectors,
                                    .heads = m->heads,
                                    .cyls = cyls,
                                    .free_from = free_from,
                                    .approach = approach,
                                    .arg = b};
    drive_start(&b->drive, &b->model);
    return b->used;
}

/* Put the arm at a track, and the time just before the platter brings `slot`
 * after that many turns. */
void bare_drive_set(struct bare_drive *b, u32 cyl, u32 head, u32 slot,
                    u64 turns)
{
    /* Angles are rounded to a nanosecond. */
    b->now_ns =
        turns * b->disk.turn_ns + slot * b->disk.turn_ns / b->disk.sectors - 2;
    b->drive.cyl = cyl;
    b->drive.head = head;
    b->drive.arm_ns = b->drive.free_ns = b->now_ns;
}
