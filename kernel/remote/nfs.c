/*
 * Close-to-open consistency, which all clients of NFS have: what is written
 * here before a close is seen by an open elsewhere that comes after it.
 *
 * - A close, as fsync, writes what is dirty and waits until the server has it
 *   on its disk. An open does so, too, and then asks for the attributes. If
 *   another client has changed the file, its blocks are dropped
 *   (attributes.c).
 */
#include "kernel/remote/internal.h"

static int open(struct inode *ip, bool)
{
    TRY(remote_flush(ip) ?: ask_attributes(mount_of(ip), file_of(ip)));
    remote_load(ip);
    return ivalid(ip);
}

static int close(struct inode *ip, bool write)
{
    if (!write)
        return 0;
    return ilock_valid(ip) ?: iunlock_with(ip, remote_flush(ip));
}

static const struct consistency nfs = {
    .name = "nfs", .open = open, .close = close};
CONSISTENCY(nfs);
