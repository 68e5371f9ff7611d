/*
 * The twin's network device, joined to other machines (nic.c). host.c asks for
 * it; the kernel knows it by kernel/driver/virtio_net.h.
 */
#ifndef SLUICE_TWIN_NIC_H
#define SLUICE_TWIN_NIC_H

#include "kernel/base/types.h"

/* There is a device, from now on: `word` is NUMBER:SOCKET[:SOCKET...], the
 * number of this machine, from 1, and the sockets to others. False if it is
 * something else. */
bool nic_join(const char *word);

/* Keep all frames that pass the device, as pcap. False if the file cannot be
 * made. */
bool nic_dump(const char *path);

/* Hand over all frames that are collected. */
void nic_flush(void);

#endif
