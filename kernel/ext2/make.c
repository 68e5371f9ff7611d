/*
 * Making names: new files, directories, links and devices, and second names
 * of inodes that exist.
 *
 * Order on the disk (why: internal.h):
 * - A new inode: the inode, then its name. All but a plain empty file is a
 *   husk until it has its name.
 * - A second name: the count of links, then the name.
 */
#include "kernel/ext2/internal.h"

/* ---- new inodes ---- */

/* Store the link's text in its inode or, if it is too long, in a block. */
static int init_link(struct inode *ip, const char *target)
{
    struct buf *b;
    ip->size = strlen(target);
    if (!has_blocks(ip->mode, ip->size)) {
        memcpy(ip->block, target, ip->size);
        return 0;
    }
    TRY(first_block(ip, &b));
    memcpy(b->data, target, ip->size);
    return write_now(ip->fs, b, owner_of(ip));
}

/* Write the contents of a new inode, to the disk where it has blocks. */
static int init_contents(struct inode *ip, const struct making *m, u32 parent)
{
    if (S_ISDIR(m->mode))
        return dir_init(ip, parent);
    if (S_ISLNK(m->mode))
        return init_link(ip, m->target);
    ip->rdev = ip->block[0] = m->rdev;
    return 0;
}

/* Make an inode, and its name in dir, which has been searched for the name.
 * *out is locked. It is set even on an error, if only the last write failed. */
static int make_at(struct inode *dir, const struct search *s, const char *name,
                   const struct making *m, struct inode **out)
{
    struct inode *ip;
    bool plain = S_ISREG(m->mode), directory = S_ISDIR(m->mode);
    if (directory && dir->nlink >= EXT2_LINK_MAX)
        return -EMLINK;
    TRY(inode_make(dir, m->mode, &ip));
    int error = plain ? inode_write(ip, true) : inode_write_husk(ip);
    error = error ?: init_contents(ip, m, dir->ino);
    error = error ?: dir_enter(dir, s, name, ip);
    if (error) {
        ip->nlink = 0;
        inode_free(ip); /* here, as an iput in an operation must not wait */
        iunlock(ip);
        iput(ip);
        return error;
    }
    if (!plain)
        error = inode_write(ip, true);
    if (directory) {
        dir->nlink++;
        inode_write(dir, false);
    }
    *out = ip;
    return error;
}

/* Make m at w's name; the directory is locked. *made is as make_at leaves it,
 * or NULL. -EEXIST: the name is there; then *out, if wanted, is its inode. */
static int make_locked(struct walk *w, const struct making *m,
                       struct inode **made, struct inode **out)
{
    struct search s;
    struct inode *dir = w->at;
    TRY(check_dir(dir));
    if (dir->fs->elsewhere)
        return make_elsewhere(w, m, out);
    TRY(dir_search(dir, w->name, &s));
    if (s.found)
        return (out ? iget(dir->fs, s.ino, out) : 0) ?: -EEXIST;
    TRY(fs_writable(dir->fs));
    if (w->slash && !S_ISDIR(m->mode))
        return S_ISREG(m->mode) ? -EISDIR : -ENOENT;
    HOLD(operation, dir->fs);
    return make_at(dir, &s, w->name, m, made);
}

/* Lock the directory and make m there; *out is not locked. */
static int make(struct walk *w, const struct making *m, struct inode **out)
{
    struct inode *made = NULL;
    ilock(w->at);
    int error = iunlock_with(w->at, make_locked(w, m, &made, out));
    if (!made)
        return error;
    iunlock(made);
    if (out && !error)
        *out = made;
    else
        iput(made);
    return error;
}

/* Make what m says under this path; a relative one begins at `at`. */
static int make_path(struct inode *at, const char *path, const struct making *m)
{
    WALK_OWNED struct walk w;
    return walk_to_parent(&w, at, path) ?: make(&w, m, NULL);
}

