/*
 * Leases, the client (leases.h).
 *
 * - An open needs a lease, and makes a call only if no valid one is held: after
 *   a close the lease stays. Blocks of another version are dropped then.
 * - A close makes no call and writes nothing. The update policy writes.
 * - The clock is looked at whenever the inode is locked. When the lease of an
 *   open file is over, what is dirty is written, all is dropped, and bytes go
 *   past the cache (past.c), until the renewing process has a lease again.
 * - Each RENEW_NS that process renews the leases that end within two such
 *   times, if their files are open or dirty. If it cannot, as the server is
 *   silent or has started again, it writes what is dirty.
 * - While a process asks for a lease the inode is not locked: the server may
 *   first evict this client, and the process that vacates locks the inode. Only
 *   a file that is past the cache is asked about with its inode locked, as
 *   vacating it needs no inode.
 * - A notice of eviction may overtake the reply that grants a lease. Stamps
 *   tell: a grant that is older than the last notice is void.
 */
#include "kernel/cache/bio.h"
#include "kernel/leases/client.h"
#include "kernel/machine/mem.h"
#include "kernel/proc/proc.h"

#define PORT     2100 /* for the first disk's mount; then the next ones */
#define RENEW_NS (5 * NS_PER_S)
#define AGAIN_NS NS_PER_S /* after which a busy server is asked again */
#define ASKING   3        /* processes at a time: other calls carry blocks */
#define TRIES    3        /* of a call that renews */

bool leases_used;
COUNTER_WITH(asked, "remote.leases", "calls", "that ask for a lease",
             &leases_used);

static struct lessee *lessees[MAX_DISKS]; /* mounting, in mount.c */

/* Return what the client of leases keeps of this mount. */
struct lessee *lessee_of(const struct mount *m)
{
    return lessees[m->disk->id];
}

/* Return the file's inode if it is open, otherwise NULL. */
struct inode *lease_inode(const struct file *f)
{
    return f->own.opens[0] || f->own.opens[1] ? f->ip : NULL;
}

/* True if a lease in force lets the file be cached (write: and written). */
static bool is_valid(const struct file *f, bool write)
{
    return f->own.lease >= (write ? WRITE_LEASE : READ_LEASE) &&
           clock_ns() < f->own.until_ns;
}

/* Give a lease up: write what is dirty and drop all. If the file is open, bytes
 * go past the cache from now on. Its inode is locked then. */
void lease_end(struct mount *m, struct file *f)
{
    int lost = flush_file(m, f);
    drop_blocks(m, f, 0, file_end(f));
    HOLD(spin, &m->lock);
    f->written = false;
    f->own.version = 0;
    f->own.lease = NO_LEASE;
    f->own.until_ns = clock_ns() + LEASE_TERM_NS; /* then ask again */
    f->lost = lost ?: f->lost;
    f->past = lease_inode(f);
    if (lost && f->past)
        f->ip->valid = false; /* its size is the server's again */
}

/* ---- calls ---- */

/* Begin a call to the server of leases about the file with this handle. */
struct call *lease_call(struct lessee *l, u32 procedure, const u8 *handle,
                        u32 bytes)
{
    struct call *c = call_take();
    call_begin(c, LEASE_PROGRAM, 1, procedure);
    xdr_put_bytes(&c->out, handle, bytes);
    xdr_put(&c->out, l->port);
    return c;
}

/* The reply to a GETLEASE. */
struct grant {
    enum lease lease;
    u64 stamp, version, previous, until_ns;
};

/* Wait before the server is asked again. Return 0 or -EINTR. */
static int pause(struct mount *m)
{
    u64 until_ns = clock_ns() + AGAIN_NS;
    HOLD(spin, &m->lock);
    int error = sleep_until(&until_ns, &m->lock, until_ns);
    return error == -EINTR ? error : 0;
}

