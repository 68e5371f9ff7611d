/*
 * Are these the times of a drive? For each command on standard input, a line
 * "ISSUED_NS R|W SECTOR SECTORS" in the order of issue, prints when the model
 * of the drive is done with it, in ns. The arm may be moved between them:
 * "TOLD_NS S EDGE 0", to the first cylinder (EDGE 0) or the last (1).
 *
 *   drive_times_tool DRIVE
 *
 * link: drives
 */
#include <inttypes.h>
#include <stdio.h>

#include "kernel/disk/drive.h"

int main(int argc, char **argv)
{
    const struct drive_model *model = argc == 2 ? drive_find(argv[1]) : NULL;
    if (!model || !model->modelled) {
        fprintf(stderr, "usage: drive_times_tool DRIVE (one with a model)\n");
        return 2;
    }
    struct drive drive;
    drive_start(&drive, model);
    u64 issued_ns, sector;
    u32 nsectors;
    char way;
    int words;
    while ((words = scanf("%" SCNu64 " %c %" SCNu64 " %" SCNu32, &issued_ns,
                          &way, &sector, &nsectors)) == 4) {
        if (way == 'S')
            drive_seek_edge(&drive, issued_ns, sector);
        else
            printf("%" PRIu64 "\n", drive_service(&drive, issued_ns, sector,
                                                  nsectors, way == 'W'));
    }
    return words == EOF ? 0 : 1;
}
