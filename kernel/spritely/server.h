/* What server.c and recall.c share. */
#pragma once

#include "kernel/nfs/internal.h"
#include "kernel/spritely/spritely.h"

/* Have a client write back the file's blocks, and drop them if `invalidate`.
 * Sleeps until that is done: 0; -ETIMEDOUT: nobody answers there; -EINTR. */
struct recall {
    struct net_address client;
    u32 ino, generation;
    u64 stamp;
    bool invalidate;
};
int recall_file(const struct recall *);
