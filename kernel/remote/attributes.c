/*
 * Attributes of remote files. They show whether the cached blocks are those of
 * the server's version of a file.
 *
 * - The cached blocks are of one version of the file, `known`. Attributes of
 *   another version mean that another client has changed the file, and then the
 *   blocks are dropped. While blocks are dirty the server's version says
 *   nothing, so its attributes are not taken.
 * - Calls of this client change the version, too. Their replies say from which
 *   version to which (wcc_data). If the first is `known`, the second is `known`
 *   from now on. Replies may come in another order, so a change that does not
 *   fit yet is kept in m->change. A change that never fits makes the next open
 *   drop the blocks, which is slow and right.
 * - Attributes may be older than a change made here that was answered first.
 *   So a process notes m->changes before it asks for them.
 */
#include "kernel/cache/bio.h"
#include "kernel/remote/internal.h"

/* True if a file's size and time of change are equal in both answers. */
static bool equal(const struct stamp *a, const struct stamp *b)
{
    return a->size == b->size && a->mtime_s == b->mtime_s &&
           a->mtime_ns == b->mtime_ns;
}

/* Return the number of changes so far: what a process notes before it asks for
 * attributes. */
u64 changes_now(struct mount *m)
{
    HOLD(spin, &m->lock);
    return m->changes;
}

/* Take attributes of a reply, unless they may be older than a change made here:
 * `began` is the number of changes at the call. */
void attributes_came(struct mount *m, struct file *f,
                     const struct attributes *a, u64 began)
{
    HOLD(spin, &m->lock);
    f->attributes.nlink = a->nlink; /* of a dirty file, too */
    if (f->changed > began || f->written)
        return;
    f->attributes = *a;
    f->fresh = true;
}

/* ---- changes made here ---- */

/* Find the change of this file that begins with the version `known`. */
static struct change *next_change(struct mount *m, const struct file *f)
{
    for (u32 i = 0; i < CHANGES; i++)
        if (m->change[i].number == f->number &&
            equal(&m->change[i].before, &f->known))
            return &m->change[i];
    return NULL;
}

/* Take the wcc_data of a reply: a change of this client's. It, and kept ones
 * that now fit, move `known` on. */
void change_came(struct mount *m, struct file *f, const struct stamp *before,
                 const struct attributes *after)
{
    HOLD(spin, &m->lock);
    f->changed = ++m->changes;
    if (!before)
        return;
    m->change[m->next_change++ % CHANGES] =
        (struct change){f->number, *before, after->stamp};
    for (struct change *c; f->sure && (c = next_change(m, f));) {
        f->known = c->after;
        c->number = 0;
    }
}

/* The file is dirty from now on: the server's attributes say nothing. */
void remote_written(struct inode *ip)
{
    struct mount *m = mount_of(ip);
    struct file *f = file_of(ip);
    HOLD(spin, &m->lock);
    f->written = true;
    f->fresh = false;
    f->changed = ++m->changes;
}

/* ---- from the server's attributes to the inode ---- */

/* Drop the blocks that begin at byte `from` or behind it, and before `end`. */
void drop_blocks(struct mount *m, const struct file *f, u64 from, u64 end)
{
    u32 bytes = bio_block_bytes();
    for (u64 at = (from + bytes - 1) / bytes; at * bytes < end; at++)
        binval(m->disk, f->number * EXT2_ELSEWHERE_BLOCKS + at);
}

/* Fill the inode with the attributes. All its blocks are one run, which lies
 * where the file's number says (remote.h). */
static void set_inode(struct inode *ip, const struct attributes *a)
{
    static const u32 types[] = {0,       S_IFREG, S_IFDIR,  S_IFBLK,
                                S_IFCHR, S_IFLNK, S_IFSOCK, S_IFIFO};
    u32 type = a->type < NELEM(types) ? types[a->type] : 0;
    ip->mode = type | (a->mode & 07777);
    ip->nlink = MAX(1, a->nlink);
    ip->rdev = a->rdev;
    ip->generation = a->id;
    ip->size = a->stamp.size;
    ip->sectors = a->used / 512;
    ip->atime_s = a->atime_s;
    ip->mtime_s = a->stamp.mtime_s;
    ip->ctime_s = a->ctime_s;
    ip->run_block = 0;
    ip->run_start = ip->ino * EXT2_ELSEWHERE_BLOCKS;
    ip->run_blocks = EXT2_ELSEWHERE_BLOCKS;
    ip->dirty = false;
    ip->valid = type != 0;
}

