/*
 * The network: Ethernet, ARP, IPv4 and UDP over one virtio device.
 *
 * - A room that a reader can leave closed. Without a network device nothing
 *   here runs, and every call on a socket fails with ENXIO.
 * - A socket is a queue of whole datagrams, each with its sender's address. One
 *   of SOCKET_UDP has a port. One of SOCKET_ECHO sends ICMP echo requests
 *   and receives the replies.
 * - All memory is set aside when the device is found: DATAGRAMS of
 *   DATAGRAM_MAX bytes. What finds no room is dropped and counted, as is
 *   everything that is malformed.
 * - In live mode frames go out at once, and interrupts bring them in. In
 *   virtual time they take the link of a model (link.h).
 */
#pragma once

#include "kernel/base/abi.h"
#include "kernel/proc/uio.h"

struct socket;

extern u32 net_host; /* this machine's address */

/* Find the device. Before clock_init, as virtio_blk_probe. */
void net_probe(void);

/* Read the boot arguments. Ends the machine if they ask for what is not there.
 */
void net_init(void);

/* Begin to send and receive; in virtual time, wait with the clock stopped for
 * all other machines. May sleep. */
void net_start(void);

/* kind: SOCKET_UDP or SOCKET_ECHO; port 0: any free port. */
int socket_open(u64 kind, u64 port, struct socket **);
void socket_close(struct socket *);

/* Send the uio's bytes as one datagram. May sleep for the receiver's hardware
 * address. The number of bytes; or -EMSGSIZE, -EHOSTUNREACH, -ENOMEM, -EINTR,
 * -EFAULT. */
i64 socket_send(struct socket *, struct net_address to, struct uio *);

/* Wait for a datagram until deadline_ns (0: for ever), and move what fits of it
 * to the uio. The number of bytes moved; or -ETIMEDOUT, -EINTR, -EFAULT. */
i64 socket_receive(struct socket *, struct net_address *from, struct uio *,
                   u64 deadline_ns);
