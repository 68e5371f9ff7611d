/*
 * The network protocols on the host: damaged and hostile packets are counted,
 * cost no memory for good, and say nothing that was not sent.
 *
 * - What the protocols send is kept as the last frame; a reply to a packet of
 *   the test comes back into it by hand.
 * - A test ends with all_is_free: no datagram was lost.
 * - This host is 10.0.0.1 (SELF); packets come from 10.0.0.2 (OTHER), and a
 *   socket listens at PORT. Memory is full of 0xa5 when it is reserved: a
 *   byte 0xa5 in what is sent or read was never written.
 * - head_comes and fragment_comes have the fragments of a datagram come: the
 *   first one, with the head of UDP, and one at 8 times `at` bytes.
 *
 * link: kernel/net/ether.c kernel/net/ip.c kernel/net/socket.c
 * link: tests/support/native/main.c
 */
#include <stdarg.h>

#include "tests/support/native/test.h"
#include "kernel/driver/virtio_net.h"
#include "kernel/link/link.h"
#include "kernel/machine/args.h"
#include "kernel/machine/mem.h"
#include "kernel/machine/print.h"
#include "kernel/net/internal.h"

#define SELF  0x0a000001
#define OTHER 0x0a000002
#define PORT  2049
#define FUZZ  200000 /* packets */

/* ---- what the protocols call ---- */

static u64 now_ns = NS_PER_S;
static u32 nsent, last_bytes, held;
static u64 arrives_ns = SENT; /* what the link says of a frame */
static u8 last[2048];

u64 clock_ns(void)
{
    return now_ns;
}

u64 clock_wall_ns(void)
{
    return now_ns;
}

void spin_lock(struct spinlock *lock)
{
    (void)lock;
    check_eq(held++, 0);
}

void spin_unlock(struct spinlock *lock)
{
    (void)lock;
    check_eq(held--, 1);
}

/* Nobody else runs: whoever waits waits until its time. */
int sleep_until(const void *chan, struct spinlock *lock, u64 deadline_ns)
{
    (void)chan, (void)lock;
    check(deadline_ns);
    now_ns = MAX(now_ns, deadline_ns);
    return -ETIMEDOUT;
}

void wakeup(const void *chan)
{
    (void)chan;
}

int uio_move(void *data, u64 n, struct uio *u)
{
    check_eq(held, 0);
    if (u->write)
        memcpy(data, (void *)u->addr, n);
    else
        memcpy((void *)u->addr, data, n);
    return 0;
}

/* Return memory that is full of 0xa5. */
void *mem_reserve(u64 bytes)
{
    void *memory = malloc(bytes);
    memset(memory, 0xa5, bytes); /* the secret that nobody may get */
    return memory;
}

void panic(const char *fmt, ...)
{
    va_list list;
    va_start(list, fmt);
    vprintf(fmt, list);
    va_end(list);
    exit(1);
}

const char *arg_text(const char *name)
{
    (void)name;
    return NULL;
}

u32 arg_host(const char *name)
{
    (void)name;
    return 0;
}

bool nic_probe(u8 mac[MAC_BYTES])
{
    memcpy(mac, "\x52\x54\x00\x00\x00\x01", MAC_BYTES);
    return true;
}

void nic_start(void (*arrived)(void))
{
    (void)arrived;
}

struct nic_buffer *nic_take(u32 *bytes)
{
    (void)bytes;
    return NULL;
}

void nic_give(struct nic_buffer *b)
{
    (void)b;
}

void link_init(const u8 *mac)
{
    (void)mac;
}

bool link_start(void (*received)(const void *, u32))
{
    (void)received;
    return false;
}

void link_end(void)
{
}

/* Keep a frame that the protocols send. */
u64 link_send(const void *head, u32 head_bytes, const void *body, u32 bytes)
{
    check(head_bytes + bytes <= sizeof(struct ethernet) + MTU);
    memcpy(last, head, head_bytes);
    memcpy(last + head_bytes, body, bytes);
    last_bytes = head_bytes + bytes;
    nsent++;
    return arrives_ns;
}

/* ---- the trace ---- */

static struct traced {
    enum trace_event event;
    u64 block, argument;
    u32 pid;
} traced[16];
static u32 ntraced;
bool trace_on;

/* Keep an event of the trace. */
void trace_write(enum trace_event event, u32 disk, u64 block, u32 pid,
                 u64 argument)
{
    check_eq(disk, 0);
    check(ntraced < NELEM(traced));
    traced[ntraced++] = (struct traced){event, block, argument, pid};
}

