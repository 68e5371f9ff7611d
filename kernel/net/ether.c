/*
 * Ethernet frames, and ARP (RFC 826): which hardware address a host has.
 *
 * - All hosts are on the one network; there is no router.
 * - An entry lives 20 minutes from its last packet, as in 4.3BSD (netinet/
 *   if_ether.c, ARPT_KEEP). A full table gives up the oldest.
 * - A host learns from packets that are for it, as RFC 826 says. So an answer
 *   to who asked needs no question.
 */
#include "kernel/net/internal.h"

#include "kernel/driver/virtio_net.h"
#include "kernel/link/link.h"
#include "kernel/machine/args.h"

#define NEIGHBOURS 16
#define KEPT_NS    (20 * 60 * NS_PER_S)
#define ASKED      3 /* times, before a host counts as unreachable */
#define ASK_NS     NS_PER_S

struct net net;
u32 net_host;

COUNTER_WITH(received, "net.received", "frames", "came", &net.up);
COUNTER_WITH(sent, "net.sent", "frames", "given to the device or the link",
             &net.up);
COUNTER_WITH(damaged, "net.damaged", "packets",
             "malformed, or with a wrong checksum", &net.up);
COUNTER_WITH(dropped, "net.dropped", "packets",
             "without room, a socket or a known address", &net.up);

void net_damaged(void)
{
    count(&damaged, 1);
}

void net_dropped(void)
{
    count(&dropped, 1);
}

static struct neighbour {
    u32 host; /* 0: free */
    u8 mac[MAC_BYTES];
    u64 until_ns;
} neighbours[NEIGHBOURS]; /* net.lock */

struct arp {
    u8 kind[6]; /* the two kinds of address, and the bytes that each has */
    u16 operation;
    u8 from_mac[MAC_BYTES];
    u32 from;
    u8 to_mac[MAC_BYTES];
    u32 to;
} __attribute__((packed));

enum { ARP_ASK = 1, ARP_ANSWER };

static const u8 ethernet_and_ip[] = {0, 1, 8, 0, MAC_BYTES, 4};
static const u8 everyone[MAC_BYTES] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

/* Send a frame by the link. True if it will arrive; false if it is dropped. */
static bool put(const u8 *mac, u16 type, struct ethernet *head, u32 head_bytes,
                const void *body, u32 bytes)
{
    memcpy(head->to, mac, MAC_BYTES);
    memcpy(head->from, net.mac, MAC_BYTES);
    head->type = net16(type);
    u64 arrives_ns = link_send(head, head_bytes, body, bytes);
    trace(TRACE_framed, 0, head_bytes + bytes, myproc()->pid, arrives_ns);
    count(arrives_ns ? &sent : &dropped, 1);
    return arrives_ns;
}

/* ---- ARP ---- */

/* Return the hardware address of a host, or NULL if it is not known. */
static const u8 *find(u32 host)
{
    if (host == BROADCAST)
        return everyone;
    for (u32 i = 0; i < NEIGHBOURS; i++)
        if (neighbours[i].host == host && neighbours[i].until_ns > clock_ns())
            return neighbours[i].mac;
    return NULL;
}

/* Note a host's address, over the oldest entry if it has none, and wake those
 * who asked. */
static void learn(u32 host, const u8 *mac)
{
    struct neighbour *n = neighbours;
    for (u32 i = 0; i < NEIGHBOURS && n->host != host; i++)
        if (neighbours[i].host == host || neighbours[i].until_ns < n->until_ns)
            n = &neighbours[i];
    n->host = host;
    n->until_ns = clock_ns() + KEPT_NS;
    memcpy(n->mac, mac, MAC_BYTES);
    wakeup(neighbours);
}