/* Try the name in w once. -EAGAIN: it was a link, which is followed now. */
static int create_step(struct walk *w, const struct making *m, bool exclusive,
                       struct inode **out)
{
    int error = walk_parent(w) ?: make(w, m, out);
    if (error != -EEXIST)
        return error;
    if (exclusive) {
        iput(*out);
        return -EEXIST;
    }
    *out = cross_down(*out);
    return walk_arrived(w, *out, true);
}

/* Create a regular file, or find it if it is there and not `exclusive`. A link
 * in the last place is followed: then the walk begins again. */
int ext2_create_at(struct inode *at, const char *path, u64 mode, bool exclusive,
                   struct inode **out)
{
    struct making m = {.mode = S_IFREG | mode, .exclusive = exclusive};
    if (mode & ~07777UL)
        return -EINVAL;
    WALK_OWNED struct walk w;
    int error;
    walk_start(&w, at, path);
    do
        error = create_step(&w, &m, exclusive, out);
    while (error == -EAGAIN);
    return error;
}

/* Make a character device. Return 0 or an error. */
int ext2_mknod(const char *path, u64 mode, u64 rdev)
{
    if (!S_ISCHR(mode) || (mode & ~(S_IFMT | 07777UL)) || rdev > UINT16_MAX)
        return -EINVAL;
    return make_path(NULL, path, &(struct making){.mode = mode, .rdev = rdev});
}

/* Make a directory. Return 0 or an error. */
int ext2_mkdir_at(struct inode *at, const char *path, u64 mode)
{
    if (mode & ~07777UL)
        return -EINVAL;
    return make_path(at, path, &(struct making){.mode = S_IFDIR | mode});
}

/* Make a symbolic link with this text. Return 0 or an error. */
int ext2_symlink_at(const char *target, struct inode *at, const char *path)
{
    size_t n = strlen(target);
    if (n == 0)
        return -ENOENT;
    if (n >= MIN(bio_block_bytes(), PATH_BYTES))
        return -ENAMETOOLONG;
    struct making m = {.mode = S_IFLNK | 0777, .target = target};
    return make_path(at, path, &m);
}

/* ---- second names ---- */

/* Set the count of names of the inode, and write it; wait: before later
 * writes. */
int set_links(struct inode *ip, u32 nlink, bool wait)
{
    if (nlink > EXT2_LINK_MAX)
        return -EMLINK;
    ip->nlink = nlink;
    ip->ctime_s = now_s();
    return inode_write(ip, wait);
}

/* Enter a second name for ip where the walk has ended. Its count of names is on
 * the disk first. */
static int link_at(struct walk *w, struct inode *ip)
{
    struct search s;
    struct inode *dir = w->at;
    int type = type_of(ip);
    if (type < 0 || type == S_IFDIR)
        return type < 0 ? type : -EPERM;
    if (dir->fs != ip->fs)
        return -EXDEV;
    if (w->slash)
        return -ENOENT;
    HOLD(inode, dir);
    TRY(check_dir(dir) ?: fs_writable(dir->fs));
    if (dir->fs->elsewhere)
        return dir->fs->elsewhere->link(ip, dir, w->name);
    TRY(dir_search(dir, w->name, &s));
    if (s.found)
        return -EEXIST;
    HOLD(inode, ip);
    HOLD(operation, ip->fs);
    TRY(ivalid(ip));
    TRY(ip->nlink ? fs_intend(ip->fs, NULL) : -ENOENT);
    TRY(set_links(ip, ip->nlink + 1, true));
    int error = dir_enter(dir, &s, w->name, ip);
    if (error)
        set_links(ip, ip->nlink - 1, false);
    return error;
}

/* Give ip a second name. Return 0 or an error. */
int ext2_link_at(struct inode *ip, struct inode *at, const char *path)
{
    WALK_OWNED struct walk w;
    return walk_to_parent(&w, at, path) ?: link_at(&w, ip);
}

/* Give the file under the first path a second one. A link itself is not
 * followed. */
int ext2_link(const char *from, const char *to)
{
    OWNED(inode) struct inode *ip = NULL;
    return namei(from, NAMEI_NOFOLLOW, &ip) ?: ext2_link_at(ip, NULL, to);
}
