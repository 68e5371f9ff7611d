/*
 * Spritely NFS (Srinivasan and Mogul, "Spritely NFS: Experiments with
 * Cache-Consistency Protocols", SOSP 1989), the client: each read sees the
 * latest write of any client, exactly.
 *
 * - An open asks the server, which says whether the file may be cached, and its
 *   version. Blocks of another version are dropped. If the file may not be
 *   cached, as others write it, bytes go past the cache (past.c).
 * - A close tells the server. Dirty blocks stay dirty, and the update policy
 *   writes them. If another client opens the file, the server recalls them
 *   (callback.c).
 * - The inode is not locked while an open asks: the server may have to call
 *   this client back first, and the process that answers locks it. So one
 *   process at a time asks about a file: it is `calling`.
 * - A recall may overtake the reply to an open that was granted before it.
 *   Stamps tell: a grant that is older than the last recall allows no caching.
 * - Each SPRITELY_PING_NS the server is asked for its epoch. If it has started
 *   again, or has taken this client for dead, a new era begins: each file that
 *   is open or dirty is opened again. Blocks of a file that another client has
 *   changed meanwhile are dropped, and if they were dirty, a close or fsync
 *   reports ESTALE.
 */
#include "kernel/cache/bio.h"
#include "kernel/proc/proc.h"
#include "kernel/spritely/client.h"

#define AGAIN_NS NS_PER_S /* after which a refused open is asked again */
#define ASKING   3        /* processes */
#define TRIES    5        /* of a call by mount and by a ping */

/* The reply to an OPEN. */
struct grant {
    u64 epoch, stamp, version, previous;
    bool cachable;
};

static u64 boot; /* of this machine: the time of its first mount */

/* ---- one process at a time asks about a file ---- */

/* Take the file for this process, and count an open or a close of it. Returns
 * whether blocks of it may be dirty. A close waits for a recall, because the
 * recall uses the inode. Only ASKING processes ask at a time, so that other
 * calls can carry the blocks that the server waits for. */
static bool begin(struct mount *m, struct file *f, bool write, int opens)
{
    HOLD(spin, &m->lock);
    while (m->spritely.asking == ASKING || f->own.calling ||
           (opens < 0 && f->own.working))
        sleep_on(&m->spritely, &m->lock);
    m->spritely.asking++;
    f->own.calling = true;
    f->own.opens[write] += opens;
    return f->written;
}

/* End what begin has begun: others may ask about the file. */
static void end(struct mount *m, struct file *f)
{
    HOLD(spin, &m->lock);
    m->spritely.asking--;
    f->own.calling = false;
    wakeup(&m->spritely);
}

/* ---- calls ---- */

/* Put who this client is: its boot and its port. */
static void put_client(struct xdr *x, const struct mount *m)
{
    xdr_put64(x, boot);
    xdr_put(x, m->spritely.port);
}

/* Begin a call about a file, or (NULL) about none. How often it is open is told
 * with it. */
static struct call *begin_call(struct mount *m, u32 procedure, struct file *f)
{
    struct call *c = call_take();
    call_begin(c, SPRITELY_PROGRAM, 1, procedure);
    if (f)
        put_file(&c->out, f);
    put_client(&c->out, m);
    if (f) {
        xdr_put(&c->out, f->own.opens[false]); /* for reading */
        xdr_put(&c->out, f->own.opens[true]);
    }
    return c;
}

/* Send a call: 0 or -errno; -EAGAIN: the caller is to try again later. */
static int send(struct mount *m, struct call *c, u32 tries)
{
    TRY(call_send(c, &m->server, m->server.port, tries));
    u32 status = xdr_u32(&c->in);
    bool later = status == NFS_JUKEBOX || status == NFS_NOT_SYNC;
    return c->in.bad ? -EIO : later ? -EAGAIN : nfs_error(status);
}

/* PING: ask for the server's epoch, and if it knows this client. */
static int ask_epoch(struct mount *m, u32 tries, u64 *epoch, bool *known)
{
    OWNED(call) struct call *c = begin_call(m, SPRITELY_PING, NULL);
    TRY(send(m, c, tries));
    *epoch = xdr_u64(&c->in);
    *known = xdr_bool(&c->in);
    return c->in.bad ? -EIO : 0;
}

/* OPEN: ask if the file may be cached. -EAGAIN: the server has started
 * again. */
