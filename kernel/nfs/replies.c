/*
 * The answers to calls that must not be done twice, for calls that come again
 * because the network lost their answer (Juszczak, "Improving the Performance
 * and Correctness of an NFS Server", USENIX Winter 1989).
 *
 * - A row goes: free (xid and bytes 0) - being served - answered - the next
 *   call's. A row that is being served is not taken from its call.
 * - A call comes again if all its bytes are the same, by their sum and xid, and
 *   it is from the same address and port.
 * - An answer that is too long for a row is not remembered. The answers of all
 *   procedures that are `once` are shorter.
 */
#include "kernel/nfs/internal.h"
#include "kernel/machine/mem.h"

#define ROWS        256
#define REPLY_BYTES 256

struct row {
    struct net_address from;
    u32 xid;
    u64 sum;
    bool served; /* now */
    u32 bytes;   /* of the answer; 0: there is none */
    u8 reply[REPLY_BYTES];
};

static struct spinlock lock = SPINLOCK("replies", RANK_FILE);
static struct row *rows; /* lock, and all below */
static u32 next;

/* Allocate the rows, once. Return 0 or -ENOMEM. */
int replies_start(void)
{
    if (rows)
        return 0;
    rows = mem_reserve(ROWS * sizeof *rows);
    if (!rows)
        return -ENOMEM;
    memset(rows, 0, ROWS * sizeof *rows);
    return 0;
}

/* Return the row of an earlier call with this number, checksum and sender,
 * which is being served or has its answer; or NULL. */
static struct row *find(const struct call *c)
{
    for (struct row *r = rows; r < rows + ROWS; r++)
        if (r->xid == c->xid && r->sum == c->sum &&
            r->from.host == c->from.host && r->from.port == c->from.port &&
            (r->served || r->bytes))
            return r;
    return NULL;
}

/* Return the next row, in round-robin order, that no call is being served from.
 * NULL if there is none: then the call is not remembered. */
static struct row *take(void)
{
    for (u32 i = 0; i < ROWS; i++) {
        struct row *r = &rows[next++ % ROWS];
        if (!r->served)
            return r;
    }
    return NULL;
}

/* Look whether the call is a repetition. If it is new, note that it is being
 * served; if it is answered, the answer is in c->reply. */
enum repeated replies_begin(struct call *c)
{
    HOLD(spin, &lock);
    struct row *r = find(c);
    if (r && r->served)
        return REPEATED_NOW;
    if (r) {
        memcpy(c->reply, r->reply, r->bytes);
        c->out.at = c->reply + r->bytes;
        return REPEATED_DONE;
    }
    r = take();
    if (r)
        *r = (struct row){
            .from = c->from, .xid = c->xid, .sum = c->sum, .served = true};
    return REPEATED_NOT;
}

/* The call is served: remember its answer, if it fits. */
void replies_end(const struct call *c)
{
    u32 bytes = c->out.at - c->reply;
    HOLD(spin, &lock);
    struct row *r = find(c);
    if (!r)
        return;
    r->served = false;
    if (bytes <= REPLY_BYTES) {
        r->bytes = bytes;
        memcpy(r->reply, c->reply, bytes);
    }
}