/* Call GETLEASE. 0 or -errno; -EAGAIN: the server says to call again later. */
static int call_once(struct mount *m, struct file *f, enum lease lease,
                     bool write, u32 tries, struct grant *g)
{
    struct attributes a;
    u64 began = changes_now(m), began_ns = clock_ns();
    OWNED(call)
    struct call *c =
        lease_call(lessee_of(m), LEASE_GET, f->handle, f->handle_bytes);
    xdr_put(&c->out, lease);
    xdr_put(&c->out, write);
    count(&asked, 1);
    TRY(call_send(c, &m->server, m->server.port, tries));
    u32 status = xdr_u32(&c->in);
    if (status)
        return c->in.bad               ? -EIO
               : status == NFS_JUKEBOX ? -EAGAIN
                                       : nfs_error(status);
    *g = (struct grant){.stamp = xdr_u64(&c->in)};
    u64 term_ns = xdr_u32(&c->in) * NS_PER_MS;
    g->lease = term_ns ? lease : NO_LEASE;
    g->until_ns = began_ns + term_ns;
    g->version = xdr_u64(&c->in);
    g->previous = xdr_u64(&c->in);
    if (take_post(&c->in, &a))
        attributes_came(m, f, &a, began);
    return c->in.bad ? -EIO : 0;
}

/* Wait until fewer than ASKING processes call, then call_once. */
static int call_in_turn(struct mount *m, struct file *f, enum lease lease,
                        bool write, u32 tries, struct grant *g)
{
    struct lessee *l = lessee_of(m);
    spin_lock(&m->lock);
    while (l->asking == ASKING)
        sleep_on(l, &m->lock);
    l->asking++;
    spin_unlock(&m->lock);
    int error = call_once(m, f, lease, write, tries, g);
    HOLD(spin, &m->lock);
    l->asking--;
    wakeup(l);
    return error;
}

/* Call until the server is not busy. In the pauses other processes can call, so
 * the process that writes dirty blocks is not kept waiting. */
static int ask(struct mount *m, struct file *f, enum lease lease, bool write,
               struct grant *g)
{
    int error;
    while ((error = call_in_turn(m, f, lease, write, 0, g)) == -EAGAIN)
        TRY(pause(m));
    return error;
}

/* ---- one process at a time asks about a file ---- */

/* Begin to ask about a file, after others who ask or vacate it. */
static void begin(struct mount *m, struct file *f)
{
    HOLD(spin, &m->lock);
    while (f->own.calling || f->own.working || list_on(&f->own.due))
        sleep_on(lessee_of(m), &m->lock);
    f->own.calling = true;
}

/* End what begin has begun. */
static void end(struct mount *m, struct file *f)
{
    HOLD(spin, &m->lock);
    f->own.calling = false;
    wakeup(lessee_of(m));
}

/* Enter the granted lease. The inode is locked, if the file is open. */
static void take_grant(struct mount *m, struct file *f, const struct grant *g)
{
    u64 mine = f->own.version;
    bool right = mine && (g->version == mine ||
                          (g->lease == WRITE_LEASE && g->previous == mine));
    bool granted = g->lease && g->stamp > f->own.recalled;
    if (!right || !granted)
        lease_end(m, f);
    HOLD(spin, &m->lock);
    if (!granted || g->stamp < f->own.recalled)
        return;
    f->own.lease = g->lease;
    f->own.until_ns = g->until_ns;
    f->own.version = g->version;
    f->past = false;
}

/* ---- open and close ---- */

/* Ask for a lease. The inode is unlocked meanwhile. */
static int get_lease(struct inode *ip, bool write)
{
    struct mount *m = mount_of(ip);
    struct file *f = file_of(ip);
    struct grant g;
    if (!is_valid(f, false))
        TRY(flush_file(m, f)); /* the server was silent until its end */
    iunlock(ip);
    begin(m, f);
    int error = ask(m, f, write ? WRITE_LEASE : READ_LEASE, write, &g);
    sleep_lock(&ip->lock);
    if (!error)
        take_grant(m, f, &g);
    end(m, f);
    return error;
}

/* Open a file: get a lease if none is held that will do. */
static int lease_open(struct inode *ip, bool write)
{
    struct mount *m = mount_of(ip);
    struct file *f = file_of(ip);
    bool writes = write || f->own.opens[1];
    int error = is_valid(f, writes) ? 0 : get_lease(ip, writes);
    spin_lock(&m->lock);
    f->own.opens[write]++;
    f->past |= f->own.lease == NO_LEASE;
    spin_unlock(&m->lock);
    remote_load(ip);
    return error ?: ivalid(ip);
}

/* Close a file: wait while its lease is given up, because giving up uses the
 * inode. */
static int lease_close(struct inode *ip, bool write)
{
    struct mount *m = mount_of(ip);
    struct file *f = file_of(ip);
    HOLD(spin, &m->lock);
    while (f->own.working)
        sleep_on(lessee_of(m), &m->lock);
    f->own.opens[write]--;
    f->past &= lease_inode(f) != NULL;
    return take_lost(f);
}

