/*
 * Prints when models of drives are done with commands. For each command on
 * standard input, a line "DISK ISSUED_NS R|W SECTOR SECTORS" in the order of
 * issue, it prints when the model of that disk's drive is done, in ns. The arm
 * may be moved between them: "DISK TOLD_NS S EDGE 0", to the first cylinder
 * (EDGE 0) or the last (1).
 *
 *   drive_times_tool DRIVE...      of disk 0, disk 1 and so on, but no flash,
 *                                  whose times depend on the disk's size
 *
 * link: drives
 */
#include <inttypes.h>
#include <stdio.h>

#include "drives/row.h"

#define MOST_DISKS 16

int main(int argc, char **argv)
{
    static struct drive drive[MOST_DISKS];
    u32 ndisks = argc - 1;
    bool good = ndisks > 0 && ndisks <= MOST_DISKS;
    for (u32 i = 0; i < ndisks && good; i++) {
        const struct drive_model *model = drive_find(argv[1 + i]);
        good = model && model->modelled && !model->flash;
        if (good)
            drive_start(&drive[i], model);
    }
    if (!good) {
        fprintf(
            stderr,
            "usage: drive_times_tool DRIVE... (with models, not of flash)\n");
        return 2;
    }
    u64 issued_ns, sector;
    u32 disk, nsectors;
    char way;
    int words;
    while ((words = scanf("%" SCNu32 " %" SCNu64 " %c %" SCNu64 " %" SCNu32,
                          &disk, &issued_ns, &way, &sector, &nsectors)) == 5 &&
           disk < ndisks) {
        if (way == 'S')
            drive_seek_edge(&drive[disk], issued_ns, sector);
        else
            printf("%" PRIu64 "\n",
                   drive_service(&drive[disk], issued_ns, sector, nsectors,
                                 way == 'W'));
    }
    return words == EOF ? 0 : 1;
}
