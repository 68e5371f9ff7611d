/*
 * Leases, the server (leases.h): a table of the clients' leases with their
 * ends, and of the files' versions.
 *
 * - A request that conflicts waits: the other clients get a notice of eviction,
 *   again each AGAIN_NS, until they have vacated or their leases are over. At
 *   most half of the processes wait; else the client is to ask again.
 * - A call of NFS itself has a lease for its moment (guard): a WRITE of a
 *   client without a write lease evicts the others first. So clients that mount
 *   with `nfs` are consistent, too, and a late WRITE never changes a block that
 *   another client has cached under a lease. Programs of the server itself are
 *   not guarded.
 * - A version grows when a client gets a write lease, and with each change that
 *   a client without one makes. A file that the table has forgotten gets a new
 *   version, as all numbers come from one counter that starts with the server's
 *   time.
 * - The end of a write lease moves on while its client writes.
 * - A row goes: free - held - free, by VACATED or by time alone. A client that
 *   dies, or starts again, is waited for until then.
 */
#include "kernel/leases/leases.h"
#include "kernel/base/stat.h"
#include "kernel/nfs/internal.h"
#include "kernel/proc/sleep.h"

#define MARK     ".leases"
#define FILES    512
#define LEASES   1024
#define AGAIN_NS NS_PER_S

static bool has_granted; /* the counters are shown */
COUNTER_WITH(evicted, "nfs.evictions", "notices",
             "to clients, which are to give up a lease", &has_granted);
COUNTER_WITH(expired, "nfs.expired", "leases",
             "whose end a conflicting request waited for", &has_granted);

/* A file in the table. `lock` guards the whole table. */
struct known {
    u32 ino, generation; /* 0: free */
    u32 nleases;         /* rows with a lease of this file */
    u64 version, used;
};

struct lease_row {
    struct known *file;    /* NULL: free */
    struct net_address at; /* the client: its host and port of notices */
    bool write;
    u64 stamp, until_ns;
};

struct table {
    struct promises promises;
    struct known files[FILES];
    struct lease_row rows[LEASES];
    bool marked;
};
static struct promises *promises; /* the table, or NULL */
static struct spinlock lock = SPINLOCK("leases", RANK_FILE);

/* Return the table: the server's promises are its first part. */
static struct table *table(void)
{
    return CONTAINER(promises, struct table, promises);
}

#define TABLE_EACH(type, i, array)        \
    for (struct type *i = table()->array; \
         i < table()->array + NELEM(table()->array); i++)

/* Allocate the table, which is empty after a start of the server. 0 or -ENOMEM.
 */
static int start(void)
{
    TRY(promises_start(&promises, sizeof(struct table), MARK, LEASE_GRACE_NS,
                       &lock));
    has_granted = true;
    return 0;
}

/* ---- rows ---- */

/* Free a lease. */
static void free_row(struct lease_row *l)
{
    l->file->nleases--;
    *l = (struct lease_row){0};
}

/* True if the row is held. A row whose time is over becomes free. */
static bool is_held(struct lease_row *l)
{
    u64 slack_ns = LEASE_SKEW_NS + (l->write ? LEASE_SLACK_NS : 0);
    if (l->file && clock_ns() >= l->until_ns + slack_ns)
        free_row(l);
    return l->file;
}

/* Return the client's lease of this file, or NULL. */
static struct lease_row *find_row(const struct known *f,
                                  struct net_address client)
{
    TABLE_EACH (lease_row, l, rows)
        if (is_held(l) && l->file == f && l->at.host == client.host &&
            l->at.port == client.port)
            return l;
    return NULL;
}

/* Return a free row, or NULL. */
static struct lease_row *free_place(void)
{
    TABLE_EACH (lease_row, l, rows)
        if (!is_held(l))
            return l;
    return NULL;
}

/* ---- files ---- */

