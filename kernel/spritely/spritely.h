/*
 * Spritely NFS (Srinivasan and Mogul, "Spritely NFS: Experiments with
 * Cache-Consistency Protocols", SOSP 1989), version 1, as this kernel speaks
 * it: a program beside NFS, by which a server knows which client has which file
 * open.
 *
 * - A room that a reader can leave closed: it registers itself with the server
 *   (PROGRAM) and with the client (CONSISTENCY).
 * - The calls have the paper's names, and a layout of our own. A client is a
 *   u64 that differs with each boot, and the port of its callbacks.
 *
 *     PING   client -> status, epoch (u64), known (bool)
 *     OPEN   handle, client, readers, writers, how, cached (bool),
 *            dirty (bool), version (u64)
 *            -> status, epoch, stamp (u64), cachable (bool), version,
 *            previous version, post_op_attr
 *     CLOSE  handle, client, readers, writers, dirty -> status
 *     RECALL handle, stamp, invalidate (bool) -> enum recalled
 *
 * - readers and writers are how often the client has the file open from now
 *   on.
 *
 *   server.c    the server's table of states
 *   recall.c    the server calls a client
 *   client.c    the client: open, close, and the server's epoch
 *   callback.c  the client answers the server's calls
 */
#pragma once

#include "kernel/base/units.h"

/* Program numbers that are not registered (RFC 5531). */
#define SPRITELY_PROGRAM 0x20000199
#define CALLBACK_PROGRAM 0x2000019a

enum { SPRITELY_PING = 1, SPRITELY_OPEN, SPRITELY_CLOSE };
enum { CALLBACK_RECALL = 1 };
enum spritely_how { OPEN_READ, OPEN_WRITE, OPEN_RECLAIM };
enum recalled { RECALL_DONE, RECALL_WORKING };

#define SPRITELY_PING_NS  (5 * NS_PER_S) /* a client says that it is there */
#define SPRITELY_GRACE_NS (4 * SPRITELY_PING_NS)
