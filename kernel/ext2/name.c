/*
 * Names: from paths to inodes, and everything that makes, moves or removes
 * a name.
 *
 * Order on the disk, so that after a power cut at any instant e2fsck -p
 * repairs what is left, and no name leads to an inode that can be given out
 * again:
 * - make: inode, then its name. What is not a plain empty file is a husk
 *   (inside.h) until it has its name.
 * - remove: the last name of something with contents: husk, then the name,
 *   then links and blocks are free to be reused. A file is so either whole
 *   or gone.
 * - a second name (link, rename): count of links, then the name.
 * - rename: the new name before the old one is removed; within one block
 *   both in one write. What is replaced keeps a name until the new one is
 *   there.
 * - Only a directory whose new name lies in another block (of another
 *   directory, or of its own if that is full) has two names for the time of
 *   a few writes; e2fsck then wants to be asked (-y), nothing is lost.
 */
#include "kernel/ext2/inside.h"
#include "kernel/proc/proc.h"

#define LINKS_MAX 40 /* symbolic links followed in one path */

struct sleeplock tree_lock;

/* ---- walking a path ---- */

struct walk {
    struct inode *at; /* referenced: the directory `name` is looked up in */
    const char *rest; /* of the path, after `name` */
    char *page;       /* holds rest, once a link has been followed */
    u32 links;
    bool last;  /* `name` is the last of the path */
    bool slash; /* ... with slashes after it */
    char name[NAME_BYTES + 1];
};

static int walk_start(struct walk *w, const char *path)
{
    if (!*path)
        return -ENOENT;
    struct inode *cwd = myproc()->cwd;
    w->at = idup(*path == '/' || !cwd ? root_inode() : cwd);
    w->rest = path;
    w->page = NULL;
    w->links = 0;
    return 0;
}

static void walk_end(struct walk *w)
{
    iput(w->at);
    if (w->page)
        page_free(w->page);
}

/* The next name of the path; "." if the path is only slashes. */
static int next_name(struct walk *w)
{
    const char *from = w->rest;
    while (*from == '/')
        from++;
    const char *end = from;
    while (*end && *end != '/')
        end++;
    if (end - from > NAME_BYTES)
        return -ENAMETOOLONG;
    memcpy(w->name, from, end - from);
    w->name[end - from] = 0;
    if (end == from)
        strlcpy(w->name, ".", sizeof(w->name));
    w->rest = end;
    while (*end == '/')
        end++;
    w->last = !*end;
    w->slash = end != w->rest;
    return 0;
}

/* Locked: 0 if it is a directory in which names can be looked up. */
static int check_dir(struct inode *dir)
{
    int error = ivalid(dir);
    if (!error && !S_ISDIR(dir->mode))
        error = -ENOTDIR;
    if (!error && dir->nlink == 0)
        error = -ENOENT;
    return error;
}

/* The inode of a name in a directory; mounts are not crossed. */
static int lookup(struct inode *dir, const char *name, struct inode **child)
{
    struct search s;
    ilock(dir);
    int error = check_dir(dir);
    if (!error && strcmp(name, ".") == 0) {
        *child = idup(dir);
    } else if (!error) {
        error = dir_search(dir, name, &s);
        if (!error)
            error = s.found ? iget(dir->fs, s.ino, child) : -ENOENT;
    }
    iunlock(dir);
    return error;
}

/* If a file system is mounted there, its root instead. */
static struct inode *cross_down(struct inode *ip)
{
    spin_lock(&icache_lock);
    struct inode *root = ip->mounted ? ip->mounted->root : NULL;
    if (root)
        root->refs++;
    spin_unlock(&icache_lock);
    if (!root)
        return ip;
    iput(ip);
    return root;
}

/* The inode of w->name. */
static int walk_lookup(struct walk *w, struct inode **child)
{
    if (strcmp(w->name, "..") == 0) {
        while (w->at == w->at->fs->root && w->at->fs->on) {
            struct inode *on = idup(w->at->fs->on);
            iput(w->at);
            w->at = on;
        }
    }
    int error = lookup(w->at, w->name, child);
    if (!error)
        *child = cross_down(*child);
    return error;
}

