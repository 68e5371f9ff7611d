/*
 * Procedures of NFS about one file: its attributes and its contents.
 *
 * - A procedure locks the inode once, for all its work, so the attributes in an
 *   answer are of one moment.
 */
#include "kernel/nfs/internal.h"

/* ---- attributes ---- */

/* GETATTR: the attributes. */
int serve_getattr(struct call *c)
{
    put_attributes(&c->out, c->ip);
    return 0;
}

/* SETATTR: change attributes, unless the client's time of change (guard) is not
 * the file's. */
int serve_setattr(struct call *c)
{
    struct inode *ip = c->ip;
    struct wanted w;
    take_wanted(&c->in, &w);
    bool guarded = xdr_bool(&c->in);
    u32 ctime_s = guarded ? xdr_u32(&c->in) : 0;
    TRY(args_end(c));
    if (guarded && ctime_s != ip->ctime_s)
        return NFS_NOT_SYNC;
    struct before b = before(ip);
    TRY(set_wanted(ip, &w) ?: ext2_fsync(ip));
    put_wcc(&c->out, &b, ip);
    return 0;
}

/* Bits of ACCESS. */
enum {
    MAY_READ = 1,
    MAY_LOOKUP = 2,
    MAY_MODIFY = 4,
    MAY_EXTEND = 8,
    MAY_DELETE = 16,
    MAY_EXECUTE = 32,
};

/* Return the bits of ACCESS that fit the file's type. There are no users, so
 * each client gets them. */
static u32 allowed(const struct inode *ip)
{
    bool directory = S_ISDIR(ip->mode);
    u32 may = MAY_READ;
    if (fs_writable(ip->fs) == 0)
        may |= MAY_MODIFY | MAY_EXTEND | (directory ? MAY_DELETE : 0);
    if (directory)
        return may | MAY_LOOKUP;
    return may | (ip->mode & 0111 ? MAY_EXECUTE : 0);
}

/* ACCESS: which of the rights asked for there are. */
int serve_access(struct call *c)
{
    struct inode *ip = c->ip;
    u32 asked = xdr_u32(&c->in);
    TRY(args_end(c));
    put_post(&c->out, ip);
    xdr_put(&c->out, asked & allowed(ip));
    return 0;
}

/* ---- reading ---- */

/* Append up to n bytes of a file or link to the answer, behind a word that
 * holds their number. Returns that number, or -errno. */
static i64 put_contents(struct call *c, struct inode *ip, u64 offset, u32 n)
{
    struct xdr length = c->out;
    u8 *data = xdr_skip(&c->out, 4) + 4;
    struct uio u = {.addr = (u64)data, .left = n, .offset = offset};
    if (S_ISLNK(ip->mode)) {
        TRY(ext2_readlink(ip, &u));
    } else {
        reads_begin(ip, &c->streams);
        int error = ext2_read(ip, &u, &c->streams);
        reads_end(ip, &c->streams);
        TRY(error);
    }
    n -= u.left;
    xdr_put(&length, n);
    xdr_pad(&c->out, n);
    return n;
}

/* READLINK: the text of a symbolic link. */
int serve_readlink(struct call *c)
{
    struct inode *ip = c->ip;
    if (!S_ISLNK(ip->mode))
        return -EINVAL;
    put_post(&c->out, ip);
    return MIN(put_contents(c, ip, 0, TRANSFER_BYTES), 0);
}

/* READ: attributes, number of bytes, true at the end of the file; then the
 * data. The head is put last. */
int serve_read(struct call *c)
{
    struct inode *ip = c->ip;
    u64 offset = xdr_u64(&c->in);
    u32 n = MIN(xdr_u32(&c->in), TRANSFER_BYTES);
    TRY(args_end(c));
    if (!S_ISREG(ip->mode))
        return S_ISDIR(ip->mode) ? -EISDIR : -EINVAL;
    struct xdr head = c->out; /* comes first, and is known last */
    xdr_skip(&c->out, POST_BYTES + 8);
    i64 count = put_contents(c, ip, offset, n);
    if (count < 0)
        return count;
    put_post(&head, ip);
    xdr_put(&head, count);
    xdr_put(&head, offset >= ip->size || (u64)count == ip->size - offset);
    return 0;
}

/* ---- writing ---- */

/* Write, durably if asked. If the disk refuses a part after some bytes have
 * been written, the error is reported when the client writes the rest. */
static int write_some(struct inode *ip, struct uio *u, enum stable stable)
{
    u64 n = u->left;
    int error = ext2_write(ip, u);
    if (error && u->left == n)
        return error;
    return stable == UNSTABLE ? 0 : ext2_fsync(ip);
}

/* WRITE: write the data, durable or not, as asked. */
int serve_write(struct call *c)
{
    struct inode *ip = c->ip;
    u32 bytes;
    u64 offset = xdr_u64(&c->in);
    u32 n = xdr_u32(&c->in);
    enum stable stable = xdr_u32(&c->in);
    u8 *data = xdr_bytes(&c->in, &bytes, MESSAGE_BYTES);
    c->in.bad |= n > bytes || stable > FILE_SYNC;
    TRY(args_end(c));
    struct uio u = {(u64)data, n, offset, false, true};
    struct before b = before(ip);
    TRY(write_some(ip, &u, stable));
    put_wcc(&c->out, &b, ip);
    xdr_put(&c->out, n - u.left);
    xdr_put(&c->out, stable == UNSTABLE ? UNSTABLE : FILE_SYNC);
    xdr_put64(&c->out, exported.verifier);
    return 0;
}

/* Make a file durable. Returns -EIO also if a delayed write of it has been lost
 * and no fsync or COMMIT has reported that. */
static int commit(struct inode *ip)
{
    u64 told = ext2_lost_before(ip);
    int error = ext2_fsync(ip);
    int lost = ext2_lost_since(ip, &told, true);
    return error ?: lost;
}

/* COMMIT: make earlier unstable writes durable. */
int serve_commit(struct call *c)
{
    struct inode *ip = c->ip;
    xdr_u64(&c->in); /* offset and length: the whole file is committed */
    xdr_u32(&c->in);
    TRY(args_end(c));
    if (!S_ISREG(ip->mode))
        return -EINVAL;
    struct before b = before(ip);
    TRY(commit(ip));
    put_wcc(&c->out, &b, ip);
    xdr_put64(&c->out, exported.verifier);
    return 0;
}
