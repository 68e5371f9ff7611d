/*
 * How would an arm come to the free places of a disk? Asks the model of the
 * drive about each of them; policies/lib/nearest.c, which has a shorter way, is
 * not in this program. Standard input has lines, in the order of time:
 *
 *   R|W ISSUED_NS SECTOR SECTORS   a command is given to the drive
 *   + PLACE | - PLACE              the place becomes free, or used
 *   ? NOW_NS SECTORS CAME          a write of SECTORS is dispatched at NOW_NS
 *
 * The answer to each question is a line: when the write would begin at the
 * sector CAME; then for each track, from the first on, "THERE:BEGIN:SECTOR":
 * when the arm is over the track, and the place on it that comes first, when it
 * begins and its sector; "-" if none is free. In ns. All places are used at
 * first.
 *
 *   places_tool DRIVE PLACES       of 8 sectors, in whole cylinders
 *
 * link: drives
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "drives/row.h"

#define SLOT_SECTORS 8

static struct drive drive;
static struct tracks tracks;
static bool *is_free;

struct write {
    u64 now_ns;
    u32 nsectors;
};

/* Return the drive's approach to a sector, for the write. */
static struct approach ask(const struct write *w, u64 sector)
{
    return drive_approach(&drive, w->now_ns, sector, w->nsectors, true);
}

/* Print the answer for one track: of its free places, the one at which the
 * write would begin first. */
static void tell_of(const struct write *w, u64 track)
{
    u64 first = track * tracks.sectors, end = first + tracks.sectors, at = 0;
    struct approach best = {0, 0};
    for (u64 place = (first + SLOT_SECTORS - 1) / SLOT_SECTORS;
         place * SLOT_SECTORS < end; place++) {
        struct approach a = {0, 0};
        if (is_free[place])
            a = ask(w, place * SLOT_SECTORS);
        if (is_free[place] && (!at || a.begin_ns < best.begin_ns)) {
            best = a;
            at = place * SLOT_SECTORS;
        }
    }
    if (at)
        printf(" %" PRIu64 ":%" PRIu64 ":%" PRIu64, ask(w, first).there_ns,
               best.begin_ns, at);
    else
        printf(" -");
}

static void answer(const struct write *w, u64 came)
{
    drive_catch_up(&drive, w->now_ns);
    printf("%" PRIu64, ask(w, came).begin_ns);
    for (u64 track = 0; track < (u64)tracks.cyls * tracks.heads; track++)
        tell_of(w, track);
    printf("\n");
}

int main(int argc, char **argv)
{
    const struct drive_model *model = argc == 3 ? drive_find(argv[1]) : NULL;
    u64 nslots = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    u64 first, sector; /* of a line: its first number, a place or a time */
    if (model && model->modelled)
        tracks = drive_tracks(model, nslots * SLOT_SECTORS);
    if (!tracks.cyls || !(is_free = calloc(nslots, sizeof *is_free))) {
        fprintf(stderr, "usage: places_tool DRIVE PLACES (of equal tracks)\n");
        return 2;
    }
    drive_start(&drive, model);
    char what;
    u32 n;
    while (scanf(" %c %" SCNu64, &what, &first) == 2) {
        if (what == '+' || what == '-') {
            if (first >= nslots)
                return 1;
            is_free[first] = what == '+';
        } else if (what == '?') {
            if (scanf("%" SCNu32 " %" SCNu64, &n, &sector) != 2)
                return 1;
            answer(&(struct write){first, n}, sector);
        } else {
            if (scanf("%" SCNu64 " %" SCNu32, &sector, &n) != 2)
                return 1;
            drive_service(&drive, first, sector, n, what == 'W');
        }
    }
    return 0;
}
