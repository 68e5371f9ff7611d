/*
 * Consistency of remote files, as a kind: what a client does so that it reads
 * what others have written. A mount names one (mount -o consistency=NAME), and
 * each registers itself: nfs.c, kernel/spritely/client.c,
 * kernel/leases/client.c.
 *
 * - The cached blocks of a file are right while it is open here, or they are
 *   not used: `past` (internal.h) says that bytes go past the cache.
 * - Functions that open and close are called for regular files only. For each
 *   open, failed or not, there is one close.
 */
#pragma once

#include "kernel/base/types.h"

struct inode;
struct mount;

struct consistency {
    const char *name;
    /* Begin with a mount whose server is known, or end with it. 0 or -errno;
     * -ENODEV: the server does not speak this. NULL: nothing is to be done. */
    int (*mounted)(struct mount *);
    void (*unmounted)(struct mount *);
    /* Open: 0 or -errno. The inode is locked; it may be unlocked meanwhile. */
    int (*open)(struct inode *, bool write);
    /* Close. The inode is not locked. The error is the program's. */
    int (*close)(struct inode *, bool write);
    /* At each lock of an inode: decide whether its file is `past`, and if it
     * is, ask for attributes. NULL: GETATTR does. */
    void (*locked)(struct inode *);
};

/* Register a consistency: the linker gathers them. */
#define CONSISTENCY(c)                                    \
    static const struct consistency *const c##_registered \
        __attribute__((used, section("consistencies"))) = &c
