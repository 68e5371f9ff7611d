/*
 * Spritely NFS (Srinivasan and Mogul, "Spritely NFS: Experiments with
 * Cache-Consistency Protocols", SOSP 1989): the server's table of states.
 *
 * - A client says when it opens and closes a file. So the server knows who may
 *   have cached what, and a read sees the latest write exactly:
 *     one client, or readers only            each may cache
 *     a writer and another client            nobody may cache: write sharing
 *     closed, and the last writer may have dirty blocks     recalled by an open
 * - A file's version grows with each open for writing. A client's old blocks
 *   are right if they are of the file's version; for a writer, of the one
 *   before it.
 * - An open that does not fit calls back: the other clients write their dirty
 *   blocks, or drop all (recall.c). The file is busy meanwhile, and other
 *   opens of it wait. No inode is locked then. At most half of the processes
 *   wait in these ways, as the others must serve the blocks that are written.
 *   A further open is answered JUKEBOX, and the client tries again.
 * - A client that does not answer has died: it is forgotten. So is one whose
 *   boot number has changed.
 * - Clients tell how often they have a file open, not that it is once more. So
 *   an OPEN may be repeated, and is also how a client recovers.
 * - Recovery is by re-opening, as in Sprite: what is here is lost when the
 *   server stops. Its epoch tells the clients, who ask for it each
 *   SPRITELY_PING_NS. For SPRITELY_GRACE_NS after the start the server accepts
 *   only re-opens, as in "Recovery in Spritely NFS" (Mogul, 1994). A file in
 *   the exported directory, MARK, says that there have ever been such clients;
 *   without it nobody need wait.
 * - Only clients of Spritely NFS are in the table: what others, or programs on
 *   the server, do with a file is seen as by NFS.
 */
#include "kernel/spritely/server.h"
#include "kernel/proc/sleep.h"

#define MARK        ".spritely"
#define CLIENTS     16
#define FILES       512
#define OPENS       1024
#define USERS_LEAST 3 /* processes, so that one may wait */

/* A client in the table. `lock` guards the whole table. */
struct client {
    struct net_address at; /* of its callbacks; host 0: free */
    u64 boot;
};

struct known {
    u32 ino, generation; /* 0: free */
    bool busy;           /* an open calls back */
    u32 nrows, nopen;    /* opens[] of it; those that are open */
    u64 version, used;
};

struct open {
    struct known *file; /* NULL: free */
    struct client *client;
    u32 readers, writers;
    bool cached; /* it may cache, while it has the file open */
    bool dirty;  /* it may have dirty blocks, open or not */
};

struct table {
    struct promises promises;
    struct client clients[CLIENTS];
    struct known files[FILES];
    struct open opens[OPENS];
};
static struct promises *promises; /* the table, or NULL */
static struct spinlock lock = SPINLOCK("spritely", RANK_FILE);

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
    return promises_start(&promises, sizeof(struct table), MARK,
                          SPRITELY_GRACE_NS, &lock);
}

/* True while clients of the server's last epoch may open their files again. */
static bool in_grace(void)
{
    return clock_ns() < promises->grace_ns;
}

/* ---- clients ---- */

/* The client that a call names. */
struct caller {
    struct net_address at;
    u64 boot;
};

/* Take who calls: its boot and its port. The host is the sender's. */
static struct caller take_caller(struct call *c)
{
    u64 boot = xdr_u64(&c->in);
    return (struct caller){{c->from.host, xdr_u32(&c->in)}, boot};
}

/* True if the client has the file open. */
static bool is_open(const struct open *o)
{
    return o->readers || o->writers;
}

/* Note how often a client has a file open, and whether it may have dirty
 * blocks. A row without opens and without dirty blocks is free. */
static void set_open(struct open *o, u32 readers, u32 writers, bool dirty)
{
    o->file->nopen -= is_open(o);
    o->readers = readers;
    o->writers = writers;
    o->dirty = dirty;
    o->file->nopen += is_open(o);
    if (is_open(o) || dirty)
        return;
    o->file->nrows--;
    *o = (struct open){0};
}

/* Forget a client and its opens. */
static void forget(struct client *client)
{
    TABLE_EACH (open, o, opens)
        if (o->client == client)
            set_open(o, 0, 0, false);
    client->at.host = 0;
}

/* Return the client, or NULL. One of an earlier boot of its host is
 * forgotten. */
static struct client *find_client(const struct caller *caller)
{
    TABLE_EACH (client, i, clients) {
        if (i->at.host != caller->at.host)
            continue;
        if (i->boot != caller->boot)
            forget(i);
        else if (i->at.port == caller->at.port)
            return i;
    }
    return NULL;
}

