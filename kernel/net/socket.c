/*
 * Sockets: datagrams of UDP (RFC 768) and of ICMP echo, for programs.
 *
 * - A socket is free while its kind is 0. net.lock guards all of them.
 * - A program's address is a host and a port. Of an echo socket the port is the
 *   request's identifier, and in an address its sequence number.
 * - The receiver takes a datagram off the queue, and copies it with no lock
 *   held.
 */
#include "kernel/net/internal.h"

#define SOCKETS    32
#define QUEUED     16    /* datagrams that wait in a socket, at most */
#define FIRST_FREE 49152 /* ports that nobody asked for (RFC 6335) */
#define HEAD_BYTES 8     /* of UDP, and of an ICMP echo */

struct socket {
    u32 kind; /* SOCKET_..., 0: free */
    u16 port;
    u32 nqueued;
    struct list queue;
};

static struct socket sockets[SOCKETS]; /* net.lock */
static u16 next_port = FIRST_FREE;

struct udp {
    u16 from, to, bytes, checksum;
} __attribute__((packed));

struct echo {
    u8 type, code;
    u16 checksum, id, sequence;
} __attribute__((packed));

/* Return the socket of this kind on this port, or NULL. Kind 0: any free
 * one. */
static struct socket *find(u32 kind, u16 port)
{
    for (struct socket *s = sockets; s < sockets + SOCKETS; s++)
        if (s->kind == kind && (!kind || s->port == port))
            return s;
    return NULL;
}

/* Return a port that no socket of this kind has. */
static u16 any_port(u32 kind)
{
    while (next_port < FIRST_FREE || find(kind, next_port))
        next_port = MAX(next_port + 1, FIRST_FREE);
    return next_port++;
}

/* Open a socket; port 0: on any free one. Return 0 or an error. */
int socket_open(u64 kind, u64 port, struct socket **out)
{
    if ((kind != SOCKET_UDP && kind != SOCKET_ECHO) || port > UINT16_MAX)
        return -EINVAL;
    if (!net.up)
        return -ENXIO;
    HOLD(spin, &net.lock);
    struct socket *s = find(0, 0);
    if (!s)
        return -ENFILE;
    if (port && find(kind, port))
        return -EADDRINUSE;
    s->port = port ? port : any_port(kind);
    s->kind = kind;
    s->nqueued = 0;
    list_init(&s->queue);
    *out = s;
    return 0;
}

/* Close a socket, and drop what is queued. */
void socket_close(struct socket *s)
{
    HOLD(spin, &net.lock);
    while (!list_empty(&s->queue))
        datagram_put(
            LIST_ITEM(list_pop_front(&s->queue), struct datagram, link));
    s->kind = 0;
}

/* ---- sending ---- */

/* Return the sum of what UDP's checksum covers besides: the addresses, the
 * protocol and the length. */
static u32 pseudo(u32 from, u32 to, u32 bytes)
{
    u32 words[] = {net32(from), net32(to), net16(PROTOCOL_UDP), net16(bytes)};
    return checksum(0, words, sizeof words); /* its zeros add nothing */
}

/* Put the head before the data, with its checksum over both. */
static void put_head(const struct socket *s, struct net_address to,
                     struct datagram *d, u32 bytes)
{
    if (s->kind == SOCKET_ECHO) {
        struct echo e = {ECHO_ASK, 0, 0, net16(s->port), net16(to.port)};
        memcpy(d->data, &e, sizeof e);
        e.checksum = checksum_end(checksum(0, d->data, bytes));
        memcpy(d->data, &e, sizeof e);
        return;
    }
    struct udp u = {net16(s->port), net16(to.port), net16(bytes), 0};
    memcpy(d->data, &u, sizeof u);
    u32 sum = checksum(pseudo(net_host, to.host, bytes), d->data, bytes);
    u.checksum = checksum_end(sum) ?: 0xffff; /* 0: there is none */
    memcpy(d->data, &u, sizeof u);
}

