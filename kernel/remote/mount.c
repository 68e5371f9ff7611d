/*
 * Mounting: from HOST:/DIRECTORY to a file system.
 *
 * - A mount goes: new - used - unused - used ... Its disk and its processes
 *   stay, and the next mount has them.
 * - The port mapper and MOUNT are asked TRIES times, and then the mount fails.
 *   Nothing tells the server of an unmount: MOUNT's list is for people only.
 */
#include "kernel/cache/bio.h"
#include "kernel/machine/args.h"
#include "kernel/machine/mem.h"
#include "kernel/remote/internal.h"

#define TRIES 5

static struct sleeplock mounting;
static struct mount *mounts[MAX_DISKS]; /* mounting */

/* ---- the source ---- */

/* Parse a number up to `most` at *at, and move *at behind it and behind the
 * character that ends it. -1: there is none. */
static i64 take_number(const char **at, char end, u32 most)
{
    u64 n = 0;
    const char *c = *at;
    while (*c >= '0' && *c <= '9' && n <= most)
        n = 10 * n + (*c++ - '0');
    if (c == *at || n > most || *c != end)
        return -1;
    *at = c + 1;
    return n;
}

/* Parse HOST:/DIRECTORY or HOST:PORT:/DIRECTORY. port 0: none is given. */
static int parse(const char *source, struct server *s, const char **path)
{
    *s = (struct server){0};
    for (u32 i = 0; i < 4; i++) {
        i64 byte = take_number(&source, i < 3 ? '.' : ':', 255);
        if (byte < 0)
            return -EINVAL;
        s->host = s->host << 8 | byte;
    }
    if (*source != '/') {
        i64 port = take_number(&source, ':', UINT16_MAX);
        if (port <= 0)
            return -EINVAL;
        s->port = port;
    }
    *path = source;
    return *source == '/' ? 0 : -EINVAL;
}

extern const struct consistency *const __start_consistencies[];
extern const struct consistency *const __stop_consistencies[];

/* Return the consistency named before an @, or nfs without an @; NULL: no
 * consistency has this name. *source moves behind the @. */
static const struct consistency *take_consistency(const char **source)
{
    const char *at = strchr(*source, '@'), *name = at ? *source : "nfs";
    size_t n = at ? (size_t)(at - *source) : strlen(name);
    *source = at ? at + 1 : *source;
    for (const struct consistency *const *c = __start_consistencies;
         c < __stop_consistencies; c++)
        if (strlen((*c)->name) == n && !memcmp((*c)->name, name, n))
            return *c;
    return NULL;
}

/* ---- asking the server ---- */

/* Ask the server's port mapper for the port of a program. */
static int ask_port(struct server *s, u32 program, u32 *port)
{
    OWNED(call) struct call *c = call_take();
    call_begin(c, PORTMAP_PROGRAM, 2, MAP_GETPORT);
    u32 words[] = {program, 3, MAP_UDP, 0};
    for (u32 i = 0; i < NELEM(words); i++)
        xdr_put(&c->out, words[i]);
    TRY(call_send(c, s, PORTMAP_PORT, TRIES));
    *port = xdr_u32(&c->in);
    return c->in.bad || !*port || *port > UINT16_MAX ? -ENODEV : 0;
}

/* Ask the server for the root's handle. */
static int ask_root(struct mount *m, u32 port, const char *path)
{
    u32 n;
    OWNED(call) struct call *c = call_take();
    call_begin(c, MOUNT_PROGRAM, 3, MOUNT_MNT);
    xdr_put_text(&c->out, path);
    TRY(call_send(c, &m->server, port, TRIES));
    u32 status = xdr_u32(&c->in);
    if (status)
        return c->in.bad ? -EIO : nfs_error(status);
    const u8 *handle = xdr_bytes(&c->in, &n, HANDLE_MOST);
    struct file *f = handle && n ? file_of_handle(m, handle, n) : NULL;
    m->root = f ? f->number : 0;
    return f ? 0 : -EIO;
}

/* Find the ports, unless the address has one, and the handle of the
 * directory. */
