/* The procedures of NFS version 3, and those about the file system as a whole.
 */
#include "kernel/ext2/format.h"
#include "kernel/nfs/internal.h"

/* FSINFO's properties: hard links, symbolic links, the same PATHCONF for all
 * files, times that clients set. */
#define PROPERTIES 0x1b

/* FSSTAT: bytes and inodes, in all and free. */
int serve_fsstat(struct call *c)
{
    struct statfs s;
    TRY(ext2_statfs(c->ip, &s));
    put_post(&c->out, c->ip);
    xdr_put64(&c->out, s.blocks * s.block_size);
    xdr_put64(&c->out, s.free_blocks * s.block_size);
    xdr_put64(&c->out, s.free_blocks * s.block_size); /* for this client */
    xdr_put64(&c->out, s.inodes);
    xdr_put64(&c->out, s.free_inodes);
    xdr_put64(&c->out, s.free_inodes);
    xdr_put(&c->out, 0); /* for how many seconds this will stay so */
    return 0;
}

/* FSINFO: the server's limits. */
int serve_fsinfo(struct call *c)
{
    put_post(&c->out, c->ip);
    for (u32 i = 0; i < 2; i++) {         /* for READ and for WRITE */
        xdr_put(&c->out, TRANSFER_BYTES); /* at most */
        xdr_put(&c->out, TRANSFER_BYTES); /* preferred */
        xdr_put(&c->out, 512);            /* a multiple of */
    }
    xdr_put(&c->out, TRANSFER_BYTES); /* for READDIR, preferred */
    xdr_put64(&c->out, ext2_max_bytes(exported.root));
    xdr_put(&c->out, 1); /* times are in steps of 1 s and 0 ns */
    xdr_put(&c->out, 0);
    xdr_put(&c->out, PROPERTIES);
    return 0;
}

/* PATHCONF: limits of names. */
int serve_pathconf(struct call *c)
{
    put_post(&c->out, c->ip);
    xdr_put(&c->out, EXT2_LINK_MAX);
    xdr_put(&c->out, NAME_BYTES);
    xdr_put(&c->out, true);  /* longer names are errors */
    xdr_put(&c->out, true);  /* only root changes owners */
    xdr_put(&c->out, false); /* names of other case are other names */
    xdr_put(&c->out, true);  /* ... and the case is kept */
    return 0;
}

/* ---- all procedures ---- */

/* NULL: does nothing, so that a client learns that the server is there. */
int serve_null(struct call *)
{
    return 0;
}

/* Programs that keep the caches of clients consistent (internal.h, guard) are
 * asked before a file's contents or attributes are read or changed. Returns 0,
 * or the status with which one refuses. */
static int ask_guards(struct call *c)
{
    int (*fn)(struct call *) = c->procedure->serve;
    bool write = fn == serve_write || fn == serve_setattr;
    if (!write && fn != serve_read && fn != serve_getattr)
        return 0;
    for (u32 i = 0; i < PROGRAMS; i++)
        if (__start_programs[i]->guard)
            TRY(__start_programs[i]->guard(c, write));
    return 0;
}

/* Take what the procedure is about (a name, or a file, which is locked), and
 * call its function. */
static int serve(struct call *c)
{
    const struct procedure *p = c->procedure;
    if (p->about == ABOUT_NAME)
        TRY(take_name(c, &c->ip, c->name));
    if (p->about != ABOUT_FILE)
        return p->serve(c);
    TRY(take_handle(c, &c->ip) ?: ask_guards(c));
    HOLD(inode, c->ip);
    return ivalid(c->ip) ?: p->serve(c);
}

/* Serve a call of NFS, and give back all inodes that it got. Return its
 * status. */
int serve_procedure(struct call *c)
{
    struct inode **mine[] = {&c->ip, &c->other, &c->made};
    c->ip = c->other = c->made = NULL;
    int status = serve(c);
    for (u32 i = 0; i < NELEM(mine); i++)
        if (*mine[i])
            iput(*mine[i]);
    return status;
}

static const struct procedure procedures[] = {
#define X(name, about, once, absent) \
    {serve_##name, ABOUT_##about, serve_##name == serve_null, once, absent},
    NFS_PROCEDURES(X)
#undef X
};

static const struct program nfs_program = {NFS_PROGRAM, 3, NFS_PORT, procedures,
                                           NELEM(procedures)};
PROGRAM(nfs_program);
