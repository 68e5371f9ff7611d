/*
 * Calls about names and attributes, for ext2 (fs_operations). Nothing that they
 * say is kept: each lookup is a LOOKUP.
 *
 * The server does not know what is open here, and frees a file that loses its
 * last name. So if that file is open, it gets a hidden name in the same
 * directory first, as clients since Sun's do it. That name is removed after the
 * last close.
 *
 * - A LINK gives it, not a RENAME: so a name that a rename replaces leads to a
 *   file at any moment. If the server refuses the LINK, the file is lost.
 * - The name has this machine's address, and a number that grows with the time
 *   of day. So no other client has it, nor this one when it starts again.
 * - If this machine stops before the last close, the name stays. So it does if
 *   a program is killed and its one REMOVE is lost.
 */
#include "kernel/cache/bio.h"
#include "kernel/machine/print.h"
#include "kernel/remote/internal.h"

/* Check the results of a call: 0, or -EIO if they do not fit. */
static int end_of(const struct call *c)
{
    return c->in.bad ? -EIO : 0;
}

/* Ask for the file's attributes (GETATTR). Return 0 or an error, which the file
 * keeps. */
int ask_attributes(struct mount *m, struct file *f)
{
    struct attributes a;
    u64 began = changes_now(m);
    OWNED(call) struct call *c = nfs_begin(NFS_GETATTR, f);
    int error = nfs_send(m, c);
    if (!error) {
        take_fattr(&c->in, &a);
        error = end_of(c);
    }
    f->error = error;
    if (!error)
        attributes_came(m, f, &a, began);
    return error;
}

/* Ask for a name (LOOKUP). *ino is the file's number here. */
static int lookup_name(struct inode *dir, const char *name, u32 *ino)
{
    struct mount *m = mount_of(dir);
    u64 began = changes_now(m);
    OWNED(call) struct call *c = nfs_begin(NFS_LOOKUP, file_of(dir));
    xdr_put_text(&c->out, name);
    TRY(nfs_send(m, c));
    struct file *f = take_file(c, m, began, false);
    if (!f)
        return end_of(c) ?: -ENOMEM;
    *ino = f->number;
    return 0;
}

/* ---- making ---- */

/* Put a sattr3 with a mode, a size or times, each only if it is not NULL. */
static void put_wanted(struct xdr *x, const u32 *mode, const u64 *size,
                       const u64 *times_s)
{
    xdr_put(x, mode != NULL);
    if (mode)
        xdr_put(x, *mode & 07777);
    xdr_put64(x, 0); /* user and group */
    xdr_put(x, size != NULL);
    if (size)
        xdr_put64(x, *size);
    for (u32 i = 0; i < 2; i++) {
        u32 how = !times_s ? 0 : times_s[i] == UTIME_NOW ? 1 : 2;
        xdr_put(x, how);
        if (how == 2)
            xdr_put64(x, times_s[i] << 32);
    }
}

/* Set these attributes of a file at the server. */
static int set_file(struct mount *m, struct file *f, const u32 *mode,
                    const u64 *size, const u64 *times_s)
{
    OWNED(call) struct call *c = nfs_begin(NFS_SETATTR, f);
    put_wanted(&c->out, mode, size, times_s);
    xdr_put(&c->out, false); /* no guard */
    TRY(nfs_send(m, c));
    take_wcc(c, m, f);
    return 0;
}

/* Put the arguments that follow a name. The verifier of an exclusive CREATE
 * shows a server that has started again whether it has served this call before.
 */
static void put_making(struct xdr *x, u32 mode, bool exclusive,
                       const char *target)
{
    if (S_ISREG(mode))
        xdr_put(x, exclusive ? EXCLUSIVE : GUARDED);
    if (exclusive)
        xdr_put64(x, clock_wall_ns());
    else
        put_wanted(x, &mode, NULL, NULL);
    if (target)
        xdr_put_text(x, target);
}

/* Make a file, a link or a directory. For an exclusive CREATE the server keeps
 * the verifier as the file's times, until they are set. */
