/*
 * Are these the times of a drive? For each command on standard input, a line
 * "ISSUED_NS DONE_NS R|W SECTOR SECTORS" in the order of issue, prints when the
 * model of the drive is done with it, in ns. The arm may be moved between them:
 * "TOLD_NS 0 S EDGE 0", to the first cylinder (EDGE 0) or the last (1).
 *
 * A trace tells the issue some microseconds late, and in them the sector may
 * have passed the head, which is a turn of the platter. So a command may have
 * been issued up to STEPS times STEP_NS earlier, if DONE_NS fits that better.
 *
 *   drive_times_tool DRIVE
 *
 * link: kernel/drive.c kernel/drives.c
 */
#include <inttypes.h>
#include <stdio.h>

#include "kernel/drive.h"

#define STEP_NS 2000
#define STEPS   25

static u64 distance(u64 a, u64 b)
{
    return a > b ? a - b : b - a;
}

/* When the drive is done with it, having been given it less than STEPS times
 * STEP_NS before. */
static u64 serve(struct drive *drive, u64 issued_ns, u64 done_ns, bool write,
                 u64 sector, u32 nsectors)
{
    struct drive best = *drive;
    u64 best_ns = drive_service(&best, issued_ns, sector, nsectors, write);
    for (u64 i = 1; i < STEPS && i * STEP_NS <= issued_ns; i++) {
        struct drive trial = *drive;
        u64 ns = drive_service(&trial, issued_ns - i * STEP_NS, sector,
                               nsectors, write);
        if (distance(ns, done_ns) + STEPS * STEP_NS <
            distance(best_ns, done_ns)) {
            best = trial;
            best_ns = ns;
        }
    }
    *drive = best;
    return best_ns;
}

int main(int argc, char **argv)
{
    const struct drive_model *model = argc == 2 ? drive_find(argv[1]) : NULL;
    if (!model || !model->modelled) {
        fprintf(stderr, "usage: drive_times_tool DRIVE (one with a model)\n");
        return 2;
    }
    struct drive drive;
    drive_start(&drive, model);
    u64 issued_ns, done_ns, sector;
    u32 nsectors;
    char way;
    int words;
    while ((words = scanf("%" SCNu64 " %" SCNu64 " %c %" SCNu64 " %" SCNu32,
                          &issued_ns, &done_ns, &way, &sector, &nsectors)) ==
           5) {
        if (way == 'S')
            drive_seek_edge(&drive, issued_ns, sector);
        else
            printf("%" PRIu64 "\n", serve(&drive, issued_ns, done_ns,
                                          way == 'W', sector, nsectors));
    }
    return words == EOF ? 0 : 1;
}
