/*
 * No virtio disk: the twin and the replayer have RAM disks only, so no call of
 * these is ever made with a disk.
 */
#include "kernel/driver/virtio_blk.h"

struct virtio_blk *virtio_blk_open(u32 i, const struct device_client *client,
                                   void *arg, struct device_facts *facts)
{
    (void)i, (void)client, (void)arg, (void)facts;
    return NULL;
}

bool virtio_blk_start(struct virtio_blk *v, enum command_kind kind, u64 sector,
                      struct span *first)
{
    (void)v, (void)kind, (void)sector, (void)first;
    return false;
}

void virtio_blk_kick(struct virtio_blk *v)
{
    (void)v;
}

void virtio_blk_settle(struct virtio_blk *v)
{
    (void)v;
}
