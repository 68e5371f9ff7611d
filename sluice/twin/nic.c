/*
 * The twin's network device: kernel/driver/virtio_net.h over Unix sockets.
 *
 * - Before each frame stand its bytes, big-endian, as QEMU's `-netdev stream`
 *   has it. So what is at the other end may be a twin or a QEMU.
 * - The link's rounds (kernel/link/link.c) are the only reader here, because a
 *   twin has virtual time: a round waits for another machine's frame with the
 *   clock stopped. So nic_take waits, and nothing polls. But until this machine
 *   has sent a frame, nic_take returns at once, so that it sends its first.
 * - Frames to be sent are collected until this machine waits, or ends: a round
 *   is one call for all that is sent, and one for all that comes.
 * - A machine with several sockets is the hub of all others: it sends on what
 *   it takes. So all receive all frames in one order, as the link needs it.
 * - No socket gets full while two machines write to each other: each has at
 *   most 32 frames on their way, the link's IN_FLIGHT.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sluice/twin/nic.h"
#include "kernel/driver/virtio_net.h"
#include "kernel/machine/clock.h"
#include "kernel/machine/panic.h"

#define PEERS      3 /* of four machines */
#define HEAD_BYTES 4
#define ROOM       (1 << 18) /* for what comes together, or is collected */
#define LONGEST    (HEAD_BYTES + sizeof((struct nic_buffer *)0)->data)

/* Another machine, or several by its hub: its socket, and what has come and is
 * not taken yet. */
struct peer {
    int socket; /* -1: it has ended */
    u32 begin, end;
    u8 in[ROOM];
};

static struct peer peers[PEERS];
static u32 npeers, self;
static bool speaks; /* since this machine has sent a frame */
static u8 out[ROOM];
static u32 nout;
static struct nic_buffer buffers[NIC_RING];
static u32 nfree;
static struct nic_buffer *unused[NIC_RING];
static FILE *dump;

/* ---- frames as a file: IETF draft-ietf-opsawg-pcap ---- */

/* Begin a file of all frames, in the format of tcpdump. */
bool nic_dump(const char *path)
{
    static const struct {
        u32 magic;
        u16 version, minor;
        u32 zone, accuracy, most_bytes, link;
    } head = {0xa1b23c4d, 2, 4, 0, 0, 1 << 16, 1};
    dump = fopen(path, "wbe");
    if (!dump)
        return false;
    setvbuf(dump, NULL, _IONBF, 0); /* whole, too, if the machine is killed */
    return fwrite(&head, sizeof head, 1, dump) == 1;
}

static void keep(const u8 *frame, u32 bytes)
{
    if (!dump)
        return;
    u64 ns = clock_ns();
    u32 head[] = {ns / NS_PER_S, ns % NS_PER_S, bytes, bytes};
    if (fwrite(head, sizeof head, 1, dump) != 1 ||
        fwrite(frame, bytes, 1, dump) != 1)
        panic("twin: the frames cannot be kept");
}

/* ---- sockets ---- */

/* Read SELF:SOCKET:SOCKET..., this machine's number and a socket for each peer.
 * False if the word is something else. */
bool nic_join(const char *word)
{
    char *at;
    self = strtoul(word, &at, 10);
    while (*at == ':' && npeers < PEERS)
        peers[npeers++].socket = strtoul(at + 1, &at, 10);
    for (; nfree < NIC_RING; nfree++)
        unused[nfree] = &buffers[nfree];
    return !*at && npeers && self;
}

/* A machine that has ended needs nothing more. */
static void write_to(struct peer *p, const u8 *data, u32 bytes)
{
    while (bytes && p->socket >= 0) {
        i64 n = send(p->socket, data, bytes, MSG_NOSIGNAL);
        if (n >= 0) {
            data += n;
            bytes -= n;
        } else if (errno != EINTR) {
            return;
        }
    }
}

/* Wait until more has come from any machine that has not ended. False if all
 * have. */
