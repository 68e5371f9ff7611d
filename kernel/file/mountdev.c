/*
 * /dev/mounts: what is mounted, a line each: disk, directory, rw or ro.
 */
#include "kernel/file/dev.h"
#include "kernel/disk/disk.h"
#include "kernel/remote/remote.h"

/* Print a line for each mounted file system. */
static void print_mounts(struct text *t)
{
    PAGE_OWNED char *path = page_alloc();
    if (!path) {
        t->error = -ENOMEM;
        return;
    }
    struct disk *disk;
    bool read_only;
    for (u32 i = 0; ext2_mount_row(i, path, PATH_BYTES, &disk, &read_only); i++)
        text_printf(t, "%s %s %s\n",
                    disk->carry ? remote_source(disk) : disk->name, path,
                    read_only ? "ro" : "rw");
}

static const struct device mounts = {
    .id = 5, .name = "mounts", .print = print_mounts};
DEVICE(mounts);