/* Return whether the i-th event is this one, of process 7. */
static bool is_traced(u32 i, enum trace_event event, u64 block, u64 argument)
{
    const struct traced *t = &traced[i];
    return i < ntraced && t->event == event && t->block == block &&
           t->argument == argument && t->pid == 7;
}

struct proc *myproc(void)
{
    static struct proc self = {.pid = 7};
    return &self;
}

/* ---- what tests say ---- */

extern struct stat_row __start_stats[], __stop_stats[];

/* Return a counter of /dev/stat. */
static u64 stat_of(const char *name)
{
    for (struct stat_row *s = __start_stats; s < __stop_stats; s++)
        if (!strcmp(s->name, name))
            return s->value;
    panic("there is no counter %s\n", name);
}

/* Start the network. */
static void boot(void)
{
    net_probe();
    net_init();
    check_eq(net_host, SELF);
}

/* Frames lie in memory of just their size, so that a look behind one is found.
 */
static void comes(u16 type, const void *payload, u32 bytes)
{
    struct ethernet head = {.from = "\x52\x54\x00\x00\x00\x02",
                            .type = net16(type)};
    memcpy(head.to, net.mac, MAC_BYTES);
    u8 *frame = malloc(sizeof head + bytes);
    memcpy(frame, &head, sizeof head);
    memcpy(frame + sizeof head, payload, bytes);
    ether_receive(frame, sizeof head + bytes);
    free(frame);
}

struct packet {
    struct ip ip;
    u8 data[MTU - sizeof(struct ip)];
} __attribute__((packed));

/* Make a packet of IP from OTHER to SELF. */
static void make(struct packet *p, u8 protocol, u32 bytes)
{
    p->ip = (struct ip){.version_words = 0x45,
                        .bytes = net16(sizeof p->ip + bytes),
                        .id = 7,
                        .hops = 1,
                        .protocol = protocol,
                        .from = net32(OTHER),
                        .to = net32(SELF)};
}

/* Set the packet's checksum. */
static void sum_up(struct packet *p)
{
    p->ip.checksum = 0;
    p->ip.checksum = checksum_end(checksum(0, &p->ip, sizeof p->ip));
}

/* Have a packet come, with a right checksum. */
static void ip_comes(struct packet *p)
{
    sum_up(p);
    comes(TYPE_IP, p, net16(p->ip.bytes));
}

/* A fragment of UDP whose bytes are all `fill`. at: in units of 8 bytes. */
static void fragment_comes(u16 id, u32 at, u32 bytes, bool more, u8 fill)
{
    struct packet p;
    make(&p, PROTOCOL_UDP, bytes);
    p.ip.id = id;
    p.ip.fragment = net16(at | (more ? 0x2000 : 0));
    memset(p.data, fill, bytes);
    ip_comes(&p);
}

/* A head of UDP for PORT without a checksum, as the first fragment. */
static void head_comes(u16 id, u32 all)
{
    struct packet p;
    u16 head[4] = {net16(9), net16(PORT), net16(all), 0};
    make(&p, PROTOCOL_UDP, sizeof head);
    p.ip.id = id;
    p.ip.fragment = net16(0x2000);
    memcpy(p.data, head, sizeof head);
    ip_comes(&p);
}

/* Return a socket that listens at PORT. */
static struct socket *open_socket(void)
{
    struct socket *s;
    check_eq(socket_open(SOCKET_UDP, PORT, &s), 0);
    return s;
}

/* Receive a datagram within 1 ns. Return its bytes, or an error. */
static i64 receive(struct socket *s, void *data, u64 bytes)
{
    struct net_address from;
    struct uio u = {(u64)data, bytes, 0, false, false};
    return socket_receive(s, &from, &u, now_ns + 1);
}

/* Check that all datagrams' memory is free when the fragments' time is over:
 * all but one can be taken at once. */
static void all_is_free(void)
{
    struct datagram *all[DATAGRAMS];
    now_ns += 60 * NS_PER_S;
    fragment_comes(0xffff, 1, 8, true, 0);
    for (u32 i = 0; i < DATAGRAMS - 1; i++)
        check((all[i] = datagram_get()));
    check(!datagram_get());
    for (u32 i = 0; i < DATAGRAMS - 1; i++)
        datagram_put(all[i]);
}

/* ---- fragments ---- */

/* The last four bytes come first, then the first eight, and the head of UDP
 * last. */
TEST(fragments_in_any_order_are_one_datagram)
{
    u8 data[64];
    boot();
    struct socket *s = open_socket();
    fragment_comes(1, 2, 4, false, 2);
    fragment_comes(1, 1, 8, true, 1);
    head_comes(1, 20);
    check_eq(receive(s, data, sizeof data), 12);
    check(!memcmp(data, "\1\1\1\1\1\1\1\1\2\2\2\2", 12));
    check_eq(stat_of("net.damaged"), 0);
    socket_close(s);
    all_is_free();
}

