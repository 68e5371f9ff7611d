/* Declarations that client.c and callback.c share. */
#pragma once

#include "kernel/remote/internal.h"
#include "kernel/spritely/spritely.h"

/* The file's inode while it is open here, which keeps it in memory; else NULL.
 */
struct inode *spritely_inode(const struct file *);

/* Drop all blocks of a file. lost: the error for its next close, if dirty ones
 * were among them. The inode is locked, if the file is open. */
void spritely_drop(struct mount *, struct file *, int lost);

/* Open the socket to which the server calls. 0 or -errno. */
int callback_open(struct mount *);
/* Processes of a mount: the one recalls files, the other answers the server. */
void recaller(void *mount);
void receiver(void *mount);
