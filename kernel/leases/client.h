/* Declarations that client.c and evicted.c share. */
#pragma once

#include "kernel/leases/leases.h"
#include "kernel/remote/internal.h"

/* A mount's state of leases, from its first mount with leases on. */
struct lessee {
    struct mount *mount;
    struct socket *socket; /* to which notices come, */
    u32 port;              /* ... and its port */
    u32 nprocesses;        /* that run */
    /* mount->lock */
    struct list due; /* files whose lease is to be given up */
    u32 asking;      /* processes */
    bool used;       /* mounted with leases */
    bool renewing, evicting;
};

extern bool leases_used; /* the counters are shown */

struct lessee *lessee_of(const struct mount *);

/* The file's inode while it is open here, which keeps it in memory; else NULL.
 */
struct inode *lease_inode(const struct file *);

/* Give up the lease of a file: write what is dirty, and drop all blocks. The
 * inode is locked, if the file is open. */
void lease_end(struct mount *, struct file *);

/* Begin a call of this program that is about a file. */
struct call *lease_call(struct lessee *, u32 procedure, const u8 *handle,
                        u32 bytes);

/* Processes: one gives up leases, the other receives notices. */
void evictor(void *lessee);
void notice_receiver(void *lessee);