/* The first eight bytes come twice, of value 1 and then of value 2: the
 * datagram has 1. */
TEST(of_bytes_that_come_twice_the_first_count)
{
    u8 data[64];
    boot();
    struct socket *s = open_socket();
    fragment_comes(1, 1, 8, true, 1);
    fragment_comes(1, 1, 16, false, 2);
    head_comes(1, 24);
    check_eq(receive(s, data, sizeof data), 16);
    check(data[7] == 1 && data[8] == 2);
    socket_close(s);
    all_is_free();
}

/* A last fragment before the end of another one: the units that came are as
 * many as the datagram has, and one of its own has not come. */
TEST(a_datagram_with_a_hole_is_never_whole)
{
    u8 data[64];
    boot();
    struct socket *s = open_socket();
    head_comes(1, 24);
    fragment_comes(1, 9, 8, true, 1);
    fragment_comes(1, 2, 8, false, 2);
    check_eq(receive(s, data, sizeof data), (u64)-ETIMEDOUT);
    check_eq(stat_of("net.damaged"), 1);
    fragment_comes(2, 2, 8, false, 2);
    fragment_comes(2, 3, 8, true, 2); /* behind the end */
    check_eq(stat_of("net.damaged"), 2);
    socket_close(s);
    all_is_free();
}

/* Of 5000 datagrams that are never whole, eight are kept at a time. */
TEST(fragments_without_end_take_bounded_memory)
{
    boot();
    for (u32 i = 0; i < 5000; i++)
        fragment_comes(i, i % 180, 1400, true, i);
    check_eq(stat_of("net.expired"), 5000 - 8);
    all_is_free();
}

TEST(a_fragment_beyond_the_largest_datagram_is_damaged)
{
    boot();
    fragment_comes(1, 0x1fff, 8, false, 0);
    fragment_comes(1, DATAGRAM_MAX / 8, 8, true, 0);
    fragment_comes(1, 0, 9, true, 0); /* not the last, and no whole unit */
    check_eq(stat_of("net.damaged"), 3);
    all_is_free();
}

/* ---- single packets ---- */

/* A datagram of UDP with all checksums. Returns its bytes. */
static u32 make_udp(struct packet *p, const char *text)
{
    struct {
        u32 from, to;
        u16 protocol, bytes;
        u16 port, to_port, all, checksum;
    } __attribute__((packed)) head;
    u32 bytes = 8 + strlen(text);
    head = (typeof(head)){
        net32(OTHER), net32(SELF), net16(PROTOCOL_UDP), net16(bytes),
        net16(9),     net16(PORT), net16(bytes),        0};
    u32 sum = checksum(checksum(0, text, bytes - 8), &head, sizeof head);
    head.checksum = checksum_end(sum);
    make(p, PROTOCOL_UDP, bytes);
    memcpy(p->data, &head.port, 8);
    memcpy(p->data + 8, text, bytes - 8);
    sum_up(p);
    return sizeof p->ip + bytes;
}

/* Flip each bit of a datagram in turn: every one is noticed, by a checksum or
 * because the packet makes no sense. */
TEST(a_packet_with_one_wrong_bit_is_damaged)
{
    struct packet p;
    u8 data[8];
    boot();
    struct socket *s = open_socket();
    u32 bytes = make_udp(&p, "abcd");
    comes(TYPE_IP, &p, bytes);
    check_eq(receive(s, data, sizeof data), 4);
    for (u32 bit = 0; bit < 8 * bytes; bit++) {
        u8 *byte = (u8 *)&p + bit / 8;
        *byte ^= 1 << bit % 8;
        comes(TYPE_IP, &p, bytes);
        *byte ^= 1 << bit % 8;
        check_eq(stat_of("net.damaged"), bit + 1);
    }
    check_eq(receive(s, data, sizeof data), (u64)-ETIMEDOUT);
    check_eq(stat_of("net.dropped"), 0);
    socket_close(s);
    all_is_free();
}

TEST(a_packet_that_is_cut_short_is_damaged)
{
    struct packet p;
    boot();
    u32 all = make_udp(&p, "abcd");
    for (u32 bytes = 0; bytes < all; bytes++)
        comes(TYPE_IP, &p, bytes);
    check_eq(stat_of("net.damaged"), all);
    ether_receive(&p, 13);
    check_eq(stat_of("net.damaged"), all + 1);
    all_is_free();
}

