/*
 * The interface of ext2.h, where it means one thing for ext2 and another thing
 * for a file system that is elsewhere (fs_operations): attributes, links, the
 * open and close of files, and names in directories.
 *
 * - Elsewhere in this room one line asks which kind it is: where an inode is
 *   loaded, written or forgotten (inode.c), where a name is looked up or
 *   changed, at truncate and getdents, and in mounting (super.c) and the order
 *   policy.
 * - A call that neither kind allows is refused here, before it is passed on.
 */
#include "kernel/ext2/internal.h"

/* ---- files ---- */

/* Notify a file server that a file is opened. Return 0 or its error. */
int ext2_opened(struct inode *ip, bool write)
{
    return ip->fs->elsewhere ? ip->fs->elsewhere->open(ip, write) : 0;
}

/* Notify a file server that a file is closed. Return 0 or its error. */
int ext2_closed(struct inode *ip, bool write)
{
    return ip->fs->elsewhere ? ip->fs->elsewhere->close(ip, write) : 0;
}

/* Make the file durable; if it is elsewhere, as its server does. Return 0 or an
 * error. */
int ext2_flush(struct inode *ip)
{
    return ip->fs->elsewhere ? ip->fs->elsewhere->flush(ip) : ext2_fsync(ip);
}

/* Copy out the text of a symbolic link. */
int ext2_readlink(struct inode *ip, struct uio *u)
{
    if (!S_ISLNK(ip->mode))
        return -EINVAL;
    return ip->fs->elsewhere ? ip->fs->elsewhere->readlink(ip, u)
                             : read_link(ip, u);
}

/* ---- attributes ---- */

/* Describe the locked inode. One that is elsewhere has its number there. */
void ext2_stat(struct inode *ip, struct stat *st)
{
    *st = (struct stat){
        .st_dev = ip->fs->disk->id,
        .st_ino = ip->fs->elsewhere ? ip->generation : ip->ino,
        .st_mode = ip->mode,
        .st_nlink = ip->nlink,
        .st_rdev = ip->rdev,
        .st_blksize = ip->fs->block_bytes,
        .st_size = ip->size,
        .st_blocks = ip->sectors,
        .st_atime_s = ip->atime_s,
        .st_mtime_s = ip->mtime_s,
        .st_ctime_s = ip->ctime_s,
    };
}

/* Set the permission bits. */
int ext2_chmod(struct inode *ip, u64 mode)
{
    TRY(mode & ~07777UL ? -EINVAL : fs_writable(ip->fs));
    if (ip->fs->elsewhere)
        return ip->fs->elsewhere->set_mode(ip, mode);
    HOLD(operation, ip->fs);
    ip->mode = (ip->mode & S_IFMT) | mode;
    ip->ctime_s = now_s();
    return inode_write(ip, false);
}

/* Set the times of access and change, in seconds; UTIME_NOW is the present. */
int ext2_utime(struct inode *ip, u64 atime_s, u64 mtime_s)
{
    atime_s = atime_s == UTIME_NOW ? now_s() : atime_s;
    mtime_s = mtime_s == UTIME_NOW ? now_s() : mtime_s;
    TRY(MAX(atime_s, mtime_s) > UINT32_MAX ? -EINVAL : fs_writable(ip->fs));
    if (ip->fs->elsewhere)
        return ip->fs->elsewhere->set_times(ip, atime_s, mtime_s);
    HOLD(operation, ip->fs);
    ip->atime_s = atime_s;
    ip->mtime_s = mtime_s;
    ip->mtime_ns = 0;
    ip->ctime_s = now_s();
    return inode_write(ip, false);
}

/* Say how much of the file system is in use. */
int ext2_statfs(struct inode *ip, struct statfs *out)
{
    struct fs *fs = ip->fs;
    if (fs->elsewhere)
        return fs->elsewhere->statfs(ip, out);
    *out = (struct statfs){.block_size = fs->block_bytes,
                           .read_only = fs_writable(fs) < 0,
                           .blocks = fs->blocks - fs->own_blocks,
                           .inodes = fs->inodes};
    strlcpy(out->disk, fs->disk->name, sizeof(out->disk));
    HOLD(sleep, &fs->lock);
    out->free_blocks = fs->free_blocks;
    out->free_inodes = fs->free_inodes;
    return 0;
}

/* ---- names ---- */

/* As make_locked; but *out, if wanted, is the name's inode, made or found. */
int make_elsewhere(struct walk *w, const struct making *m, struct inode **out)
{
    struct inode *dir = w->at;
    const struct fs_operations *elsewhere = dir->fs->elsewhere;
    u32 ino;
    TRY(S_ISCHR(m->mode) ? -EPERM : fs_writable(dir->fs));
    if (w->slash && !S_ISDIR(m->mode))
        return S_ISREG(m->mode) ? -EISDIR : -ENOENT;
    int error =
        elsewhere->make(dir, w->name, m->mode, m->exclusive, m->target, &ino);
    if (error == -EEXIST && out)
        TRY(elsewhere->lookup(dir, w->name, &ino));
    if (out && (!error || error == -EEXIST))
        TRY(iget(dir->fs, ino, out));
    return error;
}

/* Have the server remove a name. ip is what it leads to. */
int remove_elsewhere(struct walk *w, struct inode *ip)
{
    HOLD(inode, ip);
    TRY(ivalid(ip) ?: is_mounted_on(ip) ? -EBUSY : fs_writable(ip->fs));
    return ip->fs->elsewhere->remove(w->at, w->name, ip);
}

/* Have the server rename. Only a directory may be named with a slash at the
 * end. */
int rename_elsewhere(struct walk *from, struct walk *to)
{
    struct inode *dir = from->at;
    OWNED(inode) struct inode *moved = NULL;
    TRY(fs_writable(dir->fs) ?: lookup(dir, from->name, &moved));
    if (is_mounted_on(moved))
        return -EBUSY;
    int type = from->slash || to->slash ? type_of(moved) : S_IFDIR;
    if (type != S_IFDIR)
        return MIN(type, -ENOTDIR);
    HOLD(inode, dir);
    HOLD(inode, to->at == dir ? NULL : to->at);
    TRY(check_dir(dir) ?: check_dir(to->at));
    return dir->fs->elsewhere->rename(dir, from->name, to->at, to->name);
}