static int find_root(struct mount *m, const char *path)
{
    u32 port = m->server.port;
    if (!port)
        TRY(ask_port(&m->server, NFS_PROGRAM, &m->server.port)
                ?: ask_port(&m->server, MOUNT_PROGRAM, &port));
    TRY(ask_root(m, port, path));
    return m->consistency->mounted ? m->consistency->mounted(m) : 0;
}

/* ---- mounts ---- */

/* Forget all files of the last mount. */
static void reset(struct mount *m)
{
    m->nfiles = 1; /* number 0 is none */
    m->root = 0;
    for (u32 i = 0; i < BUCKETS; i++)
        list_init(&m->hash[i]);
    list_init(&m->age);
    memset(m->change, 0, sizeof m->change);
}

/* Make a disk for a mount, whose commands are calls. NULL: there is no room. */
static struct mount *make(void)
{
    struct mount *m = disk_count() < MAX_DISKS ? mem_reserve(sizeof *m) : NULL;
    if (!m)
        return NULL;
    memset(m, 0, sizeof *m);
    m->lock = SPINLOCK("remote", RANK_NET);
    m->last = &m->first;
    u64 block_sectors = bio_block_bytes() / SECTOR_BYTES;
    u64 sectors = FILES * EXT2_ELSEWHERE_BLOCKS * block_sectors;
    m->disk = disk_add(sectors);
    m->disk->carry = blocks_carry;
    m->disk->depth = CARRIERS;
    m->disk->cluster_sectors = TRANSFER_BYTES / SECTOR_BYTES;
    m->disk->max_segments = TRANSFER_BYTES / SECTOR_BYTES;
    m->disk->mapping = m;
    mounts[m->disk->id] = m;
    return m;
}

/* Take a mount that is not in use, with its processes. NULL: no memory, or
 * there are MAX_DISKS disks. */
static struct mount *take(void)
{
    struct mount *m = NULL;
    for (u32 i = 0; i < MAX_DISKS; i++)
        if (mounts[i] && !mounts[i]->used)
            m = mounts[i];
    m = m ?: make();
    if (!m || blocks_start(m))
        return NULL;
    m->used = true;
    reset(m);
    return m;
}

/* End a mount that failed or is over. Disk and processes stay. */
static void release(struct mount *m)
{
    if (m->consistency->unmounted)
        m->consistency->unmounted(m);
    files_free(m);
    m->used = false;
}

void remote_unmounted(struct disk *d)
{
    release(d->mapping);
}

/* Mount [KIND@]HOST:/DIRECTORY on a directory. Return 0 or an error. */
int remote_mount(const char *source, struct inode *on, u64 flags)
{
    struct server server;
    const char *path, *address = source;
    const struct consistency *consistency = take_consistency(&address);
    TRY(consistency ? parse(address, &server, &path) : -EINVAL);
    if (strlen(source) >= sizeof((struct mount *)0)->source)
        return -ENAMETOOLONG;
    HOLD(sleep, &mounting);
    TRY(calls_start());
    struct mount *m = take();
    if (!m)
        return -ENOMEM;
    m->server = server;
    m->consistency = consistency;
    strlcpy(m->source, source, sizeof m->source);
    int error = find_root(m, path);
    if (error) {
        release(m);
        return error;
    }
    error =
        ext2_mount_elsewhere(m->disk, on, flags, &remote_operations, m->root);
    if (error && m->used) /* else it has been unmounted already */
        release(m);
    return error;
}

/* Wait no more for this mount's server: calls fail, and dirty blocks are
 * lost. */
void remote_give_up(struct inode *root)
{
    struct disk *d = ext2_disk(root);
    struct mount *m = d->carry ? d->mapping : NULL;
    if (!m || root->ino != m->root)
        return;
    m->server.given_up = true;
    for (u32 n = 1; n < m->nfiles; n++)
        flush_file(m, file_at(m, n));
}

/* Return what was mounted, as it was written. */
const char *remote_source(const struct disk *d)
{
    const struct mount *m = d->mapping;
    return m->source;
}

void remote_init(void)
{
    sleep_lock_init(&mounting, "mounting");
    write_as = arg_number("remote_stable", 0, 0, 2);
}
