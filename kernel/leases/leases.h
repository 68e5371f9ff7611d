/*
 * Leases, in the manner of NQNFS (Macklem, "Not Quite NFS, Soft Cache
 * Consistency for NFS", USENIX Winter 1994, after Gray and Cheriton, SOSP
 * 1989), version 1, as this kernel speaks them: a program beside NFS, by which
 * a server lets clients cache a file for a term.
 *
 * - A room that a reader can leave closed: it registers itself with the server
 *   (PROGRAM) and with the client (CONSISTENCY).
 * - A lease is for one file. A read lease allows clean blocks, a write lease
 *   also dirty ones. Many clients have a read lease, or one has a write lease.
 *   A client without a lease moves bytes past its cache.
 * - Clocks need not agree. The client counts the term from before its call,
 *   the server from its grant, and the server adds LEASE_SKEW_NS, as clocks run
 *   at different speeds. After a write lease it also adds LEASE_SLACK_NS, in
 *   which the client's last WRITEs may come.
 * - A server that starts again knows no lease, and needs to know none: it waits
 *   until all must be over (LEASE_GRACE_NS).
 * - The calls have the paper's names, and a layout of our own. A client is its
 *   host and the port to which notices go.
 *
 *     GETLEASE handle, port, enum lease, write (bool)
 *              -> status, stamp (u64), term in ms (0: no lease), version,
 *              previous version (u64), post_op_attr
 *     VACATED  handle, port, stamp -> status
 *     EVICTED  handle, stamp: a notice, without a reply
 *
 * - GETLEASE of NO_LEASE evicts the client that has a write lease or, with
 *   `write`, all clients. Clients call it before a transfer past their cache.
 *
 *   server.c   the server's table of leases
 *   client.c   the client: leases are got, renewed, and used while they last
 *   evicted.c  the client gives up a lease when the server asks for that
 */
#pragma once

#include "kernel/base/units.h"

/* Program numbers that are not registered (RFC 5531). */
#define LEASE_PROGRAM    0x2000019b
#define EVICTION_PROGRAM 0x2000019c

enum { LEASE_GET = 1, LEASE_VACATED };
enum { EVICTION_NOTICE = 1 };
enum lease { NO_LEASE, READ_LEASE, WRITE_LEASE };

/* The values of the first implementation, in 4.4BSD. */
#define LEASE_TERM_NS  (30 * NS_PER_S)
#define LEASE_SKEW_NS  (3 * NS_PER_S)
#define LEASE_SLACK_NS (5 * NS_PER_S)
#define LEASE_GRACE_NS (LEASE_TERM_NS + LEASE_SKEW_NS + LEASE_SLACK_NS)
