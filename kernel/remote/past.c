/* Bytes of a file that go past the cache, while other clients write it: each
 * read is a READ, and each write a WRITE whose bytes the server has on its disk
 * when it answers. */
#include "kernel/remote/internal.h"

/* Read at u->offset. Returns how many bytes; 0: the file ends there. */
static i64 read_once(struct mount *m, struct file *f, struct uio *u)
{
    struct attributes a;
    u32 n, want = MIN(u->left, TRANSFER_BYTES);
    OWNED(call) struct call *c = nfs_begin(NFS_READ, f);
    xdr_put64(&c->out, u->offset);
    xdr_put(&c->out, want);
    TRY(nfs_send(m, c));
    take_post(&c->in, &a);
    xdr_u64(&c->in); /* the number of bytes, which comes again; the end */
    u8 *data = xdr_bytes(&c->in, &n, want);
    if (!data)
        return -EIO;
    TRY(uio_move(data, n, u));
    return n;
}

/* Write at u->offset. Returns how many bytes, at least one. */
static i64 write_once(struct mount *m, struct file *f, struct uio *u)
{
    struct uio rest = *u;
    u32 n = MIN(u->left, TRANSFER_BYTES);
    OWNED(call) struct call *c = nfs_begin(NFS_WRITE, f);
    xdr_put64(&c->out, u->offset);
    xdr_put(&c->out, n);
    xdr_put(&c->out, FILE_SYNC);
    xdr_put(&c->out, n);
    u8 *data = c->out.at;
    xdr_pad(&c->out, n);
    TRY(uio_move(data, n, &rest));
    TRY(nfs_send(m, c));
    take_wcc(c, m, f);
    u32 did = xdr_u32(&c->in);
    if (c->in.bad || did == 0 || did > n)
        return -EIO;
    u->addr += did;
    u->offset += did;
    u->left -= did;
    return did;
}

/* Move the bytes of a file that does not use the cache. Return 1 if they were
 * moved, 0 if the file uses the cache, or an error. */
int remote_move(struct inode *ip, struct uio *u)
{
    struct mount *m = mount_of(ip);
    struct file *f = file_of(ip);
    if (!f->past)
        return 0;
    for (i64 n = 1; n && u->left;) {
        n = u->write ? write_once(m, f, u) : read_once(m, f, u);
        if (n < 0)
            return n;
        ip->size = u->write ? MAX(ip->size, u->offset) : ip->size;
    }
    return 1;
}
