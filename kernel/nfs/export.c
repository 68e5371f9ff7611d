/*
 * The exported directory, and the handles of its files.
 *
 * - The first process that serves fills in export, and the last one empties it.
 *   The root's reference keeps its file system mounted.
 * - A handle is three words: the disk, the inode's number, its generation.
 */
#include "kernel/nfs/internal.h"
#include "kernel/disk/disk.h"
#include "kernel/machine/mem.h"

#define HANDLE_BYTES 12

struct exported exported;
static struct sleeplock export_lock;

void nfs_init(void)
{
    sleep_lock_init(&export_lock, "export");
}

/* Check that the inode is a directory, and write its path. */
static int check_root(struct inode *ip, char *path)
{
    TRY(ilock_valid(ip));
    TRY(iunlock_with(ip, S_ISDIR(ip->mode) ? 0 : -ENOTDIR));
    TRY(ext2_disk(ip)->carry ? -EXDEV : 0); /* its handles are no inodes' */
    return MIN(ext2_path(ip, path, PATH_BYTES), 0);
}

/* Note what is exported, and a verifier that no earlier start has had. */
static void fill(struct inode *ip, const char *path)
{
    struct stat st;
    ext2_stat(ip, &st);
    exported.root = idup(ip);
    exported.disk = st.st_dev;
    exported.verifier = clock_wall_ns() ^ (u64)ext2_mount_count(ip) << 48;
    strlcpy(exported.path, path, sizeof exported.path);
    nfs_has_served = true;
}

/* Begin to serve this directory. -EBUSY: other processes serve another one. */
int export_begin(const char *path)
{
    OWNED(inode) struct inode *ip = NULL;
    PAGE_OWNED char *page = page_alloc();
    TRY(page ? namei(path, 0, &ip) ?: check_root(ip, page) : -ENOMEM);
    HOLD(sleep, &export_lock);
    if (exported.users && exported.root != ip)
        return -EBUSY;
    TRY(replies_start());
    if (!exported.users++)
        fill(ip, page);
    return 0;
}

/* End to serve. The last process lets the directory go. */
void export_end(void)
{
    HOLD(sleep, &export_lock);
    if (!--exported.users)
        iput(exported.root);
}

/* Take a handle apart. NFS_BADHANDLE: it is none of this export. */
int take_numbers(struct call *c, u32 *ino, u32 *generation)
{
    u32 n;
    struct xdr h = {.at = xdr_bytes(&c->in, &n, HANDLE_MOST)};
    if (c->in.bad)
        return -EINVAL; /* the answer will be GARBAGE_ARGS */
    h.end = h.at + n;
    u32 disk = xdr_u32(&h);
    *ino = xdr_u32(&h);
    *generation = xdr_u32(&h);
    return n != HANDLE_BYTES || disk != exported.disk ? NFS_BADHANDLE : 0;
}

/* Take a handle, and get its inode. Return 0 or an error. */
int take_handle(struct call *c, struct inode **ip)
{
    u32 ino, generation;
    *ip = NULL;
    TRY(take_numbers(c, &ino, &generation));
    return ext2_find(exported.root, ino, generation, ip);
}

/* Put a handle of these numbers. */
void put_numbers(struct xdr *x, u32 ino, u32 generation)
{
    xdr_put(x, HANDLE_BYTES);
    xdr_put(x, exported.disk);
    xdr_put(x, ino);
    xdr_put(x, generation);
}

/* Put the handle of an inode that is not locked. */
int put_handle(struct xdr *x, struct inode *ip)
{
    TRY(ilock_valid(ip));
    put_numbers(x, ip->ino, ip->generation);
    return iunlock_with(ip, 0);
}
