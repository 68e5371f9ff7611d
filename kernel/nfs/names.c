/*
 * Procedures of NFS about names in directories.
 *
 * - What they change is on the disk when they return: the directory, and the
 *   inode that was made.
 */
#include "kernel/machine/mem.h"
#include "kernel/nfs/internal.h"

/* ---- arguments ---- */

static bool is_dots(const char *name)
{
    return !strcmp(name, ".") || !strcmp(name, "..");
}

/* A directory's handle, and a name for c->name[i]. */
static int take_name(struct call *c, u32 i, struct inode **dir)
{
    u32 n;
    TRY(take_handle(c, dir));
    const u8 *bytes = xdr_bytes(&c->in, &n, MESSAGE_BYTES);
    TRY(args_end(c));
    if (n > NAME_BYTES)
        return -ENAMETOOLONG;
    memcpy(c->name[i], bytes, n);
    c->name[i][n] = 0;
    return n && strlen(c->name[i]) == n && !strchr(c->name[i], '/') ? 0
                                                                    : -EINVAL;
}

/* ---- finding ---- */

/* The inode of a name; the export is its own parent. */
int find_name(struct inode *dir, const char *name, struct inode **ip)
{
    bool stays = dir == export.root && !strcmp(name, "..");
    return lookup(dir, stays ? "." : name, ip);
}

int serve_lookup(struct call *c)
{
    OWNED(inode) struct inode *dir = NULL;
    OWNED(inode) struct inode *ip = NULL;
    TRY(take_name(c, 0, &dir));
    TRY(find_name(dir, c->name[0], &ip));
    put_handle(&c->out, ip);
    return put_post_of(&c->out, ip) ?: put_post_of(&c->out, dir);
}

/* ---- making ---- */

/* The answer about what was made: its handle and attributes, and the
 * directory's. */
static int put_made(struct call *c, struct inode *dir, struct inode *ip)
{
    TRY(make_stable(ip));
    xdr_put(&c->out, true);
    put_handle(&c->out, ip);
    return put_post_of(&c->out, ip) ?: put_changed(&c->out, dir);
}

/* How CREATE treats a name that is there: its file is what was wanted; or it is
 * an error, if this client did not make it by the same verifier. */
enum how { UNCHECKED, GUARDED, EXCLUSIVE };

struct creation {
    enum how how;
    struct wanted wanted;
};

/* The verifier of an exclusive CREATE is kept as the file's times, which the
 * client sets afterwards. */
static void take_creation(struct xdr *x, struct creation *k)
{
    *k = (struct creation){.how = xdr_u32(x)};
    x->bad |= k->how > EXCLUSIVE;
    if (k->how != EXCLUSIVE) {
        take_wanted(x, &k->wanted);
        return;
    }
    k->wanted.atime = k->wanted.mtime = true;
    k->wanted.new_atime_s = xdr_u32(x);
    k->wanted.new_mtime_s = xdr_u32(x);
}

/* The name was there: 0 if its file, which is locked, is what is wanted. */
static int create_over(struct inode *ip, const struct creation *k)
{
    const struct wanted *w = &k->wanted;
    bool same = ip->atime_s == w->new_atime_s && ip->mtime_s == w->new_mtime_s;
    if (!S_ISREG(ip->mode) || (k->how == EXCLUSIVE && !same))
        return -EEXIST;
    if (k->how == EXCLUSIVE || !w->size)
        return 0;
    return ext2_truncate(ip, w->new_size);
}

static int create_new(struct inode *ip, const struct creation *k)
{
    struct wanted w = k->wanted;
    w.mode = false; /* it has it */
    return set_wanted(ip, &w);
}

/* Find or make the file; on an error it is not made. */
static int create(struct call *c, struct inode *dir, const struct creation *k,
                  struct inode **ip)
{
    u32 mode = k->wanted.mode ? k->wanted.new_mode : 0644;
    int error = ext2_create_at(dir, c->name[0], mode, true, ip);
    bool there = error == -EEXIST;
    if (there)
        error = k->how == GUARDED ? -EEXIST : lookup(dir, c->name[0], ip);
    if (error) {
        *ip = NULL;
        return error;
    }
    error = ilock_valid(*ip);
    if (!error)
        error = iunlock_with(*ip, (there ? create_over : create_new)(*ip, k));
    if (error && !there)
        ext2_unlink_at(dir, c->name[0]);
    return error;
}

