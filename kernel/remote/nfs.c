/*
 * Close-to-open consistency, which all clients of NFS have: an open on another
 * machine after a close sees all that was written here before the close.
 *
 * - A close, like fsync, writes the dirty blocks and waits until the server has
 *   them on its disk. An open does so, too, and then asks for the attributes.
 *   If another client has changed the file, its blocks are dropped
 *   (attributes.c).
 */
#include "kernel/remote/internal.h"

/* Write what is dirty here, and see if another client has changed the file. */
static int open(struct inode *ip, bool)
{
    TRY(remote_flush(ip) ?: ask_attributes(mount_of(ip), file_of(ip)));
    remote_load(ip);
    return ivalid(ip);
}

/* The file was written: return when the server has all of it. */
static int close(struct inode *ip, bool write)
{
    if (!write)
        return 0;
    return ilock_valid(ip) ?: iunlock_with(ip, remote_flush(ip));
}

static const struct consistency nfs = {
    .name = "nfs", .open = open, .close = close};
CONSISTENCY(nfs);
