/*
 * IPv4 (RFC 791) with fragments, and ICMP echo (RFC 792).
 *
 * - A long datagram goes out in fragments. One that needs none says that it
 *   may not be cut, and then its identification means nothing (RFC 6864).
 * - Identifications count up from the time of day at the boot in ms. A
 *   fragmented datagram takes longer than 1 ms on a wire of 10 Mbit/s, so a
 *   machine that starts again goes on beyond those that it has used.
 * - At most PARTIAL datagrams are put together at once; another one replaces
 *   the oldest. One that is not whole after PARTIAL_NS is given up, when
 *   the next fragment comes. Of bytes that come twice, the first count.
 */
#include "kernel/net/internal.h"

#include "kernel/machine/mem.h"

#define HOPS       64
#define PARTIAL    8
#define PARTIAL_NS (30 * NS_PER_S) /* 4.3BSD's IPFRAGTTL, 60 half seconds */

#define MORE   0x2000 /* bits of ip.fragment */
#define WHOLE  0x4000
#define OFFSET 0x1fff /* in units of 8 bytes */

/* From here on addresses are those of many hosts, and no sender's: an answer
 * to one would go to all. */
#define MANY 0xe0000000

COUNTER_WITH(expired, "net.expired", "datagrams",
             "given up because fragments did not come", &net.up);

static struct list free, partial; /* net.lock: the oldest first */
static u32 npartial;
static u16 next_id;

/* ---- datagrams ---- */

/* Return a free datagram; NULL (counted as dropped) if there is none. */
struct datagram *datagram_get(void)
{
    struct datagram *d =
        ITEM_OR_NULL(list_pop_front(&free), struct datagram, link);
    if (!d)
        net_dropped();
    return d;
}

void datagram_put(struct datagram *d)
{
    list_push_back(&free, &d->link);
}

/* Add the data to a sum of 16-bit numbers. It does not matter in which order
 * their bytes are, if the result is stored in that order (RFC 1071, section 2).
 * An odd last byte counts as if a 0 came after it. */
u32 checksum(u32 sum, const void *data, u32 bytes)
{
    const u8 *p = data;
    for (u32 i = 0; i < bytes; i++)
        sum += i % 2 ? p[i] << 8 : p[i];
    return sum;
}

/* Add the carries above 16 bits to the sum, twice, because the first addition
 * may carry; then invert all bits (RFC 1071). */
u16 checksum_end(u32 sum)
{
    sum = (sum & 0xffff) + (sum >> 16);
    return ~(sum + (sum >> 16));
}

/* ---- sending ---- */

/* Send data to a host, in as many fragments as it takes. False if one was
 * dropped. All but the last have a multiple of 8 bytes, the unit of offsets. */
bool ip_send(u32 to, u8 protocol, const void *data, u32 bytes)
{
    struct {
        struct ethernet ethernet;
        struct ip ip;
    } __attribute__((packed)) head;
    u32 most = ROUND_DOWN(MTU - sizeof head.ip, 8);
    u16 id = bytes > most ? next_id++ : 0;
    bool sent = true;
    for (u32 at = 0; sent && at < bytes; at += most) {
        u32 piece = MIN(bytes - at, most);
        u16 fragment = at / 8 | (at + piece < bytes ? MORE : 0);
        head.ip =
            (struct ip){.version_words = 0x45,
                        .bytes = net16(sizeof head.ip + piece),
                        .id = net16(id),
                        .fragment = net16(bytes > most ? fragment : WHOLE),
                        .hops = HOPS,
                        .protocol = protocol,
                        .from = net32(net_host),
                        .to = net32(to)};
        head.ip.checksum = checksum_end(checksum(0, &head.ip, sizeof head.ip));
        sent = ether_send(to, &head.ethernet, sizeof head,
                          (const u8 *)data + at, piece);
    }
    return sent;
}

/* ---- receiving ---- */

/* Send an echo request back as the reply; give anything else to a socket. */
static void deliver(struct datagram *d)
{
    bool icmp = d->protocol == PROTOCOL_ICMP;
    if (icmp &&
        (d->bytes < 8 || checksum_end(checksum(0, d->data, d->bytes)))) {
        net_damaged();
        datagram_put(d);
    } else if (!icmp || d->data[0] != ECHO_ASK || d->to != net_host) {
        socket_deliver(d);
    } else {
        memset(d->data, 0, 4); /* ECHO_ANSWER, and no checksum yet */
        u16 sum = checksum_end(checksum(0, d->data, d->bytes));
        memcpy(d->data + 2, &sum, sizeof sum);
        ip_send(d->from, PROTOCOL_ICMP, d->data, d->bytes);
        datagram_put(d);
    }
}

/* Give up a datagram that is not whole yet. */
static void give_up(struct datagram *d)
{
    list_remove(&d->link);
    npartial--;
    datagram_put(d);
    count(&expired, 1);
}