static int type_of(struct inode *ip, u32 *type)
{
    ilock(ip);
    int error = ivalid(ip);
    *type = error ? 0 : ip->mode & S_IFMT;
    iunlock(ip);
    return error;
}

/* The text of a link to a page: its length, or -errno. */
static int link_text(struct inode *link, char *page)
{
    struct uio u = {.addr = (u64)page, .left = PAGE_SIZE};
    ilock(link);
    int error = ivalid(link);
    if (!error)
        error = ext2_readlink(link, &u);
    iunlock(link);
    return error ? error : (int)(PAGE_SIZE - u.left);
}

/* Go on with the text of a link (referenced; not consumed) and the rest. */
static int walk_link(struct walk *w, struct inode *link)
{
    if (++w->links > LINKS_MAX)
        return -ELOOP;
    char *page = page_alloc();
    if (!page)
        return -ENOMEM;
    int n = link_text(link, page);
    size_t rest = strlen(w->rest) + 1;
    int error = n < 0 ? n : n == 0 ? -ENOENT : 0;
    if (!error && n + rest > PAGE_SIZE)
        error = -ENAMETOOLONG;
    if (error) {
        page_free(page);
        return error;
    }
    memcpy(page + n, w->rest, rest);
    if (w->page)
        page_free(w->page);
    w->page = page;
    w->rest = page;
    if (*page == '/') {
        iput(w->at);
        w->at = idup(root_inode());
    }
    return 0;
}

/* Go on to the last name of the path: w->at is its directory. */
static int walk_parent(struct walk *w)
{
    for (;;) {
        int error = next_name(w);
        if (error || w->last)
            return error;
        struct inode *child;
        u32 type;
        error = walk_lookup(w, &child);
        if (error)
            return error;
        error = type_of(child, &type);
        if (!error && type == S_IFLNK) {
            error = walk_link(w, child);
            iput(child);
        } else {
            iput(w->at);
            w->at = child;
        }
        if (error)
            return error;
    }
}

/* The inode of the path's last name; its links are followed as the flags
 * say. w->at and w->name are then what they led to. */
static int walk_last(struct walk *w, u32 flags, struct inode **out)
{
    for (;;) {
        u32 type;
        int error = walk_parent(w);
        if (!error)
            error = walk_lookup(w, out);
        if (error)
            return error;
        error = type_of(*out, &type);
        bool follow = !(flags & NAMEI_NOFOLLOW) || w->slash;
        if (!error && type == S_IFLNK && follow) {
            error = walk_link(w, *out);
            iput(*out);
            if (error)
                return error;
            continue;
        }
        if (!error && w->slash && type != S_IFDIR)
            error = -ENOTDIR;
        if (error)
            iput(*out);
        return error;
    }
}

int namei(const char *path, u32 flags, struct inode **out)
{
    struct walk w;
    int error = walk_start(&w, path);
    if (error)
        return error;
    error = walk_last(&w, flags, out);
    walk_end(&w);
    return error;
}

