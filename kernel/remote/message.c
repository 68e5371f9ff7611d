/* The parts that most calls of NFS have: handles, names, attributes, and the
 * error that the server reports. */
#include "kernel/remote/internal.h"

#define AGAIN_NS NS_PER_S /* after which a busy server is asked again */

/* Begin a call of NFS about this file. */
struct call *nfs_begin(enum nfs_procedure procedure, const struct file *f)
{
    struct call *c = call_take();
    call_begin(c, NFS_PROGRAM, 3, procedure);
    put_file(&c->out, f);
    return c;
}

void put_file(struct xdr *x, const struct file *f)
{
    xdr_put_bytes(x, f->handle, f->handle_bytes);
}

/* Return the kernel's error for a status of NFS. Most have one number. */
int nfs_error(u32 status)
{
    static const struct {
        u32 status;
        int error;
    } others[] = {
        {NFS_ACCES, EPERM},   {NFS_NAMETOOLONG, ENAMETOOLONG},
        {NFS_STALE, ESTALE},  {NFS_NOTEMPTY, ENOTEMPTY},
        {NFS_NOTSUPP, EPERM}, {NFS_BADHANDLE, ESTALE},
        {NFS_DQUOT, ENOSPC},
    };
    for (u32 i = 0; i < NELEM(others); i++)
        if (others[i].status == status)
            return -others[i].error;
    return status <= EMLINK ? -(int)status : -EIO;
}

/* Wait AGAIN_NS before a call is repeated. Return 0 or -EINTR. */
static int pause(void)
{
    static struct spinlock lock = SPINLOCK("busy", RANK_PIPE);
    u64 until_ns = clock_ns() + AGAIN_NS;
    HOLD(spin, &lock);
    int error = sleep_until(&until_ns, &lock, until_ns);
    return error == -EINTR ? error : 0;
}

/* Send a call until the server has carried it out. Return 0 or its error. After
 * JUKEBOX the server wants to be asked again. */
int nfs_send(struct mount *m, struct call *c)
{
    assert(!c->out.bad);
    for (;;) {
        TRY(call_send(c, &m->server, m->server.port, 0));
        u32 status = xdr_u32(&c->in);
        if (c->in.bad)
            return -EIO;
        if (status != NFS_JUKEBOX)
            return nfs_error(status);
        TRY(pause());
        call_renew(c);
    }
}

/* ---- attributes ---- */

static u32 take_time(struct xdr *x, u32 *ns)
{
    u32 s = xdr_u32(x);
    *ns = xdr_u32(x);
    return s;
}

/* Take fattr3, a file's attributes. */
void take_fattr(struct xdr *x, struct attributes *a)
{
    u32 ns;
    a->type = xdr_u32(x);
    a->mode = xdr_u32(x);
    a->nlink = xdr_u32(x);
    xdr_u64(x); /* user and group */
    a->stamp.size = xdr_u64(x);
    a->used = xdr_u64(x);
    u32 major = xdr_u32(x);
    a->rdev = (major & 0xff) << 8 | (xdr_u32(x) & 0xff);
    xdr_u64(x); /* the file system */
    a->id = xdr_u64(x);
    a->atime_s = take_time(x, &ns);
    a->stamp.mtime_s = take_time(x, &a->stamp.mtime_ns);
    a->ctime_s = take_time(x, &ns);
}

/* Take post_op_attr. True if attributes are there. */
bool take_post(struct xdr *x, struct attributes *a)
{
    bool there = xdr_bool(x);
    if (there)
        take_fattr(x, a);
    return there && !x->bad;
}

/* Take wcc_data: how a call of this client has changed the file. */
void take_wcc(struct call *c, struct mount *m, struct file *f)
{
    struct attributes after;
    struct stamp before;
    u32 ns;
    bool has_before = xdr_bool(&c->in);
    if (has_before) {
        before.size = xdr_u64(&c->in);
        before.mtime_s = take_time(&c->in, &before.mtime_ns);
        take_time(&c->in, &ns);
    }
    if (take_post(&c->in, &after))
        change_came(m, f, has_before ? &before : NULL, &after);
}

/* Take a handle and the attributes behind it. Return the file, or NULL.
 * optional: a truth value says if the handle is there. */
struct file *take_file(struct call *c, struct mount *m, u64 began,
                       bool optional)
{
    struct attributes a;
    u32 n;
    if (optional && !xdr_bool(&c->in))
        return NULL;
    const u8 *handle = xdr_bytes(&c->in, &n, HANDLE_MOST);
    struct file *f = handle && n ? file_of_handle(m, handle, n) : NULL;
    if (f && take_post(&c->in, &a))
        attributes_came(m, f, &a, began);
    return f;
}