int serve_create(struct call *c)
{
    OWNED(inode) struct inode *dir = NULL;
    OWNED(inode) struct inode *ip = NULL;
    struct creation k;
    TRY(take_name(c, 0, &dir));
    take_creation(&c->in, &k);
    TRY(args_end(c) ?: k.wanted.error ?: create(c, dir, &k, &ip));
    return put_made(c, dir, ip);
}

/* The arguments of MKDIR and SYMLINK: what has no size gets none. */
static int take_making(struct call *c, struct inode **dir, struct wanted *w)
{
    TRY(take_name(c, 0, dir));
    take_wanted(&c->in, w);
    return args_end(c) ?: w->size ? -EINVAL : w->error;
}

/* The answer about what has just been made, once its times are as wanted. */
static int made(struct call *c, struct inode *dir, struct wanted *w)
{
    OWNED(inode) struct inode *ip = NULL;
    TRY(lookup(dir, c->name[0], &ip) ?: ilock_valid(ip));
    w->mode = false;
    TRY(iunlock_with(ip, set_wanted(ip, w)));
    return put_made(c, dir, ip);
}

int serve_mkdir(struct call *c)
{
    OWNED(inode) struct inode *dir = NULL;
    struct wanted w;
    TRY(take_making(c, &dir, &w));
    TRY(ext2_mkdir_at(dir, c->name[0], w.mode ? w.new_mode : 0755));
    return made(c, dir, &w);
}

int serve_symlink(struct call *c)
{
    OWNED(inode) struct inode *dir = NULL;
    PAGE_OWNED char *text = page_alloc();
    struct wanted w;
    u32 n;
    TRY(text ? take_making(c, &dir, &w) : -ENOMEM);
    const u8 *bytes = xdr_bytes(&c->in, &n, MESSAGE_BYTES);
    TRY(args_end(c) ?: n >= PAGE_SIZE ? -ENAMETOOLONG : 0);
    memcpy(text, bytes, n);
    text[n] = 0;
    TRY(strlen(text) == n ? ext2_symlink_at(text, dir, c->name[0]) : -EINVAL);
    return made(c, dir, &w);
}

/* Devices, pipes and sockets are not made by clients. */
int serve_mknod(struct call *)
{
    return NFS_NOTSUPP;
}

int serve_link(struct call *c)
{
    OWNED(inode) struct inode *ip = NULL;
    OWNED(inode) struct inode *dir = NULL;
    TRY(take_handle(c, &ip) ?: take_name(c, 0, &dir));
    TRY(ext2_link_at(ip, dir, c->name[0]) ?: make_stable(ip));
    return put_post_of(&c->out, ip) ?: put_changed(&c->out, dir);
}

/* ---- removing and renaming ---- */

/* A name of the inode has been removed; NULL: there was none. If it was the
 * last, the disk knows, so the handle is stale after a crash too; and if nobody
 * has it open, its delayed writes are not for the disk. */
static int make_removal_stable(struct inode *ip)
{
    if (!ip)
        return 0;
    HOLD(inode, ip);
    TRY(ivalid(ip));
    if (!ip->nlink && ip->refs == 1 && S_ISREG(ip->mode))
        TRY(ext2_truncate(ip, 0));
    return ext2_fsync(ip);
}

/* The inode of a name, or NULL. */
static struct inode *named(struct inode *dir, const char *name)
{
    struct inode *ip;
    return lookup(dir, name, &ip) ? NULL : ip;
}

static int remove(struct call *c,
                  int (*remove_at)(struct inode *, const char *))
{
    OWNED(inode) struct inode *dir = NULL;
    TRY(take_name(c, 0, &dir));
    OWNED(inode) struct inode *ip = named(dir, c->name[0]);
    TRY(remove_at(dir, c->name[0]) ?: make_removal_stable(ip));
    return put_changed(&c->out, dir);
}

int serve_remove(struct call *c)
{
    return remove(c, ext2_unlink_at);
}

int serve_rmdir(struct call *c)
{
    return remove(c, ext2_rmdir_at);
}

int serve_rename(struct call *c)
{
    OWNED(inode) struct inode *from = NULL;
    OWNED(inode) struct inode *to = NULL;
    TRY(take_name(c, 0, &from) ?: take_name(c, 1, &to));
    if (is_dots(c->name[0]) || is_dots(c->name[1]))
        return -EINVAL;
    OWNED(inode) struct inode *replaced = named(to, c->name[1]);
    TRY(ext2_rename_at(from, c->name[0], to, c->name[1]));
    TRY(make_removal_stable(replaced));
    return put_changed(&c->out, from) ?: put_changed(&c->out, to);
}
