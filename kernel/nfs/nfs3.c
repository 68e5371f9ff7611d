/* The procedures of NFS version 3, and those about the file system as a whole.
 */
#include "kernel/ext2/format.h"
#include "kernel/nfs/internal.h"

/* FSINFO's properties: hard links, symbolic links, the same PATHCONF for all
 * files, times that clients set. */
#define PROPERTIES 0x1b

/* The file system's figures, and the attributes of the call's file. */
static int take_figures(struct call *c, struct statfs *s)
{
    OWNED(inode) struct inode *ip = NULL;
    TRY(take_handle(c, &ip) ?: put_post_of(&c->out, ip));
    return s ? ext2_statfs(ip, s) : 0;
}

static int fsstat(struct call *c)
{
    struct statfs s;
    TRY(take_figures(c, &s));
    xdr_put64(&c->out, s.blocks * s.block_size);
    xdr_put64(&c->out, s.free_blocks * s.block_size);
    xdr_put64(&c->out, s.free_blocks * s.block_size); /* for this client */
    xdr_put64(&c->out, s.inodes);
    xdr_put64(&c->out, s.free_inodes);
    xdr_put64(&c->out, s.free_inodes);
    xdr_put(&c->out, 0); /* for how many seconds this will stay so */
    return 0;
}

static int fsinfo(struct call *c)
{
    TRY(take_figures(c, NULL));
    for (u32 i = 0; i < 2; i++) {         /* for READ and for WRITE */
        xdr_put(&c->out, TRANSFER_BYTES); /* at most */
        xdr_put(&c->out, TRANSFER_BYTES); /* preferred */
        xdr_put(&c->out, 512);            /* a multiple of */
    }
    xdr_put(&c->out, TRANSFER_BYTES); /* for READDIR, preferred */
    xdr_put64(&c->out, ext2_max_bytes(export.root));
    xdr_put(&c->out, 1); /* times are in steps of 1 s and 0 ns */
    xdr_put(&c->out, 0);
    xdr_put(&c->out, PROPERTIES);
    return 0;
}

static int pathconf(struct call *c)
{
    TRY(take_figures(c, NULL));
    xdr_put(&c->out, EXT2_LINK_MAX);
    xdr_put(&c->out, NAME_BYTES);
    xdr_put(&c->out, true);  /* longer names are errors */
    xdr_put(&c->out, true);  /* only root changes owners */
    xdr_put(&c->out, false); /* names of other case are other names */
    xdr_put(&c->out, true);  /* ... and the case is kept */
    return 0;
}

/* {function, must not be done twice, words after an error} */
static const struct procedure procedures[] = {
    {serve_null, .no_status = true},
    {serve_getattr},
    {serve_setattr, .once = true, .absent = 2},
    {serve_lookup, .absent = 1},
    {serve_access, .absent = 1},
    {serve_readlink, .absent = 1},
    {serve_read, .absent = 1},
    {serve_write, .once = true, .absent = 2},
    {serve_create, .once = true, .absent = 2},
    {serve_mkdir, .once = true, .absent = 2},
    {serve_symlink, .once = true, .absent = 2},
    {serve_mknod, .absent = 2},
    {serve_remove, .once = true, .absent = 2},
    {serve_rmdir, .once = true, .absent = 2},
    {serve_rename, .once = true, .absent = 4},
    {serve_link, .once = true, .absent = 3},
    {serve_readdir, .absent = 1},
    {serve_readdirplus, .absent = 1},
    {fsstat, .absent = 1},
    {fsinfo, .absent = 1},
    {pathconf, .absent = 1},
    {serve_commit, .absent = 2},
};

const struct program nfs_program = {100003, 3, NFS_PORT, procedures,
                                    NELEM(procedures)};