static int ask_open(struct mount *m, struct file *f, enum spritely_how how,
                    bool dirty, struct grant *g)
{
    struct attributes a;
    u64 began = changes_now(m);
    OWNED(call) struct call *c = begin_call(m, SPRITELY_OPEN, f);
    xdr_put(&c->out, how);
    xdr_put(&c->out, how != OPEN_RECLAIM || !f->past); /* cached */
    xdr_put(&c->out, dirty);
    xdr_put64(&c->out, f->own.version);
    TRY(send(m, c, 0));
    *g = (struct grant){.epoch = xdr_u64(&c->in)};
    g->stamp = xdr_u64(&c->in);
    g->cachable = xdr_bool(&c->in);
    g->version = xdr_u64(&c->in);
    g->previous = xdr_u64(&c->in);
    if (take_post(&c->in, &a))
        attributes_came(m, f, &a, began);
    return c->in.bad ? -EIO : g->epoch != m->spritely.epoch ? -EAGAIN : 0;
}

/* CLOSE: tell how often the file is still open. A killed process's is told
 * later. */
static int tell_close(struct mount *m, struct file *f, bool dirty)
{
    OWNED(call) struct call *c = begin_call(m, SPRITELY_CLOSE, f);
    xdr_put(&c->out, dirty);
    int error = send(m, c, 0);
    f->own.unclosed = error == -EINTR;
    return error;
}

/* ---- grants and recalls ---- */

/* Return the file's inode if it is open, otherwise NULL. */
struct inode *spritely_inode(const struct file *f)
{
    return f->own.opens[0] || f->own.opens[1] ? f->ip : NULL;
}

/* Drop all blocks; `lost` is the error of dirty ones, or 0. If the file is
 * open, bytes go past the cache from now on. */
void spritely_drop(struct mount *m, struct file *f, int lost)
{
    drop_blocks(m, f, 0, file_end(f));
    HOLD(spin, &m->lock);
    f->written = false;
    f->own.version = 0;
    f->lost = lost ?: f->lost;
    f->past = spritely_inode(f);
    if (lost && f->past)
        f->ip->valid = false; /* its size is the server's again */
}

/* Apply the server's grant. The inode is locked, if the file is open. */
static void take_grant(struct mount *m, struct file *f, enum spritely_how how,
                       const struct grant *g)
{
    u64 mine = f->own.version;
    bool right = mine && (g->version == mine ||
                          (how == OPEN_WRITE && g->previous == mine));
    bool overtaken =
        f->own.era == m->spritely.era && g->stamp < f->own.recalled;
    bool cachable = g->cachable && !overtaken;
    int lost = !f->written ? 0 : right ? 0 : -ESTALE;
    if (right && !cachable)
        lost = flush_file(m, f);
    if (!right || !cachable)
        spritely_drop(m, f, lost);
    HOLD(spin, &m->lock);
    f->own.era = m->spritely.era;
    f->past = !cachable && spritely_inode(f);
    f->own.version = cachable ? g->version : 0;
}

/* ---- open and close ---- */

/* Have the process that pings find out what the server is doing, and wait.
 * 0 or -EINTR. */
static int wait_for_server(struct mount *m)
{
    u64 until_ns = clock_ns() + AGAIN_NS;
    HOLD(spin, &m->lock);
    m->spritely.hurry = true;
    wakeup(&m->spritely);
    int error = sleep_until(&until_ns, &m->lock, until_ns);
    return error == -EINTR ? error : 0;
}

/* Open a file. The inode is unlocked while the server is asked; an open is
 * counted once, however often it asks. */
static int spritely_open(struct inode *ip, bool write)
{
    struct mount *m = mount_of(ip);
    struct file *f = file_of(ip);
    enum spritely_how how = write ? OPEN_WRITE : OPEN_READ;
    struct grant g;
    int error = 0;
    for (int opens = 1; !error; opens = 0) {
        iunlock(ip);
        bool dirty = begin(m, f, write, opens);
        error = ask_open(m, f, how, dirty, &g);
        ilock(ip);
        if (!error)
            take_grant(m, f, how, &g);
        end(m, f);
        if (error != -EAGAIN)
            break;
        iunlock(ip);
        error = wait_for_server(m);
        ilock(ip);
    }
    remote_load(ip);
    return error ?: ivalid(ip);
}

