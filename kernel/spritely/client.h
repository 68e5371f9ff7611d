/* What client.c and callback.c share. */
#pragma once

#include "kernel/remote/internal.h"
#include "kernel/spritely/spritely.h"

#define TRIES 5 /* of a call by mount */

/* The file's inode while it is open here, which keeps it in memory; else NULL.
 */
struct inode *spritely_inode(const struct file *);

/* Drop all blocks of a file. lost: the error for its next close, if dirty ones
 * were among them. The inode is locked, if the file is open. */
void spritely_drop(struct mount *, struct file *, int lost);

/* Open the socket to which the server calls, and start the processes that
 * answer, if they do not run yet. 0 or -errno. */
int callback_start(struct mount *);