static int make(struct inode *dir, const char *name, u32 mode, bool exclusive,
                const char *target, u32 *ino)
{
    static const u64 now_s[] = {UTIME_NOW, UTIME_NOW};
    struct mount *m = mount_of(dir);
    u64 began = changes_now(m);
    struct file *f;
    u32 how = S_ISREG(mode) ? NFS_CREATE : target ? NFS_SYMLINK : NFS_MKDIR;
    {
        OWNED(call) struct call *c = nfs_begin(how, file_of(dir));
        xdr_put_text(&c->out, name);
        put_making(&c->out, mode, exclusive, target);
        TRY(nfs_send(m, c));
        f = take_file(c, m, began, true);
    }
    if (f)
        *ino = f->number;
    else
        TRY(lookup_name(dir, name, ino));
    f = file_at(m, *ino);
    if (!exclusive)
        return 0;
    return set_file(m, f, &mode, NULL, now_s) ?: ask_attributes(m, f);
}

/* Give a file another name (LINK). */
static int ask_link(struct mount *m, struct file *f, const struct file *dir,
                    const char *name)
{
    struct attributes a;
    u64 began = changes_now(m);
    OWNED(call) struct call *c = nfs_begin(NFS_LINK, f);
    put_file(&c->out, dir);
    xdr_put_text(&c->out, name);
    TRY(nfs_send(m, c));
    f->attributes.nlink++;
    if (take_post(&c->in, &a))
        attributes_came(m, f, &a, began);
    return 0;
}

static int link(struct inode *ip, struct inode *dir, const char *name)
{
    return ask_link(mount_of(ip), file_of(ip), file_of(dir), name);
}

/* ---- removing and renaming ---- */

/* Remove or rename: a call about a name, or about two. */
static int change(enum nfs_procedure how, struct mount *m,
                  const struct file *dir, const char *name,
                  const struct file *to, const char *new_name)
{
    OWNED(call) struct call *c = nfs_begin(how, dir);
    xdr_put_text(&c->out, name);
    if (to) {
        put_file(&c->out, to);
        xdr_put_text(&c->out, new_name);
    }
    return nfs_send(m, c);
}

/* Note that a name of the file is removed. The blocks of a file without names
 * are not written any more. */
static void lose_name(struct mount *m, struct file *f)
{
    f->gone = f->attributes.nlink <= 1 || f->attributes.type != NFS_REG;
    if (f->gone)
        drop_blocks(m, f, 0, file_end(f));
    HOLD(spin, &m->lock);
    f->written &= !f->gone;
    f->fresh = false;
    f->changed = ++m->changes;
    f->attributes.nlink -= !f->gone;
}

/* ---- hidden names ---- */

/* Count an open; `again`: only of a file that is open. True if it was
 * counted. */
bool file_opened(struct mount *m, struct file *f, bool again)
{
    HOLD(spin, &m->lock);
    u32 more = !again || f->opens;
    f->opens += more;
    m->opens += more;
    return more;
}

/* Before a dirty file loses its hidden name, ask how many names it has: another
 * client may have given it one. */
void file_closed(struct mount *m, struct file *f)
{
    HOLD(spin, &m->lock);
    while (f->opens == 1 && f->hidden[0]) {
        spin_unlock(&m->lock);
        if (f->written)
            ask_attributes(m, f);
        lose_name(m, f);
        change(NFS_REMOVE, m, f->hidden_in, f->hidden, NULL, NULL);
        spin_lock(&m->lock);
        f->hidden_in->opens--;
        f->hidden[0] = 0;
    }
    f->opens--;
    m->opens--;
}

/* If the file is open here and has only one name, in that directory, give it a
 * hidden name. True: done, and file_closed must follow. */
static bool hide(struct mount *m, struct file *f, struct file *dir)
{
    static u64 counter;
    bool last = f->attributes.type == NFS_REG && f->attributes.nlink <= 1;
    if (!last || f->hidden[0] || !file_opened(m, f, true))
        return false;
    ksnprintf(f->hidden, sizeof f->hidden, ".nfs%x.%lx", net_host,
              clock_wall_ns() + __atomic_add_fetch(&counter, 1, 0));
    if (ask_link(m, f, dir, f->hidden)) {
        f->hidden[0] = 0;
        file_closed(m, f);
        return false;
    }
    HOLD(spin, &m->lock);
    f->hidden_in = dir;
    dir->opens++;
    return true;
}

