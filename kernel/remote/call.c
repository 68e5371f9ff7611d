/*
 * ONC RPC (RFC 5531) over UDP: the caller's side.
 *
 * - A call is sent again, with the same bytes from the same port, if no reply
 *   comes: after FIRST_NS, and then after twice the time before, up to MOST_NS.
 *   A server with a cache of replies executes it once.
 * - An xid counts up from the time of day at the first mount, in units of 66
 *   us. A call takes longer than that on a wire of 10 Mbit/s, so a machine that
 *   starts again goes on beyond the xids that it has used.
 * - A reply is one of the server's host with the call's xid. All else that
 *   comes is dropped.
 */
#include "kernel/machine/mem.h"
#include "kernel/machine/print.h"
#include "kernel/remote/internal.h"

#define CALLS    8 /* at a time: CARRIERS of them for blocks */
#define FIRST_NS (700 * NS_PER_MS)
#define MOST_NS  (10 * NS_PER_S)
#define PATIENCE 4 /* times, before the console says so */

static struct spinlock lock = SPINLOCK("calls", RANK_NET);
static struct list free; /* lock */
static u32 next_xid;     /* lock */
static struct call *calls;

bool remote_used;
COUNTER_WITH(ncalls, "remote.calls", "calls", "made by the client of NFS",
             &remote_used);
COUNTER_WITH(repeated, "remote.repeated", "calls", "sent again", &remote_used);

/* Open a socket for each call. Return 0 or an error, with some open. */
static int open_sockets(void)
{
    for (u32 i = 0; i < CALLS; i++) {
        TRY(socket_open(SOCKET_UDP, 0, &calls[i].socket));
        list_push_back(&free, &calls[i].link);
    }
    return 0;
}

/* Make all calls and their sockets, once. Return 0 or an error. */
int calls_start(void)
{
    if (calls)
        return 0;
    calls = mem_reserve(CALLS * sizeof *calls);
    if (!calls)
        return -ENOMEM;
    memset(calls, 0, CALLS * sizeof *calls);
    list_init(&free);
    next_xid = clock_wall_ns() >> 16;
    int error = open_sockets();
    if (!error) {
        remote_used = true;
        return 0;
    }
    for (u32 i = 0; i < CALLS && calls[i].socket; i++)
        socket_close(calls[i].socket);
    mem_release(calls, CALLS * sizeof *calls);
    calls = NULL;
    return error;
}

/* Return a free call, after waiting for one. */
struct call *call_take(void)
{
    HOLD(spin, &lock);
    while (list_empty(&free))
        sleep_on(&free, &lock);
    return LIST_ITEM(list_pop_front(&free), struct call, link);
}

void call_give(struct call *c)
{
    HOLD(spin, &lock);
    list_push_back(&free, &c->link);
    wakeup(&free);
}

/* ---- a call ---- */

/* Put a credential of AUTH_SYS for user 0, and an empty verifier. */
static void put_credential(struct xdr *x)
{
    static const char name[] = "client";
    xdr_put(x, AUTH_SYS);
    xdr_put(x, 20 + ROUND_UP(strlen(name), 4));
    xdr_put(x, 0); /* a stamp: any */
    xdr_put_bytes(x, name, strlen(name));
    xdr_put64(x, 0); /* user and group */
    xdr_put(x, 0);   /* further groups */
    xdr_put64(x, 0); /* the verifier: AUTH_NONE, without bytes */
}

/* Give the message another xid, so that it is a call of its own. */
void call_renew(struct call *c)
{
    struct xdr first = {c->message, c->message + 4, false};
    spin_lock(&lock);
    c->xid = next_xid++;
    spin_unlock(&lock);
    xdr_put(&first, c->xid);
    count(&ncalls, 1);
}

/* Begin a call: its head. The arguments follow in c->out. */
void call_begin(struct call *c, u32 program, u32 version, u32 procedure)
{
    u32 head[] = {0, RPC_CALL, RPC_VERSION, program, version, procedure};
    c->out = (struct xdr){c->message, c->message + sizeof c->message, false};
    for (u32 i = 0; i < NELEM(head); i++)
        xdr_put(&c->out, head[i]);
    put_credential(&c->out);
    call_renew(c);
}

/* ---- its reply ---- */

/* Check a message: 0 or -errno of the reply; 1: it is no reply to this call. */
static int check_reply(struct call *c)
{
    u32 n;
    if (xdr_u32(&c->in) != c->xid || xdr_u32(&c->in) != RPC_REPLY)
        return 1;
    u32 denied = xdr_u32(&c->in);
    xdr_u32(&c->in); /* the verifier */
    xdr_bytes(&c->in, &n, AUTH_MOST);
    u32 state = xdr_u32(&c->in);
    if (c->in.bad)
        return 1;
    return denied || state ? -ENODEV : 0;
}

/* Wait for the call's reply until the time given. 0: its results are in c->in.
 * Replies to others are passed over. */
static int receive(struct call *c, const struct server *s, u64 until_ns)
{
    for (;;) {
        struct net_address from;
        struct uio u = {(u64)c->reply, sizeof c->reply, 0, false, false};
        i64 n = socket_receive(c->socket, &from, &u, until_ns);
        if (n < 0)
            return n;
        c->in = (struct xdr){c->reply, c->reply + n, false};
        int result = from.host == s->host ? check_reply(c) : 1;
        if (result <= 0)
            return result;
    }
}

/* Print, once, that the server does not answer, or that it answers again. */
static void say(struct server *s, bool silent)
{
    if (s->silent == silent)
        return;
    s->silent = silent;
    kprintf("nfs: server %u.%u.%u.%u %s\n", s->host >> 24, s->host >> 16 & 0xff,
            s->host >> 8 & 0xff, s->host & 0xff,
            silent ? "does not answer: waiting for it" : "answers again");
}

/* Send a call until its reply comes. 0: its results are in c->in. tries: 0 is
 * for ever. The console says when a server is silent, and when it answers
 * again. */
int call_send(struct call *c, struct server *s, u32 port, u32 tries)
{
    struct net_address to = {s->host, port};
    u64 wait_ns = FIRST_NS;
    for (u32 n = 1;; n++) {
        charge(COST_rpc_call, 1);
        struct uio u = {(u64)c->message, c->out.at - c->message, 0, false,
                        true};
        if (socket_send(c->socket, to, &u) == -EINTR)
            return -EINTR; /* all else is as lost on the way */
        int result = receive(c, s, clock_ns() + wait_ns);
        if (result != -ETIMEDOUT) {
            if (result != -EINTR)
                say(s, false);
            return result;
        }
        if (s->given_up)
            return -ESTALE;
        if (n == tries)
            return -ETIMEDOUT;
        if (n == PATIENCE && !tries)
            say(s, true);
        wait_ns = MIN(2 * wait_ns, MOST_NS);
        count(&repeated, 1);
    }
}
