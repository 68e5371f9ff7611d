/*
 * The Network File System, version 3 (RFC 1813), over ONC RPC (RFC 5531), XDR
 * (RFC 4506) and UDP: the server.
 *
 * - A room that a reader can leave closed. Until a process serves, nothing here
 *   runs, takes more memory, or shows in /dev/stat.
 * - Processes serve: nfsd (user/bin) opens sockets, forks, and each
 *   process calls nfssvc, which returns only when it is killed. This is the
 *   design of 4.3BSD-Reno. The processes are the server's parallelism: while
 *   one waits for a disk, another answers. So a program chooses their number
 *   and the ports, and kill, ps and /dev/proc work as for any other. Kernel
 *   threads would need boot arguments for that, and a server in user memory
 *   would copy each block twice.
 * - Any of the sockets answers three programs: the port mapper (version 2,
 *   port 111), MOUNT (version 3) and NFS (version 3), both by port 2049.
 * - One directory is exported, with what is below it in its file system. A file
 *   system that is mounted below is not seen.
 * - A file's handle holds its inode's number and generation. Once the file has
 *   no names, the answer is STALE. As with all servers of that time, whoever
 *   guesses a handle may use it, and an export of a directory does not hide
 *   the rest of its file system from a guess.
 * - There are no users: all credentials are accepted, all files are root's.
 * - A change of names or attributes is on the disk, as fsync means it, before
 *   the answer goes. So is a WRITE if the client wants it; an unstable one is a
 *   delayed write until COMMIT. The write verifier is the wall clock at the
 *   server's start, in ns, with the number of mounts that the disk has seen:
 *   two boots in virtual time may be at one time.
 * - A call that must not be done twice is remembered with its answer
 *   (replies.c). A repeated call gets the same answer, or none while the first
 *   one is being served.
 * - Attributes before a change are given where the inode is locked all the time
 *   (SETATTR, WRITE, COMMIT). A directory's are left out, as RFC 1813 allows:
 *   ext2 locks it for itself, and a wrong answer would hide another's change.
 * - A packet that is too damaged to be answered is dropped, and counted as
 *   nfs.damaged. So are arguments that cannot be decoded: GARBAGE_ARGS.
 */
#pragma once

#include "kernel/net/net.h"

void nfs_init(void);

/* Serve the directory at the socket until the process is killed. -EINTR then;
 * -EBUSY if another directory is served; -ENOTDIR ... */
int nfs_serve(struct socket *, const char *path);