/* Remove a name. A file that is open gets a hidden one first. */
static int remove_name(struct inode *dir, const char *name, struct inode *ip)
{
    struct mount *m = mount_of(dir);
    struct file *f = file_of(ip), *in = file_of(dir);
    bool hidden = hide(m, f, in);
    int error = change(S_ISDIR(ip->mode) ? NFS_RMDIR : NFS_REMOVE, m, in, name,
                       NULL, NULL);
    if (!error)
        lose_name(m, f);
    if (hidden)
        file_closed(m, f);
    return error;
}

/* Rename on the server. If any file is open here, a LOOKUP finds the file that
 * will be replaced. If this one is open, it gets a hidden name first. */
static int rename(struct inode *from, const char *name, struct inode *to,
                  const char *new_name)
{
    struct mount *m = mount_of(from);
    u32 ino;
    bool itself = from == to && !strcmp(name, new_name);
    bool replaces = m->opens && !itself && !lookup_name(to, new_name, &ino);
    struct file *f = replaces ? file_at(m, ino) : NULL;
    bool hidden = f && hide(m, f, file_of(to));
    int error =
        change(NFS_RENAME, m, file_of(from), name, file_of(to), new_name);
    if (hidden && !error)
        lose_name(m, f);
    if (hidden)
        file_closed(m, f);
    return error;
}

/* ---- attributes ---- */

/* Change the attributes that are given, and take the new ones. */
static int set(struct inode *ip, const u32 *mode, const u64 *size,
               const u64 *times_s)
{
    struct mount *m = mount_of(ip);
    struct file *f = file_of(ip);
    TRY(set_file(m, f, mode, size, times_s) ?: ask_attributes(m, f));
    remote_load(ip);
    return 0;
}

static int set_mode(struct inode *ip, u32 mode)
{
    return remote_flush(ip) ?: set(ip, &mode, NULL, NULL);
}

static int set_times(struct inode *ip, u64 atime_s, u64 mtime_s)
{
    u64 times_s[] = {atime_s, mtime_s};
    return remote_flush(ip) ?: set(ip, NULL, NULL, times_s);
}

/* Change the file's size. No WRITE is under way when it is set: a WRITE could
 * arrive later and make the file longer again. */
static int set_size(struct inode *ip, u64 size)
{
    struct mount *m = mount_of(ip);
    struct file *f = file_of(ip);
    u64 old = ip->size;
    ip->size = MIN(old, size);
    drop_blocks(m, f, size, old);
    int error = remote_flush(ip) ?: set(ip, NULL, &size, NULL);
    drop_blocks(m, f, size - size % bio_block_bytes(), size);
    if (error)
        ip->valid = false;
    return error;
}

/* ---- reading directories, links, and the file system ---- */

/* Copy out a link's text (READLINK). */
static int readlink(struct inode *ip, struct uio *u)
{
    struct attributes a;
    u32 n;
    OWNED(call) struct call *c = nfs_begin(NFS_READLINK, file_of(ip));
    TRY(nfs_send(mount_of(ip), c));
    take_post(&c->in, &a);
    u8 *text = xdr_bytes(&c->in, &n, TRANSFER_BYTES);
    return text ? uio_move(text, MIN(n, u->left), u) : -EIO;
}

/* An entry of a READDIR, as programs get it. */
struct entry {
    union {
        struct dirent d;
        char bytes[ROUND_UP(sizeof(struct dirent) + NAME_BYTES + 1, 4)];
    };
    u64 cookie;
};

/* True if this can be a part of a path: programs read names as such. */
static bool is_name(const u8 *name, u32 n)
{
    for (u32 i = 0; i < n; i++)
        if (name[i] == '/' || name[i] == 0)
            return false;
    return n > 0;
}