/* Send a datagram. Return its length, even if it was dropped on the way, or an
 * error. */
i64 socket_send(struct socket *s, struct net_address to, struct uio *u)
{
    u64 bytes = u->left;
    if (bytes > DATAGRAM_MAX - HEAD_BYTES)
        return -EMSGSIZE;
    spin_lock(&net.lock);
    struct datagram *d = datagram_get();
    spin_unlock(&net.lock);
    if (!d)
        return -ENOMEM;
    i64 result = uio_move(d->data + HEAD_BYTES, bytes, u);
    HOLD(spin, &net.lock);
    trace(TRACE_sent, 0, *(u64 *)(d->data + HEAD_BYTES), myproc()->pid, bytes);
    result = result ?: ether_resolve(to.host);
    if (!result) {
        put_head(s, to, d, HEAD_BYTES + bytes);
        u8 protocol = s->kind == SOCKET_UDP ? PROTOCOL_UDP : PROTOCOL_ICMP;
        charge_bytes(COST_sent_kb, HEAD_BYTES + bytes);
        ip_send(to.host, protocol, d->data, HEAD_BYTES + bytes);
        result = bytes; /* if there was no room, it is as lost on the way */
    }
    datagram_put(d);
    return result;
}

/* ---- receiving ---- */

/* True if a UDP datagram has a wrong length or checksum. Cuts the datagram to
 * the length in its head. A checksum of 0 means that there is none. */
static bool is_damaged(struct datagram *d, const struct udp *u)
{
    u32 bytes = net16(u->bytes);
    if (d->bytes < HEAD_BYTES || bytes < HEAD_BYTES || bytes > d->bytes)
        return true;
    d->bytes = bytes;
    return u->checksum && checksum_end(checksum(pseudo(d->from, d->to, bytes),
                                                d->data, bytes));
}

/* Queue a datagram at its socket. It is dropped if there is none, or the queue
 * is full. */
void socket_deliver(struct datagram *d)
{
    const struct udp *u = (const void *)d->data;
    const struct echo *e = (const void *)d->data;
    bool udp = d->protocol == PROTOCOL_UDP;
    bool answer = d->protocol == PROTOCOL_ICMP && e->type == ECHO_ANSWER;
    struct socket *s = udp      ? find(SOCKET_UDP, net16(u->to))
                       : answer ? find(SOCKET_ECHO, net16(e->id))
                                : NULL;
    bool damaged = udp && is_damaged(d, u);
    if (damaged || !s || s->nqueued == QUEUED) {
        damaged ? net_damaged() : net_dropped();
        datagram_put(d);
        return;
    }
    d->start = HEAD_BYTES;
    d->bytes -= HEAD_BYTES;
    d->port = net16(udp ? u->from : e->sequence);
    list_push_back(&s->queue, &d->link);
    s->nqueued++;
    wakeup(s);
}

/* Take the first datagram of the queue, waiting until the deadline (0: for
 * ever). */
static int take(struct socket *s, u64 deadline_ns, struct datagram **d)
{
    HOLD(spin, &net.lock);
    while (list_empty(&s->queue))
        TRY(sleep_until(s, &net.lock, deadline_ns));
    *d = LIST_ITEM(list_pop_front(&s->queue), struct datagram, link);
    s->nqueued--;
    return 0;
}

/* Receive a datagram. Return its number of bytes; those past the caller's
 * memory are lost. */
i64 socket_receive(struct socket *s, struct net_address *from, struct uio *u,
                   u64 deadline_ns)
{
    struct datagram *d = NULL;
    TRY(take(s, deadline_ns, &d));
    u64 n = MIN(u->left, d->bytes);
    trace(TRACE_received, 0, *(u64 *)(d->data + d->start), myproc()->pid, n);
    *from = (struct net_address){d->from, d->port};
    i64 error = uio_move(d->data + d->start, n, u);
    HOLD(spin, &net.lock);
    datagram_put(d);
    return error ?: (i64)n;
}
