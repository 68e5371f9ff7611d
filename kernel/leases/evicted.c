/*
 * The server's notices to a client that is to give up a lease.
 *
 * - One process receives notices, and another one gives leases up, as that
 *   waits for WRITE calls. A file goes: in `due` - `working` - vacated.
 * - A file of which nothing is cached is vacated at once, without its inode.
 * - The server repeats a notice until it is answered or the lease is over. So
 *   VACATED is called once, and a repeated notice is answered again.
 */
#include "kernel/leases/client.h"
#include "kernel/machine/mem.h"
#include "kernel/proc/proc.h"

COUNTER_WITH(evictions, "remote.evictions", "notices",
             "of the server, which takes a lease back", &leases_used);

/* Tell the server that the lease is given up. The handle has `bytes` bytes, and
 * the stamp is the notice's. The call is sent once: the notice comes again. */
static void vacate(struct lessee *l, const u8 *handle, u32 bytes, u64 stamp)
{
    OWNED(call) struct call *c = lease_call(l, LEASE_VACATED, handle, bytes);
    xdr_put64(&c->out, stamp);
    call_send(c, &l->mount->server, l->mount->server.port, 1);
}

/* ---- giving up ---- */

/* Wait for a file to be vacated, and return it as `working`. */
static struct file *next_file(struct lessee *l)
{
    HOLD(spin, &l->mount->lock);
    l->evicting = false;
    wakeup(l);
    while (list_empty(&l->due))
        sleep_on(&l->due, &l->mount->lock);
    struct file *f = LIST_ITEM(list_pop_front(&l->due), struct file, own.due);
    f->own.working = l->evicting = true;
    return f;
}

/* Give up the file's lease, with its inode locked if it is open. */
static void give_up(struct lessee *l, struct file *f)
{
    bool caches = f->own.lease != NO_LEASE;
    HOLD(sleep, caches && lease_inode(f) ? &f->ip->lock : NULL);
    if (caches)
        lease_end(l->mount, f);
}

/* The process that gives leases up. */
void evictor(void *arg)
{
    struct lessee *l = arg;
    for (;;) {
        struct file *f = next_file(l);
        u64 stamp = f->own.recalled;
        give_up(l, f);
        vacate(l, f->handle, f->handle_bytes, stamp);
        HOLD(spin, &l->mount->lock);
        f->own.working = false;
        wakeup(l);
    }
}

/* ---- notices ---- */

/* Pass a file to the process that gives leases up. False: this machine has no
 * such file. */
static bool take_notice(struct lessee *l, const u8 *handle, u32 bytes,
                        u64 stamp)
{
    struct mount *m = l->mount;
    HOLD(spin, &m->lock);
    struct file *f = l->used ? file_find(m, handle, bytes) : NULL;
    if (!f)
        return false;
    count(&evictions, stamp > f->own.recalled);
    f->own.recalled = MAX(f->own.recalled, stamp);
    if (!list_on(&f->own.due) && !f->own.working)
        list_push_back(&l->due, &f->own.due);
    wakeup(&l->due);
    return true;
}

/* Take a notice. It is answered at once if nothing of the file is cached. */
static void answer(struct lessee *l, u8 *message, u32 bytes)
{
    u32 handle_bytes;
    struct xdr in = {message, message + bytes, false};
    struct rpc_head h = rpc_take_head(&in);
    const u8 *handle = xdr_bytes(&in, &handle_bytes, HANDLE_MOST);
    u64 stamp = xdr_u64(&in);
    if (!in.bad && rpc_calls(&h, EVICTION_PROGRAM, EVICTION_NOTICE) &&
        !take_notice(l, handle, handle_bytes, stamp))
        vacate(l, handle, handle_bytes, stamp);
}

/* Receive the server's notices. Messages of other hosts are ignored. */
void notice_receiver(void *arg)
{
    struct lessee *l = arg;
    u8 message[256];
    for (;;) {
        struct net_address from;
        struct uio in = {(u64)message, sizeof message, 0, false, false};
        i64 n = socket_receive(l->socket, &from, &in, 0);
        if (n > 0 && from.host == l->mount->server.host)
            answer(l, message, n);
    }
}
