/* Attributes as NFS has them: fattr3, sattr3 and wcc_data of RFC 1813. ext2
 * stores times in seconds and no users: each file is user 0's. */
#include "kernel/nfs/internal.h"

/* ---- from the kernel to the client ---- */

/* Return the file's type as ftype3 has it. */
static u32 type_of(u32 mode)
{
    static const u8 types[16] = {
        [S_IFREG >> 12] = 1, [S_IFDIR >> 12] = 2, [S_IFBLK >> 12] = 3,
        [S_IFCHR >> 12] = 4, [S_IFLNK >> 12] = 5, [S_IFSOCK >> 12] = 6,
        [S_IFIFO >> 12] = 7,
    };
    return types[(mode & S_IFMT) >> 12];
}

static void put_time(struct xdr *x, u32 s, u32 ns)
{
    xdr_put(x, s);
    xdr_put(x, ns);
}

/* Put fattr3, the attributes of a locked inode. */
void put_attributes(struct xdr *x, const struct inode *ip)
{
    xdr_put(x, type_of(ip->mode));
    xdr_put(x, ip->mode & 07777);
    xdr_put(x, ip->nlink);
    xdr_put64(x, 0); /* user and group */
    xdr_put64(x, ip->size);
    xdr_put64(x, (u64)ip->sectors * 512);
    xdr_put(x, ip->rdev >> 8);
    xdr_put(x, ip->rdev & 0xff);
    xdr_put64(x, exported.disk);
    xdr_put64(x, ip->ino);
    put_time(x, ip->atime_s, 0);
    put_time(x, ip->mtime_s, ip->mtime_ns);
    put_time(x, ip->ctime_s, 0);
}

/* Put post_op_attr: attributes that follow. */
void put_post(struct xdr *x, const struct inode *ip)
{
    xdr_put(x, true);
    put_attributes(x, ip);
}

/* Lock the inode and put post_op_attr. Return 0 or an error. */
int put_post_of(struct xdr *x, struct inode *ip)
{
    TRY(ilock_valid(ip));
    put_post(x, ip);
    return iunlock_with(ip, 0);
}

/* Return what wcc_data says of the inode before a change. */
struct before before(const struct inode *ip)
{
    return (struct before){ip->size, ip->mtime_s, ip->mtime_ns, ip->ctime_s};
}

/* Put wcc_data: the attributes before (b is NULL: left out) and after a
 * change. */
void put_wcc(struct xdr *x, const struct before *b, const struct inode *ip)
{
    xdr_put(x, b != NULL);
    if (b) {
        xdr_put64(x, b->size);
        put_time(x, b->mtime_s, b->mtime_ns);
        put_time(x, b->ctime_s, 0);
    }
    put_post(x, ip);
}

/* Make an unlocked inode durable. Return 0 or an error. */
int make_stable(struct inode *ip)
{
    return ilock_valid(ip) ?: iunlock_with(ip, ext2_fsync(ip));
}

/* Make a changed directory durable, and put its wcc_data. */
int put_changed(struct xdr *x, struct inode *dir)
{
    TRY(ilock_valid(dir));
    int error = ext2_fsync(dir);
    put_wcc(x, NULL, dir);
    return iunlock_with(dir, error);
}

/* ---- from the client to the kernel ---- */

/* How to set a time: not at all; to the server's time; to the call's. */
enum { KEEP, SERVERS, CLIENTS };

/* Take set_atime or set_mtime: *s is the wanted time. True if it is to be
 * changed. */
static bool take_time(struct xdr *x, u64 *s)
{
    u32 how = xdr_u32(x);
    x->bad |= how > CLIENTS;
    *s = UTIME_NOW;
    if (how == CLIENTS) {
        *s = xdr_u32(x);
        xdr_u32(x); /* ns, finer than ext2 has it */
    }
    return how != KEEP;
}

/* Take sattr3. Each field has a flag before it, and is absent if the flag is
 * 0. */
void take_wanted(struct xdr *x, struct wanted *w)
{
    u32 user = 0;
    *w = (struct wanted){.mode = xdr_bool(x)};
    if (w->mode)
        w->new_mode = xdr_u32(x);
    for (u32 i = 0; i < 2; i++) /* user and group */
        user |= xdr_bool(x) ? xdr_u32(x) : 0;
    w->size = xdr_bool(x);
    if (w->size)
        w->new_size = xdr_u64(x);
    w->atime = take_time(x, &w->new_atime_s);
    w->mtime = take_time(x, &w->new_mtime_s);
    w->error = user ? -EPERM : w->new_mode > 07777 ? -EINVAL : 0;
}

/* Set size, mode and times, each only if it is wanted. */
int set_wanted(struct inode *ip, const struct wanted *w)
{
    TRY(w->error);
    TRY(w->size ? ext2_truncate(ip, w->new_size) : 0);
    TRY(w->mode ? ext2_chmod(ip, w->new_mode) : 0);
    if (!w->atime && !w->mtime)
        return 0;
    return ext2_utime(ip, w->atime ? w->new_atime_s : ip->atime_s,
                      w->mtime ? w->new_mtime_s : ip->mtime_s);
}