/* Set whose datagram it is. */
static void name(struct datagram *d, const struct ip *ip)
{
    d->from = net32(ip->from);
    d->to = net32(ip->to);
    d->protocol = ip->protocol;
}

/* Return the datagram that a fragment belongs to, new if it is the first; or
 * NULL. */
static struct datagram *whose(const struct ip *ip)
{
    u64 now_ns = clock_ns();
    struct list *next;
    for (struct list *n = partial.next; n != &partial; n = next) {
        next = n->next;
        struct datagram *d = LIST_ITEM(n, struct datagram, link);
        if (now_ns - d->since_ns >= PARTIAL_NS)
            give_up(d);
        else if (d->id == ip->id && d->from == net32(ip->from) &&
                 d->to == net32(ip->to) && d->protocol == ip->protocol)
            return d;
    }
    if (npartial == PARTIAL)
        give_up(LIST_ITEM(partial.next, struct datagram, link));
    struct datagram *d = datagram_get();
    if (!d)
        return NULL;
    name(d, ip);
    d->id = ip->id;
    d->since_ns = now_ns;
    d->bytes = d->end = 0;
    d->missing = DATAGRAM_MAX;
    memset(d->have, 0, sizeof d->have);
    list_push_back(&partial, &d->link);
    npartial++;
    return d;
}

/* Put these bytes in, those that have not come yet. d->have has a bit for each
 * unit of 8 bytes: fragments begin at multiples of 8. */
static void put_in(struct datagram *d, u32 at, const u8 *data, u32 bytes)
{
    charge_bytes(COST_joined_kb, bytes);
    for (u32 i = 0; i < bytes; i += 8) {
        u32 unit = (at + i) / 8, piece = MIN(bytes - i, 8);
        if (d->have[unit / 64] >> unit % 64 & 1)
            continue;
        d->have[unit / 64] |= 1UL << unit % 64;
        memcpy(d->data + at + i, data + i, piece);
        d->missing -= 8;
    }
}

/* Add a fragment, which has been checked. Return its datagram if that is
 * whole. */
static struct datagram *fragment(const struct ip *ip, const u8 *data, u32 at,
                                 u32 bytes, bool last)
{
    struct datagram *d = whose(ip);
    if (!d)
        return NULL;
    u32 end = at + bytes;
    if ((d->bytes && end > d->bytes) || (last && end < d->end)) {
        net_damaged();
        give_up(d);
        return NULL;
    }
    d->end = MAX(d->end, end);
    if (last)
        d->bytes = end;
    put_in(d, at, data, bytes);
    if (!d->bytes || d->missing != DATAGRAM_MAX - ROUND_UP(d->bytes, 8))
        return NULL;
    list_remove(&d->link);
    npartial--;
    return d;
}

/* Return a datagram that came in one packet, or NULL if none is free. */
static struct datagram *whole(const struct ip *ip, const u8 *data, u32 bytes)
{
    struct datagram *d = datagram_get();
    if (!d)
        return NULL;
    name(d, ip);
    d->bytes = bytes;
    memcpy(d->data, data, bytes);
    return d;
}

/* Take a packet: check it, put fragments together, and deliver what is
 * whole. */
void ip_receive(const void *packet, u32 bytes)
{
    const struct ip *ip = packet;
    /* The head has a length of its own, in words; `all` is head and data. */
    u32 head = bytes < sizeof *ip ? 0 : (ip->version_words & 15) * 4;
    u32 all = bytes < sizeof *ip ? 0 : net16(ip->bytes);
    if (head < sizeof *ip || ip->version_words >> 4 != 4 || all <= head ||
        all > bytes || checksum_end(checksum(0, ip, head))) {
        net_damaged();
        return;
    }
    u32 from = net32(ip->from), to = net32(ip->to),
        at = (net16(ip->fragment) & OFFSET) * 8;
    bool more = net16(ip->fragment) & MORE;
    if (to != net_host && to != BROADCAST)
        return;
    const u8 *data = (const u8 *)packet + head;
    u32 n = all - head;
    /* Only the last fragment may end between two units of 8 bytes. */
    if (at + n > DATAGRAM_MAX || (more && n % 8) || !from || from >= MANY) {
        net_damaged();
        return;
    }
    struct datagram *d =
        at || more ? fragment(ip, data, at, n, !more) : whole(ip, data, n);
    if (d)
        deliver(d);
}

/* At boot: set the memory of all datagrams aside. */
void ip_init(void)
{
    struct datagram *all = mem_reserve(DATAGRAMS * sizeof *all);
    if (!all)
        panic("net: no memory for datagrams");
    list_init(&free);
    list_init(&partial);
    for (u32 i = 0; i < DATAGRAMS; i++)
        datagram_put(&all[i]);
    next_id = clock_wall_ns() / NS_PER_MS;
}
