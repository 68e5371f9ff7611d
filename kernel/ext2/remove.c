/*
 * Removing names: unlink and rmdir, and the steps that rename shares with them.
 *
 * Order on the disk (why: internal.h): the last name of something with contents
 * goes when its inode is a husk there; only then its links and blocks are
 * free to be reused. So after a power cut a file is either whole or gone.
 *
 * The inode to be removed is found, and its type learned, before its directory
 * is locked; then the directory is locked and searched again.
 */
#include "kernel/ext2/internal.h"

/* True for all but an empty regular file. */
static bool has_contents(const struct inode *ip)
{
    return !S_ISREG(ip->mode) || ip->size || ip->sectors;
}

/* Before the last name of something with contents goes, make it a husk on the
 * disk. */
int before_removal(struct inode *ip)
{
    bool last = S_ISDIR(ip->mode) || ip->nlink == 1;
    return last && has_contents(ip) ? inode_write_husk(ip) : 0;
}

/* A name is gone: count it. A directory has none left then. */
int after_removal(struct inode *ip)
{
    return set_links(ip, S_ISDIR(ip->mode) ? 0 : ip->nlink - 1, false);
}

/* Remove the entry, the locked inode's name. Return 0 or an error; then the
 * name is there. */
int remove_name(struct inode *dir, const struct search *s, struct inode *ip)
{
    TRY(fs_writable(dir->fs) ?: before_removal(ip));
    int error = dir_remove(dir, s);
    if (error) {
        inode_write(ip, true); /* no husk after all */
        return error;
    }
    if (S_ISDIR(ip->mode)) {
        dir->nlink--;
        inode_write(dir, false);
    }
    return after_removal(ip);
}

/* True if a file system is mounted on this directory. */
bool is_mounted_on(const struct inode *ip)
{
    HOLD(spin, &icache_lock);
    return ip->mounted;
}

/* Return 0 if this may be removed: any file, but only an empty directory. */
int check_removal(struct inode *ip)
{
    int error = ivalid(ip);
    if (error || !S_ISDIR(ip->mode))
        return error;
    assert(sleep_held(&tree_lock));
    return is_mounted_on(ip) ? -EBUSY : dir_empty(ip);
}

/* Return 0 if ip, to which w's name leads or led, has the wanted type. */
static int check_type(const struct walk *w, struct inode *ip, bool directory)
{
    int type = type_of(ip);
    if (type < 0)
        return type;
    if (ip == w->at)
        return fs_damaged(ip->fs, "directory %u is in itself", ip->ino);
    if (directory != (type == S_IFDIR))
        return directory ? -ENOTDIR : -EISDIR;
    return w->slash && !directory ? -ENOTDIR : 0;
}

/* Remove w's name, if it is still ip's; else -EAGAIN. */
static int remove_found(struct walk *w, struct inode *ip)
{
    struct search s;
    HOLD(inode, w->at);
    TRY(check_dir(w->at));
    if (ip->fs->elsewhere)
        return remove_elsewhere(w, ip);
    TRY(dir_search(w->at, w->name, &s));
    if (!s.found)
        return -ENOENT;
    if (s.ino != ip->ino)
        return -EAGAIN;
    HOLD(inode, ip);
    HOLD(operation, ip->fs);
    return check_removal(ip) ?: remove_name(w->at, &s, ip);
}

/* Find and remove the name until nothing has changed in between. For a
 * directory, tree_lock is held. */
static int remove_walked(struct walk *w, bool directory)
{
    int error;
    do {
        OWNED(inode) struct inode *ip = NULL;
        TRY(lookup(w->at, w->name, &ip));
        error = check_type(w, ip, directory) ?: remove_found(w, ip);
    } while (error == -EAGAIN);
    return error;
}

/* Remove the name of a file. */
int ext2_unlink_at(struct inode *at, const char *path)
{
    WALK_OWNED struct walk w;
    TRY(walk_to_parent(&w, at, path));
    return is_dots(w.name) ? -EISDIR : remove_walked(&w, false);
}

/* Remove an empty directory. */
int ext2_rmdir_at(struct inode *at, const char *path)
{
    WALK_OWNED struct walk w;
    TRY(walk_to_parent(&w, at, path));
    if (is_dots(w.name))
        return w.name[1] ? -ENOTEMPTY : -EINVAL;
    HOLD(sleep, &tree_lock);
    return remove_walked(&w, true);
}
