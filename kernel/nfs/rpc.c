/*
 * ONC RPC, version 2 (RFC 5531): from a call's bytes to a procedure, and back.
 *
 * - Credentials of AUTH_NONE and AUTH_SYS are accepted, whatever they say.
 * - A call that ends within its head gets no answer.
 */
#include "kernel/nfs/internal.h"
#include "kernel/base/stat.h"

enum { ACCEPTED, DENIED };                           /* what a reply says: */
enum { MISMATCH_RPC, BAD_AUTH, BAD_CREDENTIAL = 2 }; /* ... if DENIED */
enum accepted {
    SUCCESS,
    NO_PROGRAM,
    MISMATCH,
    NO_PROCEDURE,
    GARBAGE_ARGS,
    SYSTEM_ERROR,
};

bool nfs_has_served;
COUNTER_WITH(calls, "nfs.calls", "calls", "came to the server",
             &nfs_has_served);
COUNTER_WITH(repeated, "nfs.repeated", "calls",
             "came again: answered as before, or not yet", &nfs_has_served);
COUNTER_WITH(damaged, "nfs.damaged", "calls", "could not be decoded in whole",
             &nfs_has_served);

/* Count a call that cannot be decoded. */
void nfs_damaged(void)
{
    count(&damaged, 1);
}

/* ---- the head of a call ---- */

/* Take the head of a message. Credentials and verifier are passed over. */
struct rpc_head rpc_take_head(struct xdr *x)
{
    struct rpc_head h;
    u32 words[sizeof h / 4], n;
    for (u32 i = 0; i < NELEM(words); i++)
        words[i] = xdr_u32(x);
    xdr_bytes(x, &n, AUTH_MOST);
    xdr_u32(x);
    xdr_bytes(x, &n, AUTH_MOST);
    memcpy(&h, words, sizeof h);
    return h;
}

/* True if the head calls this procedure of version 1 of this program. */
bool rpc_calls(const struct rpc_head *h, u32 program, u32 procedure)
{
    return h->type == RPC_CALL && h->rpc == RPC_VERSION &&
           h->program == program && h->version == 1 &&
           h->procedure == procedure;
}

/* ---- the head of a reply ---- */

/* Put the lowest and the highest version of the program that is served. */
static void put_versions(struct call *c, u32 version)
{
    xdr_put(&c->out, version);
    xdr_put(&c->out, version);
}

/* Put the head of an answer: the call was accepted, with this state. */
static void accept(struct call *c, enum accepted state)
{
    xdr_put(&c->out, ACCEPTED);
    xdr_put64(&c->out, 0); /* the verifier: AUTH_NONE, without bytes */
    xdr_put(&c->out, state);
}

/* ---- serving ---- */

/* Return the status of NFS for an error of the kernel. Most have one number. */
static u32 status_of(int result)
{
    static const struct {
        int error;
        u32 status;
    } others[] = {
        {ENAMETOOLONG, NFS_NAMETOOLONG},
        {ENOTEMPTY, NFS_NOTEMPTY},
        {ESTALE, NFS_STALE},
        {EBUSY, NFS_ACCES},
        {ENOMEM, NFS_JUKEBOX},
        {ENFILE, NFS_JUKEBOX},
    };
    for (u32 i = 0; i < NELEM(others); i++)
        if (result == -others[i].error)
            return others[i].status;
    if (result < 0)
        return -result <= EMLINK ? -result : NFS_SERVERFAULT;
    return result;
}

/* Serve a procedure behind the reply's first words. */
static void serve(struct call *c)
{
    struct xdr state = c->out;
    accept(c, SUCCESS);
    struct xdr status = c->out;
    if (!c->procedure->no_status)
        xdr_put(&c->out, 0);
    int result = serve_procedure(c);
    if (c->in.bad || c->out.bad) {
        c->out = state;
        accept(c, c->in.bad ? GARBAGE_ARGS : SYSTEM_ERROR);
        nfs_damaged();
    } else if (result) {
        c->out = status;
        xdr_put(&c->out, status_of(result));
        for (u32 i = 0; i < c->procedure->absent; i++)
            xdr_put(&c->out, 0);
    }
}

/* Return the program with this number, or NULL. */
static const struct program *find(u32 number)
{
    for (u32 i = 0; i < PROGRAMS; i++)
        if (__start_programs[i]->number == number)
            return __start_programs[i];
    return NULL;
}

/* Serve a call, or send the old answer again if it was served before. False: it
 * is being served now, and gets no answer. */
static bool serve_once(struct call *c)
{
    if (!c->procedure->once) {
        serve(c);
        return true;
    }
    enum repeated r = replies_begin(c);
    if (r == REPEATED_NOT) {
        serve(c);
        replies_end(c);
    } else {
        count(&repeated, 1);
    }
    return r != REPEATED_NOW;
}

/* Find the procedure and serve it; or reply that the program, its version or
 * the procedure is not served. */
static bool answer(struct call *c, const struct rpc_head *h)
{
    const struct program *p = find(h->program);
    if (h->rpc != RPC_VERSION) {
        xdr_put64(&c->out, (u64)DENIED << 32 | MISMATCH_RPC);
        put_versions(c, RPC_VERSION);
    } else if (h->flavor > AUTH_SYS) {
        xdr_put64(&c->out, (u64)DENIED << 32 | BAD_AUTH);
        xdr_put(&c->out, BAD_CREDENTIAL);
    } else if (!p) {
        accept(c, NO_PROGRAM);
    } else if (h->version != p->version) {
        accept(c, MISMATCH);
        put_versions(c, p->version);
    } else if (h->procedure >= p->nprocedures ||
               !p->procedures[h->procedure].serve) {
        accept(c, NO_PROCEDURE);
    } else {
        c->procedure = &p->procedures[h->procedure];
        return serve_once(c);
    }
    return true;
}

/* Answer a call. Return the length of the answer in c->reply, or 0 if there is
 * none. */
u32 rpc_answer(struct call *c, struct net_address from, u8 *call, u32 bytes)
{
    c->from = from;
    c->in = (struct xdr){call, call + bytes, false};
    c->out = (struct xdr){c->reply, c->reply + sizeof c->reply, false};
    c->sum = 0xcbf29ce484222325UL; /* FNV-1a */
    for (u32 i = 0; i < bytes; i++)
        c->sum = (c->sum ^ call[i]) * 0x100000001b3UL;
    struct rpc_head h = rpc_take_head(&c->in);
    c->xid = h.xid;
    count(&calls, 1);
    if (c->in.bad || h.type != RPC_CALL) {
        nfs_damaged();
        return 0;
    }
    xdr_put(&c->out, c->xid);
    xdr_put(&c->out, RPC_REPLY);
    return answer(c, &h) ? c->out.at - c->reply : 0;
}
