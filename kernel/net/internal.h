/*
 * What the files of this room share. From the wire up: ether.c, ip.c, socket.c.
 *
 * - net.lock guards all that the protocols keep. Functions here are called with
 *   it held, unless they say otherwise.
 */
#pragma once

#include "kernel/base/stat.h"
#include "kernel/base/string.h"
#include "kernel/driver/ethernet.h"
#include "kernel/measure/trace.h"
#include "kernel/net/net.h"
#include "kernel/proc/proc.h"
#include "kernel/proc/sleep.h"

#define DATAGRAM_MAX 16384 /* bytes of an IP datagram's payload, at most */
#define DATAGRAMS    64    /* in the whole kernel */
#define BROADCAST    0xffffffff

#define TYPE_IP  0x0800
#define TYPE_ARP 0x0806

/* RFC 791. */
struct ip {
    u8 version_words; /* 4 and the header's length in words */
    u8 service;
    u16 bytes, id, fragment;
    u8 hops, protocol;
    u16 checksum;
    u32 from, to;
} __attribute__((packed));

#define PROTOCOL_ICMP 1
#define ECHO_ANSWER   0 /* types of ICMP */
#define ECHO_ASK      8
#define PROTOCOL_UDP  17

/*
 * A datagram without its IP header. It goes: free - being put together, if it
 * comes in fragments - in a socket's queue - free.
 */
struct datagram {
    struct list link;
    u32 from, to;
    u16 id, port;
    u8 protocol;
    u32 start, bytes; /* what a program gets: bytes of data from start on; of
                         fragments 0, until the last one has come */
    u32 end;          /* of fragments: up to where bytes have come */
    u32 missing;      /* of fragments: bytes that have not come */
    u64 since_ns;     /* of fragments: when the first came */
    u64 have[DATAGRAM_MAX / 8 / 64]; /* of fragments: a bit for 8 bytes */
    u8 data[DATAGRAM_MAX];
};

extern struct net {
    struct spinlock lock;
    bool up;
    u8 mac[MAC_BYTES];
} net;

/* Count a packet: net.damaged, net.dropped. */
void net_damaged(void);
void net_dropped(void);

/* ---- ether.c ---- */

/* Serve a frame that has come. Takes net.lock. */
void ether_receive(const void *frame, u32 bytes);

/* Send head (with room for the Ethernet header) and body to a host, if its
 * hardware address is known; else ask for it. */
bool ether_send(u32 host, struct ethernet *head, u32 head_bytes,
                const void *body, u32 bytes);

/* Sleep until the hardware address is known: 0, -EHOSTUNREACH or -EINTR. */
int ether_resolve(u32 host);

/* ---- ip.c ---- */

void ip_init(void);
void ip_receive(const void *packet, u32 bytes);

/* Send a datagram's payload, in fragments if it is long. False if a frame
 * found no room or the hardware address is not known. */
bool ip_send(u32 to, u8 protocol, const void *data, u32 bytes);

/* The Internet checksum (RFC 1071) goes on from `sum` over these bytes;
 * checksum_end folds it. A correct one ends as 0. */
u32 checksum(u32 sum, const void *data, u32 bytes);
u16 checksum_end(u32 sum);

struct datagram *datagram_get(void); /* NULL: none is free */
void datagram_put(struct datagram *);

/* ---- socket.c ---- */

/* Deliver a whole datagram. From here on it belongs to the callee. */
void socket_deliver(struct datagram *);
