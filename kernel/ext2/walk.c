/*
 * Walking: from paths to inodes, and from a directory back to its path.
 *
 * - A walk holds a reference to one directory and the name to look up in it
 *   next. It goes name by name; a symbolic link's text takes the place of
 *   the link's name in what is left of the path.
 * - An inode's type is learned before the inode is locked inside a directory:
 *   so a process that waits for a directory while it has locked another one
 *   holds tree_lock (internal.h).
 * - Mounts are crossed downward after a name has been looked up, and upward
 *   before ".." is.
 */
#include "kernel/ext2/internal.h"
#include "kernel/proc/proc.h"

#define LINKS_MAX 40 /* symbolic links followed in one path */

struct sleeplock tree_lock;

/* Begin a walk at the root, or for a relative path at `at`, or at the working
 * directory if that is NULL. */
void walk_start(struct walk *w, struct inode *at, const char *path)
{
    at = at ?: myproc()->cwd;
    w->at = idup(*path == '/' || !at ? root_inode() : at);
    w->rest = path;
    w->page = NULL;
    w->links = 0;
}

/* End a walk, wherever it is. */
void walk_end(struct walk *w)
{
    iput(w->at);
    page_free(w->page);
}

/* Cut the next name off the path; "." if the path is only slashes. */
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

/* ---- one name ---- */

/* Return 0 if names can be looked up in the locked inode: it is a directory,
 * and not a removed one. */
int check_dir(struct inode *dir)
{
    if (!dir->valid)
        return -EIO;
    if (!S_ISDIR(dir->mode))
        return -ENOTDIR;
    return dir->nlink ? 0 : -ENOENT;
}

/* Look one name up in a directory, and get the inode. Locks the directory. */
int lookup(struct inode *dir, const char *name, struct inode **child)
{
    struct search s;
    HOLD(inode, dir);
    TRY(check_dir(dir));
    if (strcmp(name, ".") == 0)
        return iget(dir->fs, dir->ino, child);
    if (dir->fs->elsewhere)
        return dir->fs->elsewhere->lookup(dir, name, &s.ino)
                   ?: iget(dir->fs, s.ino, child);
    TRY(dir_search(dir, name, &s));
    return s.found ? iget(dir->fs, s.ino, child) : -ENOENT;
}

/* Return the inode's type (S_IFDIR ...), or an error if it cannot be loaded. */
int type_of(struct inode *ip)
{
    return ilock_valid(ip) ?: iunlock_with(ip, ip->mode & S_IFMT);
}

/* If a file system is mounted on ip, return that one's root instead. The
 * reference to ip is exchanged for one to the root. */
struct inode *cross_down(struct inode *ip)
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

/* While the walk is at the root of a mounted file system, go to the directory
 * that it covers. */
static void cross_up(struct walk *w)
{
    while (w->at == w->at->fs->root && w->at->fs->on) {
        struct inode *on = idup(w->at->fs->on);
        iput(w->at);
        w->at = on;
    }
}

/* Look up w->name, across mounts. *child gets the reference. */
static int walk_lookup(struct walk *w, struct inode **child)
{
    if (strcmp(w->name, "..") == 0)
        cross_up(w);
    TRY(lookup(w->at, w->name, child));
    *child = cross_down(*child);
    return 0;
}

/* ---- symbolic links ---- */

/* Read the text of a link into a page. Returns the text's length, or -errno. */
static int link_text(struct inode *link, char *page)
{
    struct uio u = {.addr = (u64)page, .left = PAGE_SIZE};
    HOLD(inode, link);
    TRY(ivalid(link) ?: ext2_readlink(link, &u));
    return PAGE_SIZE - u.left;
}

/* Put the text of a link before the rest of the path. */
static int new_rest(struct walk *w, struct inode *link)
{
    char *page = page_alloc();
    if (!page)
        return -ENOMEM;
    int n = link_text(link, page);
    size_t rest_bytes = strlen(w->rest) + 1;
    if (n <= 0 || n + rest_bytes > PAGE_SIZE) {
        page_free(page);
        return n < 0 ? n : n ? -ENAMETOOLONG : -ENOENT;
    }
    memcpy(page + n, w->rest, rest_bytes);
    page_free(w->page);
    w->rest = w->page = page;
    return 0;
}