static bool wait_for_more(void)
{
    struct pollfd wanted[PEERS];
    u32 here = 0; /* peers that have not ended */
    for (u32 i = 0; i < npeers; i++) {
        wanted[i] = (struct pollfd){.fd = peers[i].socket, .events = POLLIN};
        here += peers[i].socket >= 0;
    }
    if (here > 1)
        poll(wanted, npeers, -1);
    for (struct peer *p = peers; p < peers + npeers; p++) {
        if (p->socket < 0 || (here > 1 && !wanted[p - peers].revents))
            continue;
        memmove(p->in, p->in + p->begin, p->end - p->begin);
        p->end -= p->begin;
        p->begin = 0;
        i64 n = recv(p->socket, p->in + p->end, ROOM - p->end, 0);
        if (n > 0)
            p->end += n;
        else if (!n || errno != EINTR)
            p->socket = -1;
    }
    return here;
}

/* Take the next frame of a machine, and pass it on to all other machines. NULL:
 * none. */
static const u8 *next_frame(struct peer *p, u32 *bytes)
{
    u32 left = p->end - p->begin;
    if (left < HEAD_BYTES)
        return NULL;
    const u8 *head = p->in + p->begin;
    memcpy(bytes, head, HEAD_BYTES);
    *bytes = net32(*bytes);
    if (*bytes > LONGEST - HEAD_BYTES)
        panic("twin: a frame of %u bytes", *bytes);
    if (left < HEAD_BYTES + *bytes)
        return NULL;
    p->begin += HEAD_BYTES + *bytes;
    for (struct peer *to = peers; to < peers + npeers; to++)
        if (to != p)
            write_to(to, head, HEAD_BYTES + *bytes);
    return head + HEAD_BYTES;
}

static const u8 *any_frame(u32 *bytes)
{
    const u8 *frame = NULL;
    for (struct peer *p = peers; !frame && p < peers + npeers; p++)
        frame = next_frame(p, bytes);
    if (frame)
        keep(frame, *bytes);
    return frame;
}

/* ---- as virtio_net.h has it ---- */

bool nic_probe(u8 mac[MAC_BYTES])
{
    memcpy(mac, (u8[]){0x52, 0x54, 0, 0, 0, self}, MAC_BYTES);
    return npeers;
}

void nic_start(void (*arrived)(void))
{
    (void)arrived; /* all frames are waited for */
}

/* Put a frame, with its length before it, among those that are sent
 * together. */
bool nic_send(const void *head, u32 head_bytes, const void *body, u32 bytes)
{
    u32 all = head_bytes + bytes;
    u32 before = net32(all);
    if (nout + HEAD_BYTES + all > ROOM)
        nic_flush();
    u8 *frame = out + nout + HEAD_BYTES;
    memcpy(out + nout, &before, HEAD_BYTES);
    memcpy(frame, head, head_bytes);
    memcpy(frame + head_bytes, body, bytes);
    nout += HEAD_BYTES + all;
    keep(frame, all);
    return speaks = true;
}

/* Return the next frame of any peer, and wait for one if necessary; NULL until
 * this machine has sent a frame. */
struct nic_buffer *nic_take(u32 *bytes)
{
    const u8 *frame;
    nic_flush();
    if (!speaks)
        return NULL;
    while (!(frame = any_frame(bytes)))
        if (!wait_for_more())
            pause(); /* until the program that started the machines ends this */
    if (!nfree)
        panic("twin: more frames than buffers");
    struct nic_buffer *b = unused[--nfree];
    memcpy(b->data, frame, *bytes);
    return b;
}

void nic_give(struct nic_buffer *b)
{
    unused[nfree++] = b;
}

u32 nic_number(const struct nic_buffer *b)
{
    return b - buffers;
}

void nic_flush(void)
{
    for (struct peer *p = peers; p < peers + npeers; p++)
        write_to(p, out, nout);
    nout = 0;
}

bool nic_is_sent(void)
{
    nic_flush();
    return true;
}
