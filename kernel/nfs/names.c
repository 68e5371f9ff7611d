/*
 * Procedures of NFS about names in directories.
 *
 * - Their changes are on the disk when they return: the directory, and the
 *   inode that was made.
 */
#include "kernel/machine/mem.h"
#include "kernel/nfs/internal.h"

/* ---- arguments ---- */

static bool is_dots(const char *name)
{
    return !strcmp(name, ".") || !strcmp(name, "..");
}

/* Take a directory's handle and a name in it. The name is one that a directory
 * can have. */
int take_name(struct call *c, struct inode **dir, char name[NAME_BYTES + 1])
{
    u32 n;
    TRY(take_handle(c, dir));
    const u8 *bytes = xdr_bytes(&c->in, &n, MESSAGE_BYTES);
    TRY(args_end(c));
    if (n > NAME_BYTES)
        return -ENAMETOOLONG;
    memcpy(name, bytes, n);
    name[n] = 0;
    return n && strlen(name) == n && !strchr(name, '/') ? 0 : -EINVAL;
}

/* ---- finding ---- */

/* Find the inode of a name; the export is its own parent. */
int find_name(struct inode *dir, const char *name, struct inode **ip)
{
    bool stays = dir == exported.root && !strcmp(name, "..");
    return lookup(dir, stays ? "." : name, ip);
}

/* LOOKUP: the handle of what has this name. */
int serve_lookup(struct call *c)
{
    TRY(find_name(c->ip, c->name, &c->made) ?: put_handle(&c->out, c->made));
    return put_post_of(&c->out, c->made) ?: put_post_of(&c->out, c->ip);
}

/* ---- making ---- */

/* Answer with the new inode's handle and attributes, and the directory's
 * attributes. */
static int put_made(struct call *c)
{
    TRY(make_stable(c->made));
    xdr_put(&c->out, true);
    TRY(put_handle(&c->out, c->made));
    return put_post_of(&c->out, c->made) ?: put_changed(&c->out, c->ip);
}

/* Take how a file is to be created. The verifier of an exclusive CREATE, with
 * the client's address, is kept as the file's times, which the client sets
 * afterwards. */
static void take_creation(struct call *c, enum how how, struct wanted *w)
{
    struct xdr *x = &c->in;
    x->bad |= how > EXCLUSIVE;
    if (how != EXCLUSIVE) {
        take_wanted(x, w);
        return;
    }
    *w = (struct wanted){.atime = true, .mtime = true};
    w->new_atime_s = xdr_u32(x) ^ c->from.host;
    w->new_mtime_s = xdr_u32(x);
}

/* Return 0 if the file that has the name already, which is locked, satisfies
 * the call. */
static int create_over(struct inode *ip, enum how how, const struct wanted *w)
{
    bool same = ip->atime_s == w->new_atime_s && ip->mtime_s == w->new_mtime_s;
    if (!S_ISREG(ip->mode) || (how == EXCLUSIVE && !same))
        return -EEXIST;
    return how == UNCHECKED && w->size ? ext2_truncate(ip, w->new_size) : 0;
}

/* Find or create the file c->made. If the call fails, no new file is left. */
static int create(struct call *c, enum how how, struct wanted *w)
{
    u32 mode = w->mode ? w->new_mode : 0644;
    struct inode *ip;
    int error = ext2_create_at(c->ip, c->name, mode, true, &ip);
    bool there = error == -EEXIST && how != GUARDED;
    TRY(there ? lookup(c->ip, c->name, &ip) : error);
    c->made = ip;
    w->mode = false; /* it has it */
    error = ilock_valid(ip);
    if (!error)
        error = iunlock_with(ip, there ? create_over(ip, how, w)
                                       : set_wanted(ip, w));
    if (error && !there)
        ext2_unlink_at(c->ip, c->name);
    return error;
}

/* CREATE: make a regular file, in one of the three ways. */
int serve_create(struct call *c)
{
    struct wanted w;
    enum how how = xdr_u32(&c->in);
    take_creation(c, how, &w);
    return args_end(c) ?: w.error ?: create(c, how, &w) ?: put_made(c);
}