/* ---- while a file is open ---- */

/* The inode was locked: look at the clock. If the lease is over, give it up;
 * past the cache, evict others who cache. */
static void locked(struct inode *ip)
{
    struct mount *m = mount_of(ip);
    struct file *f = file_of(ip);
    struct grant g;
    bool write = f->own.opens[1];
    if (!lease_inode(f) || (!f->past && is_valid(f, write)))
        return;
    if (!f->past)
        lease_end(m, f);
    f->error = ask(m, f, NO_LEASE, write, &g);
}

/* ---- renewing ---- */

/* True if the file's lease is used and ends within two periods of renewing. */
static bool is_due(const struct file *f)
{
    return (lease_inode(f) || f->written) &&
           clock_ns() + 2 * RENEW_NS >= f->own.until_ns;
}

/* Get a lease for a file that is open or dirty. If that fails, write the dirty
 * blocks while the old lease lasts. */
static void renew(struct mount *m, struct file *f)
{
    struct grant g;
    if (!is_due(f))
        return;
    begin(m, f);
    bool write = f->own.opens[1] || f->written;
    int error =
        call_in_turn(m, f, write ? WRITE_LEASE : READ_LEASE, write, TRIES, &g);
    {
        HOLD(sleep, lease_inode(f) ? &f->ip->lock : NULL);
        if (error)
            flush_file(m, f);
        else
            take_grant(m, f, &g);
    }
    end(m, f);
}

/* The process that renews the leases of a mount, each RENEW_NS. */
static void renewer(void *arg)
{
    struct lessee *l = arg;
    struct mount *m = l->mount;
    for (;;) {
        u64 until_ns = clock_ns() + RENEW_NS;
        spin_lock(&m->lock);
        l->renewing = false;
        wakeup(l);
        while (!l->used)
            sleep_on(l, &m->lock);
        while (l->used && clock_ns() < until_ns)
            sleep_until(l, &m->lock, until_ns);
        l->renewing = l->used;
        spin_unlock(&m->lock);
        for (u32 n = 1; l->renewing && n < m->nfiles; n++)
            renew(m, file_at(m, n));
    }
}

/* ---- mounting ---- */

/* Make what the client of leases keeps of a mount. */
static int make(struct mount *m)
{
    struct lessee *l = mem_reserve(sizeof *l);
    if (!l)
        return -ENOMEM;
    *l = (struct lessee){.mount = m, .port = PORT + m->disk->id};
    list_init(&l->due);
    lessees[m->disk->id] = l;
    return 0;
}

/* Start the processes that do not run yet. 0 or -errno. */
static int start(struct lessee *l)
{
    static const struct {
        const char *name;
        void (*fn)(void *);
    } all[] = {
        {"renew", renewer}, {"evict", evictor}, {"notice", notice_receiver}};
    if (!l->socket)
        TRY(socket_open(SOCKET_UDP, l->port, &l->socket));
    for (; l->nprocesses < NELEM(all); l->nprocesses++)
        if (!kthread_try(all[l->nprocesses].name, all[l->nprocesses].fn, l))
            return -ENOMEM;
    return 0;
}

/* Begin with a server. One without leases says so in its reply to the first
 * call. */
static int mounted(struct mount *m)
{
    struct grant g;
    TRY(lessee_of(m) ? 0 : make(m));
    struct lessee *l = lessee_of(m);
    TRY(start(l));
    int error = call_once(m, file_at(m, m->root), NO_LEASE, false, TRIES, &g);
    if (error && error != -EAGAIN)
        return error;
    HOLD(spin, &m->lock);
    l->used = leases_used = true;
    wakeup(l);
    return 0;
}

/* The mount is over: wait until its processes are at rest. */
static void unmounted(struct mount *m)
{
    struct lessee *l = lessee_of(m);
    if (!l)
        return;
    HOLD(spin, &m->lock);
    l->used = false;
    wakeup(l);
    while (l->renewing || l->evicting || !list_empty(&l->due))
        sleep_on(l, &m->lock);
}

static const struct consistency leases = {
    .name = "leases",
    .mounted = mounted,
    .unmounted = unmounted,
    .open = lease_open,
    .close = lease_close,
    .locked = locked,
};
CONSISTENCY(leases);