/* Find or enter the client; *known is false if it is new. NULL: the table is
 * full. */
static struct client *enter_client(const struct caller *caller, bool *known)
{
    HOLD(spin, &lock);
    struct client *found = find_client(caller);
    *known = found;
    TABLE_EACH (client, i, clients)
        if (!found && !i->at.host)
            found = i;
    if (found && !*known)
        *found = (struct client){caller->at, caller->boot};
    return found;
}

/* PING: enter the client. The mark is there before the first one. */
static int serve_ping(struct call *c)
{
    bool known;
    struct caller caller = take_caller(c);
    TRY(args_end(c) ?: start());
    if (exported.users < USERS_LEAST)
        return NFS_JUKEBOX;
    if (!enter_client(&caller, &known))
        return -ENFILE;
    TRY(known ? 0 : promises_mark(MARK));
    xdr_put64(&c->out, exported.verifier);
    xdr_put(&c->out, known);
    return 0;
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

/* Return the file that was used longest ago and of which no client has
 * anything, or NULL. */
static struct known *oldest_unused(void)
{
    struct known *found = NULL;
    TABLE_EACH (known, f, files)
        if ((!found || f->used < found->used) && !f->busy && !f->nrows)
            found = f;
    return found;
}

/* ---- opens ---- */

/* Return the client's row of this file, or NULL. NULL, NULL: a free row. */
static struct open *find_open(const struct known *f,
                              const struct client *client)
{
    TABLE_EACH (open, o, opens)
        if (o->file == f && o->client == client)
            return o;
    return NULL;
}

/* Return the client's row of this file, made if need be; NULL if the table is
 * full. */
static struct open *enter_open(struct known *f, struct client *client)
{
    struct open *o = find_open(f, client) ?: find_open(NULL, NULL);
    if (o && !o->file) {
        *o = (struct open){.file = f, .client = client};
        f->nrows++;
    }
    return o;
}

/* Return the callback that another client gets before an open: none, write
 * back, or write back and drop its blocks. */
static bool must_recall(const struct open *o, bool write, struct recall *r)
{
    r->invalidate = o->cached && is_open(o) && (write || o->writers);
    return r->invalidate || o->dirty;
}

/* Call back the clients that an open conflicts with. 0, or JUKEBOX. */
static int recall_others(struct known *f, const struct client *mine, bool write)
{
    TABLE_EACH (open, o, opens) {
        struct recall r = {.ino = f->ino, .generation = f->generation};
        struct client *other = o->client;
        if (o->file != f || other == mine || !must_recall(o, write, &r))
            continue;
        if (!promises_may_wait(promises))
            return NFS_JUKEBOX;
        r.client = other->at;
        r.stamp = ++promises->counter;
        spin_unlock(&lock);
        int error = recall_file(&r);
        spin_lock(&lock);
        promises->waiting--;
        if (error == -EINTR)
            return NFS_JUKEBOX;
        if (error)
            forget(other);
        if (o->file != f || o->client != other)
            continue;
        o->cached &= !r.invalidate;
        set_open(o, o->readers, o->writers, false);
    }
    return 0;
}

/* ---- one open of a file at a time ---- */

/* The file is not busy any more. Wake who waits for that. */
static void unlock_file(struct known *f)
{
    f->busy = false;
    wakeup(promises);
}

/* Recall the dirty blocks of the closed file that was used least recently, so
 * that it needs no rows. False: not now. */
static bool make_room(void)
{
    struct known *closed = NULL;
    TABLE_EACH (known, f, files)
        if ((!closed || f->used < closed->used) && !f->busy && f->nrows &&
            !f->nopen)
            closed = f;
    if (!closed)
        return false;
    closed->busy = true;
    int status = recall_others(closed, NULL, false);
    unlock_file(closed);
    return status == 0;
}

/* Enter a file. If the table is full, it takes the place of a file of which no
 * client has opens or blocks: the one used least recently. NULL: try later. */
static struct known *enter_file(u32 ino, u32 generation)
{
    struct known *f;
    while (!(f = oldest_unused()) || !find_open(NULL, NULL))
        if (!make_room())
            return NULL;
    if (!find_file(ino, generation)) /* else another process was faster */
        *f = (struct known){.ino = ino,
                            .generation = generation,
                            .version = ++promises->counter};
    return find_file(ino, generation);
}

/* Return the file, busy for this process alone. NULL: try later. */
static struct known *lock_file(u32 ino, u32 generation)
{
    struct known *f;
    while ((f = find_file(ino, generation) ?: enter_file(ino, generation)) &&
           f->busy) {
        if (!promises_may_wait(promises))
            return NULL;
        int error = sleep_until(promises, &lock, 0);
        promises->waiting--;
        if (error)
            return NULL;
    }
    if (f) {
        f->busy = true;
        f->used = ++promises->counter;
    }
    return f;
}

/* True if a client may cache the file that it has open, perhaps for writing. */
static bool may_cache(const struct open *mine, bool write)
{
    TABLE_EACH (open, o, opens)
        if (o->file == mine->file && o != mine &&
            (o->writers || (write && is_open(o))))
            return false;
    return true;
}

/* ---- OPEN and CLOSE ---- */

struct opening {
    struct caller caller;
    u32 ino, generation, readers, writers;
    enum spritely_how how;
    bool cached, dirty;
    u64 version;
};

/* Take the arguments of OPEN or, with `close`, of CLOSE, which has fewer. */
static int take_opening(struct call *c, struct opening *a, bool close)
{
    TRY(take_numbers(c, &a->ino, &a->generation));
    a->caller = take_caller(c);
    a->readers = xdr_u32(&c->in);
    a->writers = xdr_u32(&c->in);
    a->how = close ? OPEN_READ : xdr_u32(&c->in);
    a->cached = close || xdr_bool(&c->in);
    a->dirty = xdr_bool(&c->in);
    a->version = close ? 0 : xdr_u64(&c->in);
    c->in.bad |= a->how > OPEN_RECLAIM;
    return args_end(c);
}

struct grant {
    u64 stamp, version, previous;
    bool cachable;
};

/* Grant the open of a file that this process has locked; no other client's open
 * conflicts. */
static int grant(struct known *f, struct client *client,
                 const struct opening *a, struct grant *g)
{
    struct open *o = enter_open(f, client);
    if (!o)
        return NFS_JUKEBOX;
    g->previous = f->version;
    if (a->how == OPEN_WRITE)
        f->version = ++promises->counter;
    g->cachable = a->cached && may_cache(o, a->writers);
    o->cached = g->cachable;
    set_open(o, a->readers, a->writers,
             a->dirty || (g->cachable && a->writers));
    g->version = f->version;
    g->stamp = ++promises->counter;
    return 0;
}

/* Recall the file from others, and grant what may be. The lock is released
 * while a client is called, so the caller may be forgotten meanwhile. */
static int open_file(const struct opening *a, struct grant *g)
{
    HOLD(spin, &lock);
    struct client *client = find_client(&a->caller);
    if (!client)
        return NFS_NOT_SYNC; /* it pings first */
    bool is_new = !find_file(a->ino, a->generation);
    struct known *f = lock_file(a->ino, a->generation);
    if (!f)
        return NFS_JUKEBOX;
    if (is_new && a->how == OPEN_RECLAIM && a->version && in_grace())
        f->version = a->version; /* else the client's blocks may be old */
    int status = recall_others(f, client, a->writers)
                     ?: find_client(&a->caller) != client ? NFS_JUKEBOX
                                                          : 0;
    status = status ?: grant(f, client, a, g);
    unlock_file(f);
    return status;
}

/* OPEN. In the time of grace only files that were open are opened. */
static int serve_open(struct call *c)
{
    struct opening a;
    struct grant g;
    TRY(take_opening(c, &a, false) ?: start());
    TRY(ext2_find(exported.root, a.ino, a.generation, &c->ip));
    if (a.how != OPEN_RECLAIM && in_grace())
        return NFS_JUKEBOX;
    TRY(open_file(&a, &g));
    xdr_put64(&c->out, exported.verifier);
    xdr_put64(&c->out, g.stamp);
    xdr_put(&c->out, g.cachable);
    xdr_put64(&c->out, g.version);
    xdr_put64(&c->out, g.previous);
    return put_post_of(&c->out, c->ip);
}

/* CLOSE: note how often the client has the file open still. This does not wait
 * for an open that is calling clients back; that open looks at the file's state
 * again. */
static int serve_close(struct call *c)
{
    struct opening a;
    TRY(take_opening(c, &a, true) ?: start());
    HOLD(spin, &lock);
    struct known *f = find_file(a.ino, a.generation);
    struct client *client = find_client(&a.caller);
    struct open *o = f && client ? find_open(f, client) : NULL;
    if (!o)
        return 0;
    set_open(o, a.readers, a.writers, a.dirty);
    return 0;
}

static const struct procedure procedures[] = {
    [0] = {serve_null, .no_status = true},
    [SPRITELY_PING] = {serve_ping, .once = true},
    [SPRITELY_OPEN] = {serve_open, .once = true},
    [SPRITELY_CLOSE] = {serve_close, .once = true},
};

static const struct program spritely_program = {SPRITELY_PROGRAM, 1, NFS_PORT,
                                                procedures, NELEM(procedures)};
PROGRAM(spritely_program);
