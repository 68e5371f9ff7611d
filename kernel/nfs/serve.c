/* A process that serves: it receives a call, lets rpc.c answer it, and sends
 * the answer. An answer that cannot be sent counts as lost: the client asks
 * again. */
#include "kernel/machine/mem.h"
#include "kernel/nfs/internal.h"

struct server {
    struct socket *socket;
    struct call call;
    u8 message[MESSAGE_BYTES];
};

/* Receive and serve a call. Returns 0, or -EINTR. */
static int serve_one(struct server *s)
{
    struct net_address from;
    struct uio in = {(u64)s->message, sizeof s->message, 0, false, false};
    i64 n = socket_receive(s->socket, &from, &in, 0);
    if (n < 0)
        return n;
    u32 bytes = rpc_answer(&s->call, from, s->message, n);
    struct uio out = {(u64)s->call.reply, bytes, 0, false, true};
    if (bytes)
        socket_send(s->socket, from, &out);
    return 0;
}

/* Serve calls until the process is killed. Return the error. */
static int serve(struct socket *socket)
{
    struct server *s = mem_reserve(sizeof *s);
    if (!s)
        return -ENOMEM;
    s->socket = socket;
    int error = 0;
    while (!error)
        error = serve_one(s);
    mem_release(s, sizeof *s);
    return error;
}

/* Export the path on this socket until the process is killed. */
int nfs_serve(struct socket *socket, const char *path)
{
    TRY(export_begin(path));
    int error = serve(socket);
    export_end();
    return error;
}