/* Take the attributes that have come since the last call. True: the cached
 * blocks are of another version of the file; *end is where they end. */
static bool take_fresh(struct mount *m, struct file *f, struct inode *ip,
                       u64 *end)
{
    HOLD(spin, &m->lock);
    f->ip = ip;
    f->owner = ext2_owner(ip);
    ip->nlink = MAX(1, f->attributes.nlink);
    if (!f->fresh || f->written)
        return false;
    const struct stamp *now = &f->attributes.stamp;
    bool differs = f->sure && !equal(&f->known, now);
    *end = MAX(f->known.size, ip->valid ? ip->size : f->size);
    f->known = *now;
    f->sure = true;
    f->fresh = false;
    set_inode(ip, &f->attributes);
    return differs;
}

/* Bring a locked inode up to date: ask for attributes if none are known, and
 * drop blocks of another version. ip->valid says if it worked. */
void remote_load(struct inode *ip)
{
    struct mount *m = mount_of(ip);
    struct file *f = file_of(ip);
    u64 end;
    if (m->consistency->locked)
        m->consistency->locked(ip);
    bool unknown = !ip->valid && !f->fresh && !f->written;
    if ((unknown || (f->past && !m->consistency->locked)) &&
        ask_attributes(m, f) && unknown)
        return;
    if (take_fresh(m, f, ip, &end))
        drop_blocks(m, f, 0, end);
    if (!ip->valid && f->written) { /* it was forgotten with dirty blocks */
        u64 size = f->size;
        set_inode(ip, &f->attributes);
        ip->size = size;
    }
}

/* Return why the file could not be used last. */
int remote_error(const struct inode *ip)
{
    return file_of(ip)->error ?: -EIO;
}

/* The inode leaves memory. The size is kept, as the file may be dirty. */
void remote_forget(struct inode *ip)
{
    struct mount *m = mount_of(ip);
    struct file *f = file_of(ip);
    HOLD(spin, &m->lock);
    f->size = ip->size;
    f->ip = NULL;
}

/* ---- writing dirty blocks ---- */

/* True if this error is for good: no later attempt can succeed. */
static bool is_final(int error)
{
    return error == -ESTALE || error == -EPERM || error == -EROFS;
}

/* Return the end of what may be cached of the file, in bytes. */
u64 file_end(const struct file *f)
{
    return MAX(f->known.size, f->ip ? f->ip->size : f->size);
}

/* Write the file's dirty blocks and wait. After a final error they are
 * dropped. */
int flush_file(struct mount *m, struct file *f)
{
    if (!f->written)
        return 0;
    f->error = 0;
    int error = bflush_owner(m->disk, f->owner) ? f->error ?: -EIO : 0;
    if (is_final(error))
        drop_blocks(m, f, 0, file_end(f));
    HOLD(spin, &m->lock);
    if (!error || is_final(error))
        f->written = false;
    return error;
}

/* Return the error of data that was lost, once; 0: none. */
int take_lost(struct file *f)
{
    return __atomic_exchange_n(&f->lost, 0, __ATOMIC_RELAXED);
}

/* Write the dirty blocks. Return an error, also of data lost before. */
int remote_flush(struct inode *ip)
{
    return flush_file(mount_of(ip), file_of(ip)) ?: take_lost(file_of(ip));
}

/* ---- open and close, by the mount's consistency ---- */

/* A locked file is opened: as the kind of consistency says. */
int remote_open(struct inode *ip, bool write)
{
    if (!S_ISREG(ip->mode))
        return 0;
    file_opened(mount_of(ip), file_of(ip), false);
    return mount_of(ip)->consistency->open(ip, write);
}

/* An unlocked file is closed: as the kind of consistency says. */
int remote_close(struct inode *ip, bool write)
{
    if (!S_ISREG(ip->mode))
        return 0;
    int error = mount_of(ip)->consistency->close(ip, write);
    file_closed(mount_of(ip), file_of(ip));
    return error;
}