/* Go on with the text of a link (consumed) and the rest of the path. */
static int walk_link(struct walk *w, struct inode *link)
{
    int error = ++w->links > LINKS_MAX ? -ELOOP : new_rest(w, link);
    if (!error && *w->rest == '/') {
        iput(w->at);
        w->at = idup(root_inode());
    }
    iput(link);
    return error;
}

/* ---- whole paths ---- */

/* Go on with what a name led to (consumed): through a link, into all else. */
static int walk_into(struct walk *w, struct inode *child)
{
    int type = type_of(child);
    if (type == S_IFLNK)
        return walk_link(w, child);
    iput(w->at);
    w->at = child;
    return MIN(type, 0);
}

/* Walk to the directory of the last name. w->name is that name. */
int walk_parent(struct walk *w)
{
    if (!*w->rest)
        return -ENOENT;
    for (;;) {
        struct inode *child;
        int error = next_name(w);
        if (error || w->last)
            return error;
        TRY(walk_lookup(w, &child) ?: walk_into(w, child));
    }
}

/* The walk has found ip. Return 0 if it is the end, or -EAGAIN if it was a link
 * to be followed: w walks on. On an error ip is given back. */
int walk_arrived(struct walk *w, struct inode *ip, bool follow)
{
    int type = type_of(ip);
    if (type == S_IFLNK && (follow || w->slash))
        return walk_link(w, ip) ?: -EAGAIN;
    if (type == S_IFDIR || (type >= 0 && !w->slash))
        return 0;
    iput(ip);
    return type < 0 ? type : -ENOTDIR;
}

/* Find the inode of a path, and get a reference. Return 0 or an error. */
int namei(const char *path, u32 flags, struct inode **out)
{
    WALK_OWNED struct walk w;
    bool follow = !(flags & NAMEI_NOFOLLOW);
    int error;
    walk_start(&w, NULL, path);
    do
        error = walk_parent(&w) ?: walk_lookup(&w, out)
                                ?: walk_arrived(&w, *out, follow);
    while (error == -EAGAIN);
    if (error)
        *out = NULL;
    return error;
}

/* Start a walk, and go to the directory of the path's last name. */
int walk_to_parent(struct walk *w, struct inode *at, const char *path)
{
    walk_start(w, at, path);
    return walk_parent(w);
}

/* ---- the path of a directory ---- */

/* Replace *at by the directory above it, and get the name that *at has
 * there. */
static int step_up(struct inode **at, char name[NAME_BYTES + 1])
{
    struct inode *dir = *at, *up;
    TRY(lookup(dir, "..", &up));
    u32 ino = dir->ino;
    ilock(up);
    const struct fs_operations *elsewhere = up->fs->elsewhere;
    int error = check_dir(up)
                    ?: elsewhere ? elsewhere->name_of(up, ino, name)
                                 : dir_name_of(up, ino, name);
    iunlock(up);
    iput(dir);
    *at = up;
    if (!error && ino == up->ino)
        error = fs_damaged(up->fs, "directory %u is in itself", ino);
    return error;
}

/* Put the name of *at before the text at *start, and go on to its parent.
 * 1: it is the root. */
static int path_step(struct inode **at, char *out, size_t *start)
{
    struct inode *dir = *at;
    char name[NAME_BYTES + 1];
    if (dir == dir->fs->root) {
        if (!dir->fs->on)
            return 1;
        *at = idup(dir->fs->on);
        iput(dir);
        return 0;
    }
    TRY(step_up(at, name));
    size_t n = strlen(name);
    if (*start < n + 1)
        return -ERANGE;
    *start -= n + 1;
    out[*start] = '/';
    memcpy(out + *start + 1, name, n);
    return 0;
}

/* Write the absolute path of a directory to out. Return its length in bytes, or
 * an error. Built from its end: each step puts one name before. */
int ext2_path(struct inode *dir, char *out, size_t n)
{
    if (n < 2)
        return -ERANGE;
    size_t start = n - 1;
    int error = 0;
    out[start] = 0;
    OWNED(inode) struct inode *at = idup(dir);
    HOLD(sleep, &tree_lock);
    while (!error)
        error = path_step(&at, out, &start);
    if (error < 0)
        return error;
    if (start == n - 1)
        out[--start] = '/';
    memmove(out, out + start, n - start);
    return n - start;
}
