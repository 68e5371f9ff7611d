/*
 * The server's calls to a client of Spritely NFS: recalls of files.
 *
 * - One process answers, and another one recalls, so that the server soon gets
 *   an answer: the recall is done, or at work. A file goes: recalled (on the
 *   mount's list `due`) - `working` - done.
 * - A recall writes the dirty blocks. With `invalidate` it also drops all: from
 *   then on bytes go past the cache. Blocks that cannot be written are dropped,
 *   too, as the server goes on without them: the next close returns an error.
 * - The inode is locked for that while the file is open, and only then: no
 *   other process can be reading or writing it. A process that has it locked
 *   waits at most for READ and WRITE calls, which the server answers meanwhile.
 */
#include "kernel/machine/mem.h"
#include "kernel/proc/proc.h"
#include "kernel/spritely/client.h"

#define PORT    2050 /* for the first disk's mount; then the next ones */
#define WAIT_NS (300 * NS_PER_MS) /* before the answer that it is at work */

COUNTER_WITH(recalls, "remote.recalls", "calls",
             "of the server, which recalls a file", &remote_used);

/* ---- recalling ---- */

/* Wait for a file to be recalled, and return it as `working`. */
static struct file *next_file(struct mount *m)
{
    HOLD(spin, &m->lock);
    m->spritely.recalling = false;
    wakeup(&m->spritely);
    while (list_empty(&m->spritely.due))
        sleep_on(&m->spritely.due, &m->lock);
    struct file *f =
        LIST_ITEM(list_pop_front(&m->spritely.due), struct file, own.due);
    f->own.working = m->spritely.recalling = true;
    return f;
}

/* Write the file's dirty blocks, and drop all if the server wants it. */
static void recall(struct mount *m, struct file *f)
{
    struct inode *ip = spritely_inode(f);
    HOLD(sleep, ip ? &ip->lock : NULL);
    spin_lock(&m->lock);
    bool invalidate = f->own.invalidate;
    f->own.invalidate = false;
    spin_unlock(&m->lock);
    int lost = flush_file(m, f);
    if (invalidate || lost)
        spritely_drop(m, f, lost);
}

/* The process that carries out recalls. */
void recaller(void *arg)
{
    struct mount *m = arg;
    for (;;) {
        struct file *f = next_file(m);
        recall(m, f);
        HOLD(spin, &m->lock);
        f->own.working = false;
        wakeup(&m->spritely);
    }
}

/* ---- answering ---- */

/* Begin to recall a file, unless this recall has come before, and wait a while:
 * RECALL_DONE or RECALL_WORKING. */
static u32 serve_recall(struct mount *m, const u8 *handle, u32 bytes, u64 stamp,
                        bool invalidate)
{
    u64 until_ns = clock_ns() + WAIT_NS;
    HOLD(spin, &m->lock);
    struct file *f = m->spritely.used ? file_find(m, handle, bytes) : NULL;
    if (!f)
        return RECALL_DONE; /* no block of the file is here */
    if (stamp > f->own.recalled) {
        f->own.recalled = stamp;
        f->own.invalidate |= invalidate;
        count(&recalls, 1);
        if (!list_on(&f->own.due))
            list_push_back(&m->spritely.due, &f->own.due);
        wakeup(&m->spritely.due);
    }
    while (list_on(&f->own.due) || f->own.working)
        if (sleep_until(&m->spritely, &m->lock, until_ns))
            return RECALL_WORKING;
    return RECALL_DONE;
}

/* Put the answer to a message in the message's place. Returns its length, or 0:
 * the message gets no answer. */
static u32 answer(struct mount *m, u8 *message, u32 bytes, u32 size)
{
    u32 handle_bytes;
    struct xdr in = {message, message + bytes, false};
    struct rpc_head h = rpc_take_head(&in);
    const u8 *handle = xdr_bytes(&in, &handle_bytes, HANDLE_MOST);
    u64 stamp = xdr_u64(&in);
    bool invalidate = xdr_bool(&in);
    if (in.bad || !rpc_calls(&h, CALLBACK_PROGRAM, CALLBACK_RECALL))
        return 0;
    u32 state = serve_recall(m, handle, handle_bytes, stamp, invalidate);
    u32 reply[] = {h.xid, RPC_REPLY, 0, 0, 0, 0, state};
    struct xdr out = {message, message + size, false};
    for (u32 i = 0; i < NELEM(reply); i++)
        xdr_put(&out, reply[i]);
    return out.at - message;
}

/* Answer the server's calls. Messages of other hosts are ignored. */
void receiver(void *arg)
{
    struct mount *m = arg;
    u8 message[256];
    for (;;) {
        struct net_address from;
        struct uio in = {(u64)message, sizeof message, 0, false, false};
        i64 n = socket_receive(m->spritely.socket, &from, &in, 0);
        u32 bytes = n > 0 && from.host == m->server.host
                        ? answer(m, message, n, sizeof message)
                        : 0;
        struct uio out = {(u64)message, bytes, 0, false, true};
        if (bytes)
            socket_send(m->spritely.socket, from, &out);
    }
}

/* Open the socket on which the server calls, once. */
int callback_open(struct mount *m)
{
    if (m->spritely.socket)
        return 0;
    m->spritely.port = PORT + m->disk->id;
    list_init(&m->spritely.due);
    return socket_open(SOCKET_UDP, m->spritely.port, &m->spritely.socket);
}
