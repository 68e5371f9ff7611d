/*
 * Calls from the server to a client of Spritely NFS.
 *
 * - The client answers soon: the recall is done, or the client is at work. In
 *   the second case the server calls again. So a client that takes long to
 *   write its blocks differs from a client that has died.
 */
#include "kernel/spritely/server.h"

#define TRIES    6 /* without an answer: the client has died */
#define REPLY_NS NS_PER_S

/* Put the whole call into the message. Return its length in bytes. */
static u32 put_call(u8 *message, u32 bytes, const struct recall *r)
{
    struct xdr x = {message, message + bytes, false};
    u32 head[] = {r->stamp,    RPC_CALL,
                  RPC_VERSION, CALLBACK_PROGRAM,
                  1,           CALLBACK_RECALL,
                  0,           0,
                  0,           0}; /* AUTH_NONE twice */
    for (u32 i = 0; i < NELEM(head); i++)
        xdr_put(&x, head[i]);
    put_numbers(&x, r->ino, r->generation);
    xdr_put64(&x, r->stamp);
    xdr_put(&x, r->invalidate);
    return x.at - message;
}

/* Return what the client answers: RECALL_DONE, RECALL_WORKING; or -ETIMEDOUT or
 * -EINTR. */
static int receive(struct socket *socket, const struct recall *r)
{
    u8 bytes[64];
    u64 until_ns = clock_ns() + REPLY_NS;
    for (;;) {
        struct net_address from;
        struct uio u = {(u64)bytes, sizeof bytes, 0, false, false};
        i64 n = socket_receive(socket, &from, &u, until_ns);
        if (n < 0)
            return n;
        struct xdr x = {bytes, bytes + n, false};
        bool mine = xdr_u32(&x) == (u32)r->stamp && xdr_u32(&x) == RPC_REPLY;
        u64 denied = xdr_u64(&x) | xdr_u64(&x); /* and the verifier, empty */
        u32 state = xdr_u32(&x);
        if (mine && !denied && !x.bad && from.host == r->client.host)
            return state;
    }
}

/* Call until the client says that it is done. It counts as dead after TRIES
 * calls in a row without a reply. */
static int recall(struct socket *socket, const struct recall *r)
{
    u8 message[128];
    u32 bytes = put_call(message, sizeof message, r);
    for (u32 silent = 0; silent < TRIES;) {
        struct uio u = {(u64)message, bytes, 0, false, true};
        if (socket_send(socket, r->client, &u) == -EINTR)
            return -EINTR;
        int state = receive(socket, r);
        if (state == RECALL_DONE || state == -EINTR)
            return state;
        silent = state < 0 ? silent + 1 : 0;
    }
    return -ETIMEDOUT;
}

/* Have a client write, and perhaps drop, its blocks of a file. Return 0 or an
 * error. */
int recall_file(const struct recall *r)
{
    struct socket *socket;
    TRY(socket_open(SOCKET_UDP, 0, &socket));
    int error = recall(socket, r);
    socket_close(socket);
    return error;
}