/* Take the next entry. False: there is none. */
static bool take_entry(struct xdr *x, struct entry *e)
{
    u32 n;
    if (!xdr_bool(x))
        return false;
    u64 id = xdr_u64(x);
    u8 *name = xdr_bytes(x, &n, NAME_BYTES);
    e->cookie = xdr_u64(x);
    if (x->bad || !is_name(name, n)) {
        x->bad = true;
        return false;
    }
    u32 length = ROUND_UP(sizeof(struct dirent) + n + 1, 4);
    memset(e->bytes, 0, length);
    e->d = (struct dirent){id, length, 0, n};
    memcpy(e->d.name, name, n);
    return true;
}

/* Send a READDIR from a cookie on. The entries follow in c->in. */
static struct call *list(struct inode *dir, u64 cookie, int *error)
{
    struct mount *m = mount_of(dir);
    struct file *f = file_of(dir);
    struct attributes a;
    struct call *c = nfs_begin(NFS_READDIR, f);
    xdr_put64(&c->out, cookie);
    xdr_put64(&c->out, cookie ? f->cookies : 0);
    xdr_put(&c->out, TRANSFER_BYTES);
    *error = nfs_send(m, c);
    take_post(&c->in, &a);
    f->cookies = xdr_u64(&c->in);
    *error = *error ?: end_of(c);
    return c;
}

/* Copy out entries, as many as fit. u->offset is the server's cookie. */
static int getdents(struct inode *dir, struct uio *u)
{
    struct entry e;
    int error;
    bool any = false;
    u64 at = u->offset;
    OWNED(call) struct call *c = list(dir, at, &error);
    while (!error && take_entry(&c->in, &e)) {
        if (e.d.length > u->left) {
            error = any ? 0 : -EINVAL;
            break;
        }
        error = uio_move(&e, e.d.length, u);
        any |= !error;
        at = error ? at : e.cookie;
    }
    u->offset = at;
    return any ? 0 : error ?: end_of(c);
}

/* Find the name of an inode by reading the whole directory: the entry with the
 * server's number of it. */
static int name_of(struct inode *dir, u32 ino, char name[NAME_BYTES + 1])
{
    u32 id = file_at(mount_of(dir), ino)->attributes.id;
    u64 at = 0;
    for (bool any = true; any;) {
        struct entry e;
        int error;
        OWNED(call) struct call *c = list(dir, at, &error);
        TRY(error);
        for (any = false; take_entry(&c->in, &e); any = true, at = e.cookie) {
            bool dots = !strcmp(e.d.name, ".") || !strcmp(e.d.name, "..");
            if (e.d.ino == id && !dots) {
                strlcpy(name, e.d.name, NAME_BYTES + 1);
                return 0;
            }
        }
    }
    return -ENOENT;
}

/* Say how much of the server's file system is in use (FSSTAT), in KiB. */
static int statfs(struct inode *ip, struct statfs *out)
{
    struct mount *m = mount_of(ip);
    struct attributes a;
    OWNED(call) struct call *c = nfs_begin(NFS_FSSTAT, file_of(ip));
    TRY(nfs_send(m, c));
    take_post(&c->in, &a);
    *out = (struct statfs){.block_size = 1024};
    strlcpy(out->disk, m->disk->name, sizeof out->disk);
    out->read_only = fs_writable(ip->fs) < 0;
    out->blocks = xdr_u64(&c->in) / 1024;
    out->free_blocks = xdr_u64(&c->in) / 1024;
    xdr_u64(&c->in); /* for users that are not root */
    out->inodes = xdr_u64(&c->in);
    out->free_inodes = xdr_u64(&c->in);
    return end_of(c);
}

const struct fs_operations remote_operations = {
    .load = remote_load,
    .error = remote_error,
    .lookup = lookup_name,
    .name_of = name_of,
    .make = make,
    .link = link,
    .remove = remove_name,
    .rename = rename,
    .set_mode = set_mode,
    .set_times = set_times,
    .set_size = set_size,
    .readlink = readlink,
    .getdents = getdents,
    .statfs = statfs,
    .written = remote_written,
    .flush = remote_flush,
    .open = remote_open,
    .close = remote_close,
    .move = remote_move,
    .forget = remote_forget,
    .unmounted = remote_unmounted,
};