/* The directory of the path's last name, which is then in w. */
static int walk_to_parent(struct walk *w, const char *path)
{
    int error = walk_start(w, path);
    if (error)
        return error;
    error = walk_parent(w);
    if (error)
        walk_end(w);
    return error;
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* ---- making ---- */

/* What a new name is to stand for. */
struct making {
    u32 mode, rdev;
    const char *target; /* of a symbolic link */
};

static int init_link(struct inode *ip, const char *target)
{
    u32 blkno, n = strlen(target);
    bool fresh;
    ip->size = n;
    if (n < EXT2_LINK_INLINE) {
        memcpy(ip->block, target, n);
        return 0;
    }
    int error = map_alloc(ip, 0, &blkno, &fresh);
    if (error)
        return error;
    struct buf *b = getblk(ip->fs->disk, blkno);
    memset(b->data, 0, ip->fs->block_bytes);
    memcpy(b->data, target, n);
    return write_now(ip->fs, b);
}

/* The contents of a new inode, on the disk where it has blocks. */
static int init_contents(struct inode *ip, const struct making *m, u32 parent)
{
    if (S_ISDIR(m->mode))
        return dir_init(ip, parent);
    if (S_ISLNK(m->mode))
        return init_link(ip, m->target);
    ip->rdev = ip->block[0] = m->rdev;
    return 0;
}

/* Make an inode and its name, for which dir has been searched. The result is
 * locked. */
static int make_at(struct inode *dir, const struct search *s, const char *name,
                   const struct making *m, struct inode **out)
{
    struct inode *ip;
    bool plain = S_ISREG(m->mode), directory = S_ISDIR(m->mode);
    if (directory && dir->nlink >= EXT2_LINK_MAX)
        return -EMLINK;
    int error = inode_make(dir, m->mode, &ip);
    if (error)
        return error;
    error = plain ? inode_write(ip, true) : inode_write_husk(ip);
    if (!error)
        error = init_contents(ip, m, dir->ino);
    if (!error)
        error = dir_enter(dir, s, name, ip);
    if (error) {
        ip->nlink = 0;
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

/* Make m at w's name. -EEXIST: it is there; then *out, if wanted, is what is
 * (unlocked, as the result always is). */
static int make(struct walk *w, const struct making *m, struct inode **out)
{
    struct search s;
    struct inode *dir = w->at, *ip = NULL;
    ilock(dir);
    int error = check_dir(dir);
    if (!error)
        error = dir_search(dir, w->name, &s);
    if (!error && s.found) {
        error = out ? iget(dir->fs, s.ino, out) : 0;
        error = error ? error : -EEXIST;
    } else if (!error) {
        error = fs_writable(dir->fs);
        if (!error && w->slash && !S_ISDIR(m->mode))
            error = S_ISREG(m->mode) ? -EISDIR : -ENOENT;
        if (!error)
            error = make_at(dir, &s, w->name, m, &ip);
    }
    iunlock(dir);
    if (ip)
        iunlock(ip);
    if (ip && out && !error)
        *out = ip;
    else if (ip)
        iput(ip);
    return error;
}

static int make_path(const char *path, const struct making *m)
{
    struct walk w;
    int error = walk_to_parent(&w, path);
    if (error)
        return error;
    error = make(&w, m, NULL);
    walk_end(&w);
    return error;
}

/* One attempt at the name in w: -EAGAIN if it was a link, now followed. */
static int create_step(struct walk *w, u32 mode, bool exclusive,
                       struct inode **out)
{
    struct making m = {.mode = S_IFREG | mode};
    u32 type;
    int error = walk_parent(w);
    if (!error)
        error = make(w, &m, out);
    if (error != -EEXIST)
        return error;
    if (exclusive) {
        iput(*out);
        return -EEXIST;
    }
    *out = cross_down(*out);
    error = type_of(*out, &type);
    if (!error && type == S_IFLNK)
        error = walk_link(w, *out) ?: -EAGAIN;
    else if (!error && w->slash && type != S_IFDIR)
        error = -ENOTDIR;
    if (error)
        iput(*out);
    return error;
}

int ext2_create(const char *path, u32 mode, bool exclusive, struct inode **out)
{
    if (mode & ~07777U)
        return -EINVAL;
    struct walk w;
    int error = walk_start(&w, path);
    if (error)
        return error;
    do
        error = create_step(&w, mode, exclusive, out);
    while (error == -EAGAIN);
    walk_end(&w);
    return error;
}

int ext2_mknod(const char *path, u32 mode, u32 rdev)
{
    if (!S_ISCHR(mode) || (mode & ~(S_IFMT | 07777U)) || rdev > UINT16_MAX)
        return -EINVAL;
    return make_path(path, &(struct making){.mode = mode, .rdev = rdev});
}

int ext2_mkdir(const char *path, u32 mode)
{
    if (mode & ~07777U)
        return -EINVAL;
    return make_path(path, &(struct making){.mode = S_IFDIR | mode});
}

int ext2_symlink(const char *target, const char *path)
{
    size_t n = strlen(target);
    if (n == 0)
        return -ENOENT;
    if (n >= MIN(bio_block_bytes(), PATH_BYTES))
        return -ENAMETOOLONG;
    struct making m = {.mode = S_IFLNK | 0777, .target = target};
    return make_path(path, &m);
}

/* ---- a second name ---- */

/* Change the count of links on the disk. */
static int set_links(struct inode *ip, u32 nlink, bool wait)
{
    if (nlink > EXT2_LINK_MAX)
        return -EMLINK;
    ip->nlink = nlink;
    ip->ctime_s = now_s();
    return inode_write(ip, wait);
}

static int link_at(struct inode *dir, const char *name, struct inode *ip)
{
    struct search s;
    int error = dir_search(dir, name, &s);
    if (error || s.found)
        return error ? error : -EEXIST;
    ilock(ip);
    error = ivalid(ip);
    if (!error && ip->nlink == 0)
        error = -ENOENT;
    if (!error)
        error = set_links(ip, ip->nlink + 1, true);
    if (!error) {
        error = dir_enter(dir, &s, name, ip);
        if (error)
            set_links(ip, ip->nlink - 1, false);
    }
    iunlock(ip);
    return error;
}

static int link_walked(struct walk *w, struct inode *ip)
{
    struct inode *dir = w->at;
    u32 type;
    int error = type_of(ip, &type);
    if (!error && type == S_IFDIR)
        error = -EPERM;
    if (!error && dir->fs != ip->fs)
        error = -EXDEV;
    if (!error && w->slash)
        error = -ENOENT;
    if (error)
        return error;
    ilock(dir);
    error = check_dir(dir);
    if (!error)
        error = fs_writable(dir->fs);
    if (!error)
        error = link_at(dir, w->name, ip);
    iunlock(dir);
    return error;
}

int ext2_link(const char *from, const char *to)
{
    struct inode *ip;
    struct walk w;
    int error = namei(from, NAMEI_NOFOLLOW, &ip);
    if (error)
        return error;
    error = walk_to_parent(&w, to);
    if (!error) {
        error = link_walked(&w, ip);
        walk_end(&w);
    }
    iput(ip);
    return error;
}

/* ---- removing ---- */

static bool has_contents(const struct inode *ip)
{
    return !S_ISREG(ip->mode) || ip->size || ip->sectors;
}

/* Make ready to lose a name; for the last one, on the disk it is a husk. */
static int before_removal(struct inode *ip)
{
    bool last = S_ISDIR(ip->mode) || ip->nlink == 1;
    return last && has_contents(ip) ? inode_write_husk(ip) : 0;
}

/* A name is gone. */
static int after_removal(struct inode *ip)
{
    return set_links(ip, S_ISDIR(ip->mode) ? 0 : ip->nlink - 1, false);
}

/* Remove the name found of ip. Both locked. */
static int remove_name(struct inode *dir, const struct search *s,
                       struct inode *ip)
{
    int error = fs_writable(dir->fs);
    if (!error)
        error = before_removal(ip);
    if (error)
        return error;
    error = dir_remove(dir, s);
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

static bool is_mounted_on(const struct inode *ip)
{
    spin_lock(&icache_lock);
    bool mounted = ip->mounted;
    spin_unlock(&icache_lock);
    return mounted;
}

/* May this be removed, or replaced, as a directory or as something else? */
static int check_removal(struct inode *ip, bool as_directory)
{
    int error = ivalid(ip);
    if (error)
        return error;
    if (!S_ISDIR(ip->mode))
        return as_directory ? -ENOTDIR : 0;
    if (!as_directory)
        return -EISDIR;
    return is_mounted_on(ip) ? -EBUSY : dir_empty(ip);
}

/* Look again for w's name, of which ip was found before without a lock, and
 * remove it. -EAGAIN: it is another inode's by now. */
static int remove_found(struct walk *w, struct inode *ip, bool as_directory)
{
    struct inode *dir = w->at;
    struct search s;
    ilock(dir);
    int error = check_dir(dir);
    if (!error)
        error = dir_search(dir, w->name, &s);
    if (!error && !s.found)
        error = -ENOENT;
    if (!error && s.ino != ip->ino)
        error = -EAGAIN;
    if (!error) {
        ilock(ip);
        error = check_removal(ip, as_directory);
        if (!error)
            error = remove_name(dir, &s, ip);
        iunlock(ip);
    }
    iunlock(dir);
    return error;
}

/* For a directory, tree_lock is held. */
static int remove_walked(struct walk *w, bool as_directory)
{
    int error;
    do {
        struct inode *ip;
        u32 type;
        error = lookup(w->at, w->name, &ip);
        if (error)
            return error;
        error = type_of(ip, &type);
        if (!error && ip == w->at)
            error = fs_damaged(ip->fs, "directory %u is in itself", ip->ino);
        if (!error && as_directory != (type == S_IFDIR))
            error = as_directory ? -ENOTDIR : -EISDIR;
        if (!error && w->slash && type != S_IFDIR)
            error = -ENOTDIR;
        if (!error)
            error = remove_found(w, ip, as_directory);
        iput(ip);
    } while (error == -EAGAIN);
    return error;
}

int ext2_unlink(const char *path)
{
    struct walk w;
    int error = walk_to_parent(&w, path);
    if (error)
        return error;
    error = is_dots(w.name) ? -EISDIR : remove_walked(&w, false);
    walk_end(&w);
    return error;
}

int ext2_rmdir(const char *path)
{
    struct walk w;
    int error = walk_to_parent(&w, path);
    if (error)
        return error;
    sleep_lock(&tree_lock);
    if (is_dots(w.name))
        error = w.name[1] ? -ENOTEMPTY : -EINVAL;
    else
        error = remove_walked(&w, true);
    sleep_unlock(&tree_lock);
    walk_end(&w);
    return error;
}

/* ---- rename ---- */

/* What one rename is about; tree_lock is held while it lives. */
struct renaming {
    struct walk *from, *to;
    struct inode *moved, *replaced; /* replaced: or NULL */
    bool directory;                 /* what is moved */
    struct search old, new;
};

/* Is the directory ip the other, or above it? 1, 0 or -errno. */
static int is_above(struct inode *ip, struct inode *below)
{
    struct inode *at = idup(below), *up;
    u32 mark = 0, steps = 0, limit = 1;
    int result = 0;
    while (at != ip && at != at->fs->root) {
        if (at->ino == mark) {
            result = fs_damaged(at->fs, "directory %u is above itself", mark);
            break;
        }
        if (++steps == limit) { /* Brent's way to find a cycle */
            mark = at->ino;
            limit *= 2;
        }
        result = lookup(at, "..", &up);
        if (result)
            break;
        iput(at);
        at = up;
    }
    if (!result)
        result = at == ip;
    iput(at);
    return result;
}

/* Find what is renamed and what is replaced, without a lock on either. */
static int rename_look(struct renaming *r)
{
    u32 type, other;
    int error = lookup(r->from->at, r->from->name, &r->moved);
    if (error)
        return error;
    error = type_of(r->moved, &type);
    r->directory = type == S_IFDIR;
    if (!error && !r->directory && (r->from->slash || r->to->slash))
        error = -ENOTDIR;
    if (!error && r->directory) {
        error = is_above(r->moved, r->to->at);
        error = error > 0 ? -EINVAL : error;
    }
    if (error)
        return error;
    error = lookup(r->to->at, r->to->name, &r->replaced);
    if (error)
        return error == -ENOENT ? 0 : error;
    error = type_of(r->replaced, &other);
    if (!error && r->directory != (other == S_IFDIR))
        error = r->directory ? -ENOTDIR : -EISDIR;
    return error;
}

/* Nothing may be locked twice; on a good disk only the last can happen. */
static int rename_check(const struct renaming *r)
{
    const struct inode *from = r->from->at, *to = r->to->at;
    if (r->moved == from || r->moved == to || r->replaced == to)
        return fs_damaged(from->fs, "directory %u is in itself", from->ino);
    if (r->replaced == from)
        return -ENOTEMPTY;
    return is_mounted_on(r->moved) ? -EBUSY : 0;
}

/* Search both directories, locked now. -EAGAIN: they have changed. */
static int rename_search(struct renaming *r)
{
    int error = check_dir(r->from->at);
    if (!error)
        error = check_dir(r->to->at);
    if (!error)
        error = dir_search(r->from->at, r->from->name, &r->old);
    if (!error)
        error = dir_search(r->to->at, r->to->name, &r->new);
    if (error)
        return error;
    bool same = r->old.found && r->old.ino == r->moved->ino &&
                r->new.found == !!r->replaced &&
                (!r->replaced || r->new.ino == r->replaced->ino);
    return same ? 0 : -EAGAIN;
}

/* Have a moved directory's ".." name its new parent. */
static int move_dotdot(struct renaming *r)
{
    struct inode *from = r->from->at, *to = r->to->at;
    struct search s;
    int error = dir_search(r->moved, "..", &s);
    if (!error && !s.found)
        error = fs_damaged(from->fs, "directory %u has no ..", r->moved->ino);
    if (!error)
        error = dir_point(r->moved, &s, to);
    if (error)
        return error;
    from->nlink--;
    to->nlink++;
    inode_write(from, false);
    return inode_write(to, false);
}

/* Give it a second name, and remove the first. For a directory from another
 * one, ".." follows between the two. */
static int rename_move(struct renaming *r, bool replace)
{
    struct inode *from = r->from->at, *to = r->to->at, *ip = r->moved;
    int error = 0;
    if (r->directory && from != to && to->nlink >= EXT2_LINK_MAX)
        return -EMLINK;
    if (!r->directory)
        error = set_links(ip, ip->nlink + 1, true);
    if (error)
        return error;
    error = replace ? dir_point(to, &r->new, ip)
                    : dir_enter(to, &r->new, r->to->name, ip);
    if (error) {
        if (!r->directory)
            set_links(ip, ip->nlink - 1, false);
        return error;
    }
    if (r->directory && from != to)
        error = move_dotdot(r);
    if (!error)
        error = dir_search(from, r->from->name, &r->old);
    if (!error)
        error = dir_remove(from, &r->old);
    if (error)
        return fs_error(from->fs, "a rename could not be finished");
    return r->directory ? 0 : set_links(ip, ip->nlink - 1, false);
}

/* To a name that nothing has. */
static int rename_to_free(struct renaming *r)
{
    struct inode *dir = r->from->at;
    if (dir == r->to->at) {
        int error = dir_rename(dir, &r->old, r->to->name, r->moved);
        if (error != -ENOSPC)
            return error;
        error = dir_search(dir, r->to->name, &r->new);
        if (error)
            return error;
    }
    return rename_move(r, false);
}

/* To the name of an empty directory. */
static int rename_over_directory(struct renaming *r)
{
    struct inode *to = r->to->at;
    int error = before_removal(r->replaced);
    if (!error)
        error = rename_move(r, true);
    if (error) {
        inode_write(r->replaced, true);
        return error;
    }
    to->nlink--;
    error = inode_write(to, false);
    int links_error = after_removal(r->replaced);
    return error ? error : links_error;
}

/* The same within a block: the two change names, and the other is removed. If
 * it cannot be, they change back. */
static int rename_by_swap(struct renaming *r)
{
    struct inode *dir = r->from->at;
    int error = dir_swap(dir, &r->old, &r->new);
    if (error)
        return error;
    error = remove_name(dir, &r->old, r->replaced);
    if (error)
        dir_swap(dir, &r->old, &r->new);
    return error;
}

/* To the name of a file whose last it is: first that gets another one, which
 * then is removed as any. */
static int rename_over_last(struct renaming *r)
{
    struct inode *from = r->from->at;
    char spare[24];
    struct search s;
    if (from == r->to->at && r->old.block == r->new.block)
        return rename_by_swap(r);
    ksnprintf(spare, sizeof(spare), ".replaced.%u", r->replaced->ino);
    int error = dir_search(from, spare, &s);
    if (error || s.found || r->moved->nlink >= EXT2_LINK_MAX)
        return error ? error : s.found ? -EEXIST : -EMLINK;
    error = dir_enter(from, &s, spare, r->replaced);
    if (error)
        return error;
    error = dir_search(r->to->at, r->to->name, &r->new);
    if (!error)
        error = rename_move(r, true);
    if (!error)
        error = dir_search(from, spare, &s);
    if (!error)
        error = remove_name(from, &s, r->replaced);
    if (error)
        return fs_error(from->fs, "a rename could not be finished");
    return 0;
}

/* All is found, checked and locked. */
static int rename_do(struct renaming *r)
{
    struct inode *ip = r->moved, *old = r->replaced;
    int error = ivalid(ip);
    if (!error && old)
        error = check_removal(old, r->directory);
    if (error)
        return error;
    if (!old)
        error = rename_to_free(r);
    else if (r->directory)
        error = rename_over_directory(r);
    else if (old->nlink == 1)
        error = rename_over_last(r);
    else
        error = rename_move(r, true) ?: after_removal(old);
    if (error)
        return error;
    ip->ctime_s = now_s();
    return inode_write(ip, false);
}

static int rename_locked(struct renaming *r)
{
    struct inode *from = r->from->at, *to = r->to->at;
    ilock(from);
    if (to != from)
        ilock(to);
    int error = rename_search(r);
    if (!error) {
        ilock(r->moved);
        if (r->replaced)
            ilock(r->replaced);
        error = rename_do(r);
        if (r->replaced)
            iunlock(r->replaced);
        iunlock(r->moved);
    }
    if (to != from)
        iunlock(to);
    iunlock(from);
    return error;
}

static int rename_walked(struct walk *from, struct walk *to)
{
    if (is_dots(from->name) || is_dots(to->name))
        return -EBUSY;
    if (from->at->fs != to->at->fs)
        return -EXDEV;
    int error = fs_writable(from->at->fs);
    if (error)
        return error;
    do {
        struct renaming r = {.from = from, .to = to};
        error = rename_look(&r);
        if (!error && r.moved != r.replaced) {
            error = rename_check(&r);
            if (!error)
                error = rename_locked(&r);
        }
        if (r.moved)
            iput(r.moved);
        if (r.replaced)
            iput(r.replaced);
    } while (error == -EAGAIN);
    return error;
}

int ext2_rename(const char *from, const char *to)
{
    struct walk f, t;
    int error = walk_to_parent(&f, from);
    if (error)
        return error;
    error = walk_to_parent(&t, to);
    if (!error) {
        sleep_lock(&tree_lock);
        error = rename_walked(&f, &t);
        sleep_unlock(&tree_lock);
        walk_end(&t);
    }
    walk_end(&f);
    return error;
}

/* ---- the path of a directory ---- */

/* Put the name of *at before the text at *start, and go on to its parent.
 * 1: it is the root. */
static int path_step(struct inode **at, char *out, size_t *start)
{
    struct inode *dir = *at, *up;
    char name[NAME_BYTES + 1];
    if (dir == dir->fs->root) {
        if (!dir->fs->on)
            return 1;
        *at = idup(dir->fs->on);
        iput(dir);
        return 0;
    }
    int error = lookup(dir, "..", &up);
    if (error)
        return error;
    ilock(up);
    error = check_dir(up);
    if (!error)
        error = dir_name_of(up, dir->ino, name);
    iunlock(up);
    u32 ino = dir->ino, parent = up->ino;
    iput(dir);
    *at = up;
    if (!error && ino == parent)
        error = fs_damaged(up->fs, "directory %u is in itself", ino);
    if (error)
        return error;
    size_t n = strlen(name);
    if (*start < n + 1)
        return -ERANGE;
    *start -= n + 1;
    out[*start] = '/';
    memcpy(out + *start + 1, name, n);
    return 0;
}

int ext2_path(struct inode *dir, char *out, size_t n)
{
    if (n < 2)
        return -ERANGE;
    size_t start = n - 1;
    int error = 0;
    out[start] = 0;
    struct inode *at = idup(dir);
    sleep_lock(&tree_lock);
    while (!error)
        error = path_step(&at, out, &start);
    sleep_unlock(&tree_lock);
    iput(at);
    if (error < 0)
        return error;
    if (start == n - 1)
        out[--start] = '/';
    memmove(out, out + start, n - start);
    return n - start;
}