/* Of the first byte's 256 values, which have the version and the head's words,
 * only 0x45 is right. */
TEST(heads_of_ip_that_are_wrong_are_damaged)
{
    struct packet p;
    boot();
    for (u32 words = 0; words < 256; words++) {
        make(&p, PROTOCOL_UDP, 8);
        p.ip.version_words = words;
        memset(p.data, 0, 8);
        if (words != 0x45)
            ip_comes(&p);
    }
    check_eq(stat_of("net.damaged"), 255);
    all_is_free();
}

/* The packet has 16 bytes of UDP. A length of 8 to 16 is possible; then no
 * socket has that port. */
TEST(lengths_of_udp_that_are_wrong_are_damaged)
{
    struct packet p;
    boot();
    for (u32 all = 0; all < 65536; all++) {
        u16 head[4] = {net16(9), net16(PORT), net16(all), 0};
        make(&p, PROTOCOL_UDP, 16);
        memset(p.data, 0, 16);
        memcpy(p.data, head, sizeof head);
        ip_comes(&p);
    }
    check_eq(stat_of("net.damaged"), 65536 - 9); /* of 8 to 16 bytes */
    check_eq(stat_of("net.dropped"), 9);         /* nobody has the port */
    all_is_free();
}

/* An open socket waits for the answer of an echo. Only ICMP brings one. */
TEST(other_protocols_reach_no_socket)
{
    struct packet p;
    struct socket *s;
    u8 like_an_answer[8] = {0, 0, 0xff, 0xfa, 0, 5};
    boot();
    check_eq(socket_open(SOCKET_ECHO, 5, &s), 0);
    for (u32 protocol = 0; protocol < 256; protocol++) {
        make(&p, protocol, sizeof like_an_answer);
        memcpy(p.data, like_an_answer, sizeof like_an_answer);
        if (protocol != PROTOCOL_UDP)
            ip_comes(&p);
    }
    check_eq(stat_of("net.dropped"), 254);
    check_eq(receive(s, like_an_answer, 8), 0); /* that of ICMP */
    socket_close(s);
    all_is_free();
}

TEST(what_a_program_does_not_read_is_dropped)
{
    struct packet p;
    boot();
    struct socket *s = open_socket();
    u32 bytes = make_udp(&p, "abcd");
    for (u32 i = 0; i < 1000; i++)
        comes(TYPE_IP, &p, bytes);
    check_eq(stat_of("net.dropped"), 1000 - 16);
    socket_close(s);
    all_is_free();
}

/* ---- ARP ---- */

struct arp_packet {
    u16 hardware, protocol;
    u8 hardware_bytes, protocol_bytes;
    u16 operation;
    u8 from_mac[MAC_BYTES];
    u32 from;
    u8 to_mac[MAC_BYTES];
    u32 to;
} __attribute__((packed));

/* Return a question of ARP from a host: who has SELF? */
static struct arp_packet ask(u32 from)
{
    return (struct arp_packet){
        net16(1), net16(TYPE_IP), MAC_BYTES, 4,          net16(1),
        {2},      net32(from),    {0},       net32(SELF)};
}

/* Damage each fixed byte, cut the packet short at each length, and let it come
 * from impossible addresses: nothing is answered, and no address is known
 * afterwards. */
TEST(nonsense_of_arp_is_damaged_and_not_learned)
{
    boot();
    for (u32 i = 0; i < 8; i++) { /* what is fixed, and the operation */
        struct arp_packet a = ask(OTHER);
        ((u8 *)&a)[i] ^= 0x40;
        comes(TYPE_ARP, &a, sizeof a);
    }
    struct arp_packet a = ask(OTHER);
    for (u32 bytes = 0; bytes < sizeof a; bytes++)
        comes(TYPE_ARP, &a, bytes);
    a.from_mac[0] = 1; /* of many */
    comes(TYPE_ARP, &a, sizeof a);
    check_eq(stat_of("net.damaged"), 8 + sizeof a + 1);
    for (u32 i = 0; i < 3; i++) {
        a = ask((u32[]){0, BROADCAST, SELF}[i]);
        comes(TYPE_ARP, &a, sizeof a);
    }
    check_eq(nsent, 0);
    spin_lock(&net.lock);
    check_eq(ether_resolve(OTHER), (u64)-EHOSTUNREACH);
    spin_unlock(&net.lock);
    check_eq(nsent, 3);
}

/* A thousand hosts ask. All are answered, and the addresses of the last 16 are
 * known. */