/* Return what is known of this file, or NULL. */
static struct known *find_file(u32 ino, u32 generation)
{
    TABLE_EACH (known, f, files)
        if (f->ino == ino && f->generation == generation)
            return f;
    return NULL;
}

/* Find or enter the file. A new file takes the place of the file without leases
 * that was used least recently. NULL: all files have leases. */
static struct known *enter_file(u32 ino, u32 generation)
{
    struct known *found = find_file(ino, generation);
    if (found)
        return found;
    TABLE_EACH (known, f, files)
        if (!f->nleases && (!found || f->used < found->used))
            found = f;
    if (found)
        *found = (struct known){.ino = ino,
                                .generation = generation,
                                .version = ++promises->counter};
    return found;
}

/* ---- evicting ---- */

/* A client's access to a file. */
struct intent {
    u32 ino, generation;
    struct net_address by; /* port 0: any of that host */
    bool write;
};

/* True if the lease is of the client that asks. A call of NFS has no port: then
 * its host counts. */
static bool is_same(const struct lease_row *l, const struct intent *a)
{
    return l->at.host == a->by.host &&
           (!a->by.port || l->at.port == a->by.port);
}

/* Return a lease of another client that conflicts with the access, or NULL. */
static struct lease_row *find_conflict(const struct intent *a)
{
    const struct known *f = find_file(a->ino, a->generation);
    TABLE_EACH (lease_row, l, rows)
        if (f && l->file == f && !is_same(l, a) && (a->write || l->write) &&
            is_held(l))
            return l;
    return NULL;
}

/* Send a notice. A notice that cannot be sent counts as lost: it is repeated.
 */
static void send_notice(struct net_address to, const struct intent *a,
                        u64 stamp)
{
    u8 message[128];
    struct socket *socket;
    u32 head[] = {stamp,       RPC_CALL,
                  RPC_VERSION, EVICTION_PROGRAM,
                  1,           EVICTION_NOTICE,
                  0,           0,
                  0,           0}; /* AUTH_NONE twice */
    struct xdr x = {message, message + sizeof message, false};
    for (u32 i = 0; i < NELEM(head); i++)
        xdr_put(&x, head[i]);
    put_numbers(&x, a->ino, a->generation);
    xdr_put64(&x, stamp);
    if (socket_open(SOCKET_UDP, 0, &socket))
        return;
    struct uio u = {(u64)message, x.at - message, 0, false, true};
    socket_send(socket, to, &u);
    socket_close(socket);
}

/* Wait until no lease of another client conflicts. 0, or JUKEBOX. The lock is
 * held. */
static int evict_others(const struct intent *a)
{
    struct lease_row *l;
    while ((l = find_conflict(a))) {
        struct net_address to = l->at;
        u64 stamp = ++promises->counter, held = l->stamp;
        spin_unlock(&lock);
        count(&evicted, 1);
        send_notice(to, a, stamp);
        spin_lock(&lock);
        if (!promises_may_wait(promises))
            return NFS_JUKEBOX;
        int error = 0;
        u64 until_ns = clock_ns() + AGAIN_NS;
        while (!error && l->stamp == held)
            error = sleep_until(promises, &lock, until_ns);
        promises->waiting--;
        count(&expired, l->stamp == held && !is_held(l));
        if (error == -EINTR)
            return NFS_JUKEBOX;
    }
    return 0;
}

/* ---- GETLEASE and VACATED ---- */

struct asking {
    struct intent access;
    enum lease lease;
};

struct grant {
    u64 stamp, term_ns, version, previous;
};

/* Grant a lease that conflicts with no other; its term is 0 if the table is
 * full. */
static void grant(const struct asking *r, struct grant *g)
{
    const struct intent *a = &r->access;
    struct known *f = enter_file(a->ino, a->generation);
    g->stamp = ++promises->counter;
    if (!f)
        return;
    struct lease_row *l = find_row(f, a->by);
    bool had_write = l && l->write;
    f->used = g->stamp;
    g->previous = g->version = f->version;
    l = l ?: r->lease ? free_place() : NULL;
    if (!l || !r->lease)
        return;
    f->nleases += !l->file;
    *l = (struct lease_row){f, a->by, r->lease == WRITE_LEASE, g->stamp,
                            clock_ns() + LEASE_TERM_NS};
    if (l->write && !had_write)
        g->version = f->version = ++promises->counter;
    g->term_ns = LEASE_TERM_NS;
}

