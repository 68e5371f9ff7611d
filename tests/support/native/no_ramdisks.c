/* A machine without RAM disks (kernel/driver/ramdisk.h): none can be opened. */
#include "kernel/driver/ramdisk.h"

struct ramdisk *ramdisk_open(u32 i, const struct device_client *of, void *arg,
                             struct device_facts *facts)
{
    (void)i, (void)of, (void)arg, (void)facts;
    return NULL;
}

void ramdisk_do(struct ramdisk *r, enum command_kind kind, u64 sector,
                struct span *first)
{
    (void)r, (void)kind, (void)sector, (void)first;
}
