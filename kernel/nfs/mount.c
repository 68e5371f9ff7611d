/*
 * MOUNT, version 3 (RFC 1813, appendix I): from a path to the first handle.
 *
 * - The table of mounts is for DUMP only: the last MOUNTS of them, by host and
 *   directory. No call depends on it.
 */
#include "kernel/nfs/internal.h"
#include "kernel/machine/mem.h"
#include "kernel/machine/print.h"

#define MOUNTS     32
#define PATH_LIMIT 1024 /* MNTPATHLEN */

#define AUTH_NONE 0

static struct mount {
    u32 host; /* 0: free */
    u32 ino, generation;
} mounts[MOUNTS]; /* lock */
static u32 next;  /* lock */
static struct spinlock lock = SPINLOCK("mounts", RANK_FILE);

/* ---- paths ---- */

/* Return the part of the path below the export; NULL: the path is not below
 * it. */
static const char *below_export(const char *path)
{
    size_t n = strlen(exported.path);
    if (n == 1)
        return *path == '/' ? path : NULL;
    bool below = strlen(path) >= n && !memcmp(path, exported.path, n) &&
                 (!path[n] || path[n] == '/');
    return below ? path + n : NULL;
}

/* Replace *at by the directory one name further down. 1: no name is left. */
static int step(struct inode **at, const char **path)
{
    char name[NAME_BYTES + 1];
    struct inode *child;
    while (**path == '/')
        ++*path;
    u32 n = 0;
    for (; (*path)[n] && (*path)[n] != '/'; n++)
        if (n == NAME_BYTES)
            return -ENAMETOOLONG;
    if (!n)
        return 1;
    strlcpy(name, *path, n + 1);
    *path += n;
    TRY(strcmp(name, "..") ? lookup(*at, name, &child) : -EINVAL);
    iput(*at);
    *at = child;
    return 0;
}

/* Find a directory in the export by its path, name by name. Return 0 or an
 * error. */
static int find(const char *path, struct inode **out)
{
    path = below_export(path);
    if (!path)
        return -ENOENT;
    OWNED(inode) struct inode *at = idup(exported.root);
    int result = 0;
    while (!result)
        result = step(&at, &path);
    if (result < 0)
        return result;
    TRY(ilock_valid(at));
    TRY(iunlock_with(at, S_ISDIR(at->mode) ? 0 : -ENOTDIR));
    *out = idup(at);
    return 0;
}

/* Find the directory at the path that the call names. */
static int take_path(struct call *c, struct inode **out)
{
    PAGE_OWNED char *path = page_alloc();
    u32 n;
    const u8 *bytes = xdr_bytes(&c->in, &n, PATH_LIMIT);
    if (!path || !bytes)
        return -ENOMEM;
    memcpy(path, bytes, n);
    path[n] = 0;
    return strlen(path) == n ? find(path, out) : -EINVAL;
}

/* ---- the table of mounts ---- */

/* Forget a host's mount of this directory; NULL: all mounts of the host. */
static void forget(u32 host, const struct inode *ip)
{
    HOLD(spin, &lock);
    for (struct mount *m = mounts; m < mounts + MOUNTS; m++)
        if (m->host == host && (!ip || m->ino == ip->ino))
            m->host = 0;
}

/* Add a row to the table of mounts. The oldest of MOUNTS makes room. */
static void remember(u32 host, const struct inode *ip)
{
    forget(host, ip);
    HOLD(spin, &lock);
    mounts[next++ % MOUNTS] = (struct mount){host, ip->ino, ip->generation};
}

/* Find the i-th mount's directory. False: the row is free, or the directory is
 * gone. */
static bool find_mount(u32 i, u32 *host, struct inode **ip)
{
    spin_lock(&lock);
    struct mount m = mounts[i];
    spin_unlock(&lock);
    *host = m.host;
    return m.host && ext2_find(exported.root, m.ino, m.generation, ip) == 0;
}

/* Put an address as text. */
static void put_host(struct xdr *x, u32 host)
{
    char text[16];
    u32 n = ksnprintf(text, sizeof text, "%u.%u.%u.%u", host >> 24,
                      host >> 16 & 0xff, host >> 8 & 0xff, host & 0xff);
    xdr_put_bytes(x, text, n);
}

/* ---- the procedures ---- */

/* MNT: the handle of a directory. */
static int mnt(struct call *c)
{
    TRY(take_path(c, &c->ip));
    TRY(put_handle(&c->out, c->ip));
    remember(c->from.host, c->ip);
    xdr_put(&c->out, 2); /* flavors that may be used */
    xdr_put(&c->out, AUTH_NONE);
    xdr_put(&c->out, AUTH_SYS);
    return 0;
}

/* DUMP: the table of mounts. A list that does not fit ends early. */
static int dump(struct call *c)
{
    PAGE_OWNED char *path = page_alloc();
    for (u32 i = 0; path && i < MOUNTS; i++) {
        OWNED(inode) struct inode *ip = NULL;
        u32 host;
        int n = find_mount(i, &host, &ip) ? ext2_path(ip, path, PATH_BYTES) : 0;
        if (n <= 0 || c->out.end - c->out.at < PATH_LIMIT)
            continue;
        xdr_put(&c->out, true);
        put_host(&c->out, host);
        xdr_put_bytes(&c->out, path, n - 1);
    }
    xdr_put(&c->out, false);
    return 0;
}

/* UMNT: forget a mount. */
static int umnt(struct call *c)
{
    if (take_path(c, &c->ip) == 0)
        forget(c->from.host, c->ip);
    return 0;
}

/* UMNTALL: forget all mounts of the caller. */
static int umntall(struct call *c)
{
    forget(c->from.host, NULL);
    return 0;
}

/* EXPORT: the one directory. */
static int list_exports(struct call *c)
{
    xdr_put(&c->out, true);
    xdr_put_text(&c->out, exported.path);
    xdr_put(&c->out, false); /* no groups: everybody may */
    xdr_put(&c->out, false);
    return 0;
}

static const struct procedure procedures[] = {
    {serve_null, .no_status = true}, {mnt},
    {dump, .no_status = true},       {umnt, .no_status = true},
    {umntall, .no_status = true},    {list_exports, .no_status = true},
};

static const struct program mount_program = {MOUNT_PROGRAM, 3, NFS_PORT,
                                             procedures, NELEM(procedures)};
PROGRAM(mount_program);