/* Close a file. Return the error of data that was lost. */
static int spritely_close(struct inode *ip, bool write)
{
    struct mount *m = mount_of(ip);
    struct file *f = file_of(ip);
    tell_close(m, f, begin(m, f, write, -1));
    f->past &= spritely_inode(f) != NULL;
    end(m, f);
    return take_lost(f);
}

/* ---- the server's epoch ---- */

/* Open a file again that is open or dirty, if it was opened in another epoch.
 */
static void reclaim(struct mount *m, struct file *f)
{
    struct grant g;
    if (f->own.era == m->spritely.era)
        return;
    bool dirty = begin(m, f, false, 0);
    if (spritely_inode(f) || dirty) {
        int error = ask_open(m, f, OPEN_RECLAIM, dirty, &g);
        HOLD(sleep, spritely_inode(f) ? &f->ip->lock : NULL);
        if (!error)
            take_grant(m, f, OPEN_RECLAIM, &g);
        else if (error == -ESTALE)
            spritely_drop(m, f, error);
    }
    end(m, f);
}

/* Call fn for all files of the mount. Number 0 is none. */
static void each_file(struct mount *m,
                      void (*fn)(struct mount *, struct file *))
{
    for (u32 n = 1; n < m->nfiles; n++)
        fn(m, file_at(m, n));
}

/* Report a close that a killed process could not report. */
static void close_again(struct mount *m, struct file *f)
{
    if (!f->own.unclosed)
        return;
    tell_close(m, f, begin(m, f, false, 0));
    end(m, f);
}

/* Ask for the epoch. In a new era open again what is open or dirty, and tell
 * closes that were not told. */
static void ping(struct mount *m)
{
    u64 epoch;
    bool known;
    if (ask_epoch(m, TRIES, &epoch, &known))
        return;
    m->spritely.era += epoch != m->spritely.epoch || !known;
    m->spritely.epoch = epoch;
    each_file(m, reclaim);
    each_file(m, close_again);
}

/* Wait until it is time to ping. */
static void wait_to_ping(struct mount *m)
{
    u64 until_ns = clock_ns() + SPRITELY_PING_NS;
    HOLD(spin, &m->lock);
    m->spritely.pinging = false;
    wakeup(&m->spritely);
    while (!m->spritely.used)
        sleep_on(&m->spritely, &m->lock);
    while (m->spritely.used && !m->spritely.hurry && clock_ns() < until_ns)
        sleep_until(&m->spritely, &m->lock, until_ns);
    m->spritely.hurry = false;
    m->spritely.pinging = m->spritely.used;
}

/* The process that pings the server of a mount. */
static void pinger(void *arg)
{
    struct mount *m = arg;
    for (;;) {
        wait_to_ping(m);
        if (m->spritely.pinging)
            ping(m);
    }
}

/* ---- mounting ---- */

/* Start the processes that do not run yet. 0 or -ENOMEM. */
static int start(struct mount *m)
{
    static const struct {
        const char *name;
        void (*fn)(void *);
    } all[] = {{"ping", pinger}, {"recall", recaller}, {"callback", receiver}};
    for (u32 *n = &m->spritely.nprocesses; *n < NELEM(all); ++*n)
        if (!kthread_try(all[*n].name, all[*n].fn, m))
            return -ENOMEM;
    return 0;
}

/* Begin with a server. Return 0 or an error. */
static int mounted(struct mount *m)
{
    bool known;
    boot = boot ?: clock_wall_ns();
    TRY(callback_open(m) ?: start(m));
    TRY(ask_epoch(m, TRIES, &m->spritely.epoch, &known));
    HOLD(spin, &m->lock);
    m->spritely.used = true;
    wakeup(&m->spritely);
    return 0;
}

/* The mount is over: wait until its processes are at rest. */
static void unmounted(struct mount *m)
{
    HOLD(spin, &m->lock);
    m->spritely.used = false;
    wakeup(&m->spritely);
    while (m->spritely.pinging || m->spritely.recalling)
        sleep_on(&m->spritely, &m->lock);
}

static const struct consistency spritely = {
    .name = "spritely",
    .mounted = mounted,
    .unmounted = unmounted,
    .open = spritely_open,
    .close = spritely_close,
};
CONSISTENCY(spritely);