/* Send an ARP packet about a host: a question to all, or an answer to it. */
static void say(u16 operation, const u8 *mac, u32 host)
{
    struct ethernet head;
    struct arp a = {.operation = net16(operation),
                    .from = net32(net_host),
                    .to = net32(host)};
    memcpy(a.kind, ethernet_and_ip, sizeof a.kind);
    memcpy(a.from_mac, net.mac, MAC_BYTES);
    if (operation == ARP_ANSWER)
        memcpy(a.to_mac, mac, MAC_BYTES);
    put(mac, TYPE_ARP, &head, sizeof head, &a, sizeof a);
}

/* Learn from an ARP packet that is for this host, and answer a question. */
static void arp_receive(const struct arp *a, u32 bytes)
{
    u16 operation = bytes < sizeof *a ? 0 : net16(a->operation);
    if ((operation != ARP_ASK && operation != ARP_ANSWER) ||
        memcmp(a->kind, ethernet_and_ip, sizeof a->kind) ||
        (a->from_mac[0] & 1)) { /* an address of many */
        net_damaged();
        return;
    }
    u32 from = net32(a->from);
    if (net32(a->to) != net_host || from == 0 || from == BROADCAST ||
        from == net_host)
        return;
    learn(from, a->from_mac);
    if (operation == ARP_ASK)
        say(ARP_ANSWER, a->from_mac, from);
}

/* Return 0 once the host's address is known. It is asked for ASKED times,
 * ASK_NS apart; then -EHOSTUNREACH. May sleep. */
int ether_resolve(u32 host)
{
    for (u32 i = 0; i < ASKED; i++) {
        if (find(host))
            return 0;
        say(ARP_ASK, everyone, host);
        u64 until_ns = clock_ns() + ASK_NS;
        while (!find(host)) {
            int error = sleep_until(neighbours, &net.lock, until_ns);
            if (error == -ETIMEDOUT)
                break;
            TRY(error);
        }
    }
    return find(host) ? 0 : -EHOSTUNREACH;
}

/* ---- frames ---- */

/* Send an IP packet to a host whose address is known. False if it was
 * dropped. */
bool ether_send(u32 host, struct ethernet *head, u32 head_bytes,
                const void *body, u32 bytes)
{
    const u8 *mac = find(host);
    if (mac)
        return put(mac, TYPE_IP, head, head_bytes, body, bytes);
    net_dropped();
    return false;
}

/* Take a frame that has come: its packet goes to IP or ARP. */
void ether_receive(const void *frame, u32 bytes)
{
    const struct ethernet *e = frame;
    HOLD(spin, &net.lock);
    count(&received, 1);
    charge(COST_frame, 1);
    if (bytes < sizeof *e) {
        net_damaged();
        return;
    }
    if (memcmp(e->to, net.mac, MAC_BYTES) && memcmp(e->to, everyone, MAC_BYTES))
        return;
    u32 left = MIN(bytes - sizeof *e, MTU);
    if (e->type == net16(TYPE_IP))
        ip_receive(e + 1, left);
    else if (e->type == net16(TYPE_ARP))
        arp_receive((const void *)(e + 1), left);
}

/* ---- set-up ---- */

void net_probe(void)
{
    net.up = nic_probe(net.mac);
}

/* Take all frames that the device has, by interrupt. */
static void arrived(void)
{
    u32 bytes;
    for (struct nic_buffer *b; (b = nic_take(&bytes)); nic_give(b))
        ether_receive(b->data, MIN(bytes, sizeof b->data));
}

/* The address is 10.0.0.N, and N is the last byte of the hardware's, unless the
 * boot arguments say another. */
void net_init(void)
{
    link_init(net.up ? net.mac : NULL);
    if (!net.up)
        return; /* then net_address is an unknown argument */
    net.lock = SPINLOCK("net", RANK_NET);
    net_host = arg_text("net_address") ? arg_host("net_address")
                                       : 0x0a000000U + net.mac[5];
    ip_init();
}

/* Begin to receive: by the link of the model, or by the device alone. */
void net_start(void)
{
    if (net.up && !link_start(ether_receive))
        nic_start(arrived);
}