/* Take the attributes of a directory or a link: without a size, which a client
 * cannot set. */
static int take_making(struct call *c, struct wanted *w)
{
    take_wanted(&c->in, w);
    return args_end(c) ?: w->size ? -EINVAL : w->error;
}

/* Set what the client wants of an inode just made, and answer with put_made. */
static int finish_making(struct call *c, struct wanted *w)
{
    w->mode = false;
    TRY(lookup(c->ip, c->name, &c->made) ?: ilock_valid(c->made));
    return iunlock_with(c->made, set_wanted(c->made, w)) ?: put_made(c);
}

/* MKDIR: make a directory, with mode 0755 if none is given. */
int serve_mkdir(struct call *c)
{
    struct wanted w;
    TRY(take_making(c, &w));
    TRY(ext2_mkdir_at(c->ip, c->name, w.mode ? w.new_mode : 0755));
    return finish_making(c, &w);
}

/* SYMLINK: make a symbolic link. Its text has no zero byte. */
int serve_symlink(struct call *c)
{
    PAGE_OWNED char *text = page_alloc();
    struct wanted w;
    u32 n;
    TRY(text ? take_making(c, &w) : -ENOMEM);
    const u8 *bytes = xdr_bytes(&c->in, &n, MESSAGE_BYTES);
    TRY(args_end(c) ?: n >= PAGE_SIZE ? -ENAMETOOLONG : 0);
    memcpy(text, bytes, n);
    text[n] = 0;
    TRY(strlen(text) == n ? ext2_symlink_at(text, c->ip, c->name) : -EINVAL);
    return finish_making(c, &w);
}

/* MKNOD: refuse, as clients make no devices, pipes or sockets. */
int serve_mknod(struct call *)
{
    return NFS_NOTSUPP;
}

/* LINK: give a file a second name. */
int serve_link(struct call *c)
{
    TRY(take_handle(c, &c->ip) ?: take_name(c, &c->other, c->name));
    TRY(ext2_link_at(c->ip, c->other, c->name) ?: make_stable(c->ip));
    return put_post_of(&c->out, c->ip) ?: put_changed(&c->out, c->other);
}

/* ---- removing and renaming ---- */

/* Set c->made to the inode whose name is to be removed, if there is one. */
static void find_removed(struct call *c, struct inode *dir, const char *name)
{
    if (lookup(dir, name, &c->made))
        c->made = NULL;
}

/* A name of c->made has been removed. If it was the last name, write that to
 * the disk, so that the handle is stale after a crash, too. If no program has
 * the file open, cancel its delayed writes. */
static int make_removal_stable(struct call *c)
{
    struct inode *ip = c->made;
    if (!ip)
        return 0;
    HOLD(inode, ip);
    TRY(ivalid(ip));
    if (!ip->nlink && ip->refs == 1 && S_ISREG(ip->mode))
        TRY(ext2_truncate(ip, 0));
    return ext2_fsync(ip);
}

/* Remove a name, by unlink or by rmdir, durably. */
static int remove(struct call *c,
                  int (*remove_at)(struct inode *, const char *))
{
    find_removed(c, c->ip, c->name);
    TRY(remove_at(c->ip, c->name) ?: make_removal_stable(c));
    return put_changed(&c->out, c->ip);
}

/* REMOVE: remove the name of a file. */
int serve_remove(struct call *c)
{
    return remove(c, ext2_unlink_at);
}

/* RMDIR: remove an empty directory. */
int serve_rmdir(struct call *c)
{
    return remove(c, ext2_rmdir_at);
}

/* RENAME: from one directory and name to another. */
int serve_rename(struct call *c)
{
    TRY(take_name(c, &c->other, c->other_name));
    if (is_dots(c->name) || is_dots(c->other_name))
        return -EINVAL;
    find_removed(c, c->other, c->other_name);
    TRY(ext2_rename_at(c->ip, c->name, c->other, c->other_name));
    TRY(make_removal_stable(c) ?: put_changed(&c->out, c->ip));
    return put_changed(&c->out, c->other);
}
