/*
 * Files on other machines: the client of NFS, version 3, over UDP.
 *
 * - A room that a reader can leave closed. Until something is mounted nothing
 *   here runs, takes memory or shows in /dev/stat.
 * - Inodes, paths and the way to the buffer cache are those of ext2, which asks
 *   this room where it would look at metadata (fs_operations, ext2.h). The
 *   blocks of files are in the one buffer cache. Their disk is this room:
 *   block b of file f has the number f << 20 | b, and a command that the
 *   scheduler has chosen is a READ or a WRITE call (blocks.c). So read-ahead,
 *   delayed writes, and all policies are the same as for a disk.
 * - A WRITE is UNSTABLE. It ends, for the cache, when a COMMIT has said that it
 *   is on the server's disk. If the server has started again meanwhile, which
 *   its verifier tells, the block is written again. So a block that is clean
 *   here is safe there.
 * - What a client does so that it reads what others have written is a kind
 *   (consistency.h), which a mount chooses.
 * - A server that does not answer is waited for. The console says so, once.
 *   Only a process that is killed gives up, or all do: umount -f.
 *
 *   call.c         one call, until its reply comes
 *   message.c      what most calls have in them
 *   files.c        the files that are known, by number and by handle
 *   attributes.c   attributes, and whether the blocks are still right
 *   nfs.c          consistency: close-to-open (kernel/spritely and
 *                  kernel/leases have others)
 *   past.c         bytes that go past the cache
 *   names.c        calls about names and attributes
 *   blocks.c       READ, WRITE and COMMIT for the cache
 *   mount.c        mounting and unmounting
 */
#pragma once

#include "kernel/ext2/ext2.h"

void remote_init(void);

/* Wait no more for the server of a mount, if the inode is the root of one: from
 * now on its calls fail with ESTALE, and dirty blocks are dropped. Waits until
 * no call is under way. */
void remote_give_up(struct inode *root);

/* The source of the mount that has this disk, as the mount command named it. */
const char *remote_source(const struct disk *);

/* Mount HOST:/DIRECTORY or HOST:PORT:/DIRECTORY at a directory (referenced,
 * unlocked; consumed on success). PORT has MOUNT and NFS; without it the port
 * mapper says where they are. CONSISTENCY@ may stand before HOST; nfs is the
 * default. 0 or -errno: -EINVAL, -ENXIO without a network, -ENODEV if the
 * server has no such consistency, -ETIMEDOUT, or the server's error. */
int remote_mount(const char *source, struct inode *on, u64 flags);