TEST(a_flood_of_arp_takes_bounded_memory_and_keeps_the_latest)
{
    boot();
    for (u32 i = 0; i < 1000; i++) {
        struct arp_packet a = ask(OTHER + i);
        now_ns++;
        comes(TYPE_ARP, &a, sizeof a);
    }
    check_eq(nsent, 1000); /* answers */
    spin_lock(&net.lock);
    for (u32 i = 1000 - 16; i < 1000; i++)
        check_eq(ether_resolve(OTHER + i), 0);
    spin_unlock(&net.lock);
    check_eq(nsent, 1000);
}

/* ---- echo ---- */

/* Have a request for an echo come. */
static void echo_comes(u32 from, u32 to)
{
    struct packet p;
    u8 data[8] = {8, 0, 0xf7, 0xff};
    make(&p, PROTOCOL_ICMP, sizeof data);
    memcpy(p.data, data, sizeof data);
    p.ip.from = net32(from);
    p.ip.to = net32(to);
    ip_comes(&p);
}

/* Requests that come from no single host are damaged, and one to all hosts is
 * not answered. */
TEST(an_echo_goes_to_one_host_or_to_none)
{
    boot();
    echo_comes(BROADCAST, SELF);
    echo_comes(0xe0000001, SELF);
    echo_comes(0, SELF);
    check_eq(stat_of("net.damaged"), 3);
    echo_comes(OTHER, SELF); /* whose hardware address is not known */
    check_eq(stat_of("net.dropped"), 1);
    check_eq(nsent, 0);
    struct arp_packet a = ask(OTHER);
    comes(TYPE_ARP, &a, sizeof a);
    check_eq(nsent, 1);
    echo_comes(OTHER, BROADCAST);
    check_eq(nsent, 1);
    echo_comes(OTHER, SELF);
    check_eq(nsent, 2);
    all_is_free();
}

/* ---- what the trace has ---- */

/* A datagram of 3,000 bytes is sent as three frames. Its event has the first 8
 * bytes, each frame's has the length and the time of arrival. */
TEST(the_trace_has_datagrams_by_their_first_bytes_and_frames_by_their_arrival)
{
    char data[3000] = "an xid, and more";
    u64 first;
    memcpy(&first, data, sizeof first);
    boot();
    struct socket *s = open_socket();
    struct arp_packet a = ask(OTHER);
    comes(TYPE_ARP, &a, sizeof a);
    trace_on = true;
    arrives_ns = 12345;
    struct net_address to = {OTHER, PORT};
    struct uio u = {(u64)data, sizeof data, 0, false, true};
    check_eq(socket_send(s, to, &u), sizeof data);
    check_eq(ntraced, 4);
    check(is_traced(0, TRACE_sent, first, sizeof data));
    check(is_traced(1, TRACE_framed, 1514, arrives_ns));
    check(is_traced(2, TRACE_framed, 1514, arrives_ns));
    check(is_traced(3, TRACE_framed, 34 + 3008 - 2 * 1480, arrives_ns));
    struct packet p;
    make_udp(&p, data);
    ip_comes(&p);
    check_eq(receive(s, data, sizeof data), strlen(data));
    check(is_traced(4, TRACE_received, first, strlen(data)));
    socket_close(s);
    trace_on = false;
    all_is_free();
}

/* ---- chance ---- */

/* Have a packet of random bytes come, with a head that is right at times. */
static void random_packet(u64 *state)
{
    struct packet p;
    u32 bytes = make_udp(&p, "some bytes of a datagram");
    u64 r = random_u64(state);
    if (r % 4 == 0) {
        p.ip.fragment = net16(r >> 8 & 0x20ff);
        p.ip.id = r >> 24 & 15;
    } else if (r % 4 == 1) {
        p.ip.protocol = PROTOCOL_ICMP;
    }
    for (u32 i = r >> 32 & 3; i > 0; i--) {
        u64 where = random_u64(state);
        ((u8 *)&p)[where % bytes] = where >> 32;
    }
    if (r >> 34 & 7)
        sum_up(&p);
    comes(r >> 37 & 31 ? TYPE_IP : TYPE_ARP, &p,
          r >> 42 & 7 ? bytes : r >> 45 & 15);
}

TEST(random_packets_leave_all_memory_free)
{
    u8 data[2048];
    u64 state = 1;
    boot();
    struct socket *s = open_socket();
    for (u32 i = 0; i < FUZZ; i++) {
        now_ns += NS_PER_MS;
        random_packet(&state);
        if (random_u64(&state) % 4 == 0)
            receive(s, data, sizeof data);
    }
    check(stat_of("net.damaged") > FUZZ / 10);
    check(stat_of("net.dropped") > FUZZ / 100);
    check(stat_of("net.expired") > 100);
    socket_close(s);
    all_is_free();
}