/* Grant a lease once no other one conflicts. JUKEBOX: ask again later. */
static int get_lease(const struct asking *r, struct grant *g)
{
    HOLD(spin, &lock);
    if (clock_ns() < promises->grace_ns)
        return NFS_JUKEBOX;
    TRY(evict_others(&r->access));
    grant(r, g);
    return 0;
}

/* GETLEASE. The mark is there before the first lease. */
static int serve_get(struct call *c)
{
    struct asking r = {.access.by.host = c->from.host};
    struct intent *a = &r.access;
    struct grant g = {0};
    TRY(take_numbers(c, &a->ino, &a->generation));
    a->by.port = xdr_u32(&c->in);
    r.lease = xdr_u32(&c->in);
    a->write = xdr_bool(&c->in) || r.lease == WRITE_LEASE;
    c->in.bad |= r.lease > WRITE_LEASE;
    TRY(args_end(c) ?: start());
    TRY(ext2_find(exported.root, a->ino, a->generation, &c->ip));
    TRY(table()->marked ? 0 : promises_mark(MARK));
    table()->marked = true;
    int status = get_lease(&r, &g);
    if (status)
        return status;
    xdr_put64(&c->out, g.stamp);
    xdr_put(&c->out, g.term_ns / NS_PER_MS);
    xdr_put64(&c->out, g.version);
    xdr_put64(&c->out, g.previous);
    return put_post_of(&c->out, c->ip);
}

/* VACATED: free the lease, unless it was granted after that. */
static int serve_vacated(struct call *c)
{
    u32 ino, generation;
    TRY(take_numbers(c, &ino, &generation));
    struct net_address client = {c->from.host, xdr_u32(&c->in)};
    u64 stamp = xdr_u64(&c->in);
    TRY(args_end(c) ?: start());
    HOLD(spin, &lock);
    struct known *f = find_file(ino, generation);
    struct lease_row *l = f ? find_row(f, client) : NULL;
    if (l && l->stamp < stamp) {
        free_row(l);
        wakeup(promises);
    }
    return 0;
}

/* ---- calls of NFS itself ---- */

/* Note a change by a host: its write lease lasts longer, or the file has
 * another version. */
static void note_change(struct known *f, u32 host)
{
    bool has_lease = false;
    TABLE_EACH (lease_row, l, rows)
        if (l->file == f && l->write && l->at.host == host && is_held(l)) {
            l->until_ns = MAX(l->until_ns, clock_ns());
            has_lease = true;
        }
    if (!has_lease)
        f->version = ++promises->counter;
}

/* Give a call of NFS the lease that it needs for a moment. A server without
 * leases does nothing here. While the server waits for the leases of its last
 * start to end, their holders may write their dirty blocks. */
static int guard(struct call *c, bool write)
{
    struct intent a = {.ino = c->ip->ino,
                       .generation = c->ip->generation,
                       .by.host = c->from.host,
                       .write = write};
    if (!promises_current(promises))
        return 0;
    HOLD(spin, &lock);
    TRY(evict_others(&a));
    struct known *f = find_file(a.ino, a.generation);
    if (f && write)
        note_change(f, a.by.host);
    return 0;
}

static const struct procedure procedures[] = {
    [0] = {serve_null, .no_status = true},
    [LEASE_GET] = {serve_get, .once = true},
    [LEASE_VACATED] = {serve_vacated},
};

static const struct program lease_program = {
    LEASE_PROGRAM, 1, NFS_PORT, procedures, NELEM(procedures), guard};
PROGRAM(lease_program);
