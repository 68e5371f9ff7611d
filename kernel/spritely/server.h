/* Declarations that server.c and recall.c share. */
#pragma once

#include "kernel/nfs/internal.h"
#include "kernel/spritely/spritely.h"

/* Ask a client to write back the file's blocks, and to drop them if
 * `invalidate`. Sleeps until the client has done so: 0; -ETIMEDOUT: the client
 * does not answer; -EINTR. */
struct recall {
    struct net_address client;
    u32 ino, generation;
    u64 stamp;
    bool invalidate;
};
int recall_file(const struct recall *);
