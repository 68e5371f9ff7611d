/*
 * Renaming.
 *
 * Order on the disk (why: internal.h):
 * - The new name is there before the old one is removed; where one sector
 *   decides about both, they change in one write. A replaced inode has a name
 *   on the disk until the new name leads to the moved inode. A file's count of
 *   links includes its second name before that is written. A file's contents
 *   are there before it replaces another file.
 * - A rename of more than one write is written down before, and finished when
 *   the file system is mounted after a power cut (redo.c): either name leads to
 *   what it led to before, or all is done. Until it is mounted, a directory
 *   whose new name lies elsewhere (in another directory, or in another sector
 *   of its own) may have two names, about which e2fsck wants to be asked (-y);
 *   nothing is lost.
 *
 * The inode that is moved and the one that is replaced are found without
 * locking them; then both directories are locked and searched again, and after
 * them both inodes are locked. tree_lock is held all the time.
 */
#include "kernel/ext2/internal.h"

/* A rename. tree_lock is held as long as it lasts. */
struct renaming {
    struct walk *from, *to;
    struct inode *moved, *replaced; /* replaced: or NULL */
    bool directory;                 /* `moved` is a directory */
    struct search old, new;
};

/* ---- looking, without a lock ---- */

/* Return 1 if the directory ip is `below` or above it, 0 if not, or -errno. */
static int is_above(struct inode *ip, struct inode *below)
{
    OWNED(inode) struct inode *at = idup(below);
    struct inode *up;
    u32 mark = 0, steps = 0, limit = 1;
    while (at != ip && at != at->fs->root) {
        if (at->ino == mark)
            return fs_damaged(at->fs, "directory %u is above itself", mark);
        if (++steps == limit) { /* Brent's way to find a cycle */
            mark = at->ino;
            limit *= 2;
        }
        TRY(lookup(at, "..", &up));
        iput(at);
        at = up;
    }
    return at == ip;
}

/* Return 0 if the moved inode may get the new name, else the error. */
static int rename_look_moved(struct renaming *r)
{
    int type = type_of(r->moved);
    r->directory = type == S_IFDIR;
    if (type < 0)
        return type;
    if (!r->directory)
        return r->from->slash || r->to->slash ? -ENOTDIR : 0;
    int above = is_above(r->moved, r->to->at);
    return above > 0 ? -EINVAL : above;
}

/* Return 0 if the inode of the new name may be replaced or there is none. */
static int rename_look_replaced(struct renaming *r)
{
    int error = lookup(r->to->at, r->to->name, &r->replaced);
    if (error)
        return error == -ENOENT ? 0 : error;
    int type = type_of(r->replaced);
    if (type < 0 || r->directory == (type == S_IFDIR))
        return MIN(type, 0);
    return r->directory ? -ENOTDIR : -EISDIR;
}

/* Return 0 if no inode would be locked twice. On a good disk only the last two
 * errors occur. */
static int rename_check(const struct renaming *r)
{
    const struct inode *from = r->from->at, *to = r->to->at;
    if (r->moved == from || r->moved == to || r->replaced == to)
        return fs_damaged(from->fs, "directory %u is in itself", from->ino);
    if (r->replaced == from)
        return -ENOTEMPTY;
    return is_mounted_on(r->moved) ? -EBUSY : 0;
}

/* ---- the kinds of rename; directories and inodes are locked ---- */

/* Point the ".." of a directory that changes its parent to the new one. */
static int move_dotdot(struct renaming *r)
{
    struct inode *from = r->from->at, *to = r->to->at;
    return r->directory && from != to ? dir_set_parent(r->moved, from, to) : 0;
}

/* Return what the intent record says of an inode. */
static struct ext2_named named(const struct inode *ip)
{
    return (struct ext2_named){ip->ino, ip->generation};
}

/* Have mounting finish this rename, if the power goes before it is done. */
static int record(const struct renaming *r)
{
    struct ext2_intent i = {.magic = EXT2_INTENT_MAGIC,
                            .from = named(r->from->at),
                            .to = named(r->to->at),
                            .moved = named(r->moved),
                            .block = r->old.block,
                            .at = r->old.at,
                            .name_len = strlen(r->to->name)};
    if (r->replaced)
        i.replaced = named(r->replaced);
    memcpy(i.name, r->to->name, i.name_len);
    return fs_intend(r->moved->fs, &i);
}

/* Give the inode its new name, then remove the old one. A directory that
 * changes its parent gets its new ".." in between. */
static int rename_move(struct renaming *r, bool replace)
{
    struct inode *from = r->from->at, *to = r->to->at, *ip = r->moved;
    if (r->directory && from != to && to->nlink >= EXT2_LINK_MAX)
        return -EMLINK;
    TRY(r->directory ? 0 : set_links(ip, ip->nlink + 1, true));
    int error = replace ? dir_point(to, &r->new, ip)
                        : dir_enter(to, &r->new, r->to->name, ip);
    if (error) {
        if (!r->directory)
            set_links(ip, ip->nlink - 1, false);
        return error;
    }
    error = move_dotdot(r) ?: dir_search(from, r->from->name, &r->old);
    error = error ?: dir_remove(from, &r->old);
    if (error)
        return fs_error(from->fs, "a rename could not be finished");
    return r->directory ? 0 : set_links(ip, ip->nlink - 1, false);
}

/* Rename to a name that is free. */
static int rename_to_free(struct renaming *r)
{
    struct inode *dir = r->from->at;
    if (dir != r->to->at)
        return record(r) ?: rename_move(r, false);
    int error = fs_intend(dir->fs, NULL)
                    ?: dir_rename(dir, &r->old, r->to->name, r->moved);
    if (error != -ENOSPC)
        return error;
    return record(r) ?: rename_move(r, false);
}

/* Rename a directory over an empty one. */
static int rename_over_directory(struct renaming *r)
{
    struct inode *to = r->to->at;
    int error = before_removal(r->replaced) ?: rename_move(r, true);
    if (error) {
        inode_write(r->replaced, true);
        return error;
    }
    to->nlink--;
    error = inode_write(to, false);
    int links_error = after_removal(r->replaced);
    return error ?: links_error;
}

/* Rename over a file's last name in the same sector: the two names exchange
 * their inodes in one write, then the replaced file loses the old name. If that
 * fails, they are exchanged again. */
static int rename_by_swap(struct renaming *r)
{
    struct inode *dir = r->from->at;
    TRY(dir_swap(dir, &r->old, &r->new));
    int error = remove_name(dir, &r->old, r->replaced);
    if (error)
        dir_swap(dir, &r->old, &r->new);
    return error;
}

/* Rename over a file's last name: the file gets a spare name first, which is
 * removed as any other name when the rename is done. */
static int rename_over_last(struct renaming *r)
{
    struct inode *from = r->from->at;
    char spare[REDO_SPARE_BYTES];
    struct search s;
    if (from == r->to->at && dir_can_swap(&r->old, &r->new))
        return rename_by_swap(r);
    redo_spare_name(spare, r->replaced->ino);
    int error = dir_search(from, spare, &s);
    if (!error && s.found)
        error = -EEXIST;
    if (!error && r->moved->nlink >= EXT2_LINK_MAX)
        error = -EMLINK;
    TRY(error ?: dir_enter(from, &s, spare, r->replaced));
    error = dir_search(r->to->at, r->to->name, &r->new) ?: rename_move(r, true);
    error = error ?: dir_search(from, spare, &s);
    error = error ?: remove_name(from, &s, r->replaced);
    return error ? fs_error(from->fs, "a rename could not be finished") : 0;
}

/* Rename in the way that fits what is replaced: nothing, a directory, the last
 * name of a file, or one of several. */
static int rename_any(struct renaming *r)
{
    struct inode *replaced = r->replaced;
    if (!replaced)
        return rename_to_free(r);
    TRY(record(r));
    if (r->directory)
        return rename_over_directory(r);
    if (replaced->nlink == 1)
        return rename_over_last(r);
    return rename_move(r, true) ?: after_removal(replaced);
}

/* ---- find, lock, find again, do ---- */

/* Search both directories, which are locked now, for the two names. 0 if they
 * lead to the inodes that were found before; -EAGAIN: they have changed. */
static int rename_search(struct renaming *r)
{
    struct inode *from = r->from->at, *to = r->to->at;
    TRY(check_dir(from) ?: check_dir(to));
    TRY(dir_search(from, r->from->name, &r->old));
    TRY(dir_search(to, r->to->name, &r->new));
    bool same = r->old.found && r->old.ino == r->moved->ino &&
                r->new.found == !!r->replaced &&
                (!r->replaced || r->new.ino == r->replaced->ino);
    return same ? 0 : -EAGAIN;
}

/* A file is on the disk before it replaces another one: programs write a new
 * file and rename it over the old one without an fsync. A journal orders data
 * by itself; a policy that delays promises nothing. */
static int contents_first(struct renaming *r)
{
    if (!r->replaced || r->directory || order_delays(r->moved->fs, 0))
        return 0;
    return ext2_fsync(r->moved);
}

/* Search both directories again, lock all, and rename. -EAGAIN: the names lead
 * to other inodes by now, so begin again. */
static int rename_locked(struct renaming *r)
{
    struct inode *from = r->from->at, *to = r->to->at;
    assert(sleep_held(&tree_lock));
    HOLD(inode, from);
    HOLD(inode, to == from ? NULL : to);
    TRY(rename_search(r));
    HOLD(inode, r->moved);
    HOLD(inode, r->replaced);
    TRY(ivalid(r->moved));
    if (r->replaced)
        TRY(check_removal(r->replaced));
    TRY(contents_first(r));
    HOLD(operation, r->moved->fs);
    int error = rename_any(r);
    redo_end(r->moved->fs);
    TRY(error);
    r->moved->ctime_s = now_s();
    return inode_write(r->moved, false);
}

/* Try once. r keeps the inodes that were found, referenced. */
static int rename_step(struct renaming *r)
{
    TRY(fs_writable(r->from->at->fs));
    TRY(lookup(r->from->at, r->from->name, &r->moved));
    TRY(rename_look_moved(r) ?: rename_look_replaced(r));
    if (r->moved == r->replaced)
        return 0;
    return rename_check(r) ?: rename_locked(r);
}

/* Rename, once both walks have come to the directories. */
static int rename_walked(struct walk *from, struct walk *to)
{
    int error;
    if (is_dots(from->name) || is_dots(to->name))
        return -EBUSY;
    if (from->at->fs != to->at->fs)
        return -EXDEV;
    HOLD(sleep, &tree_lock);
    if (from->at->fs->elsewhere)
        return rename_elsewhere(from, to);
    do {
        struct renaming r = {.from = from, .to = to};
        error = rename_step(&r);
        if (r.moved)
            iput(r.moved);
        if (r.replaced)
            iput(r.replaced);
    } while (error == -EAGAIN);
    return error;
}

/* Rename from one path to another. Relative ones begin at `at` and `to_at`. */
int ext2_rename_at(struct inode *at, const char *from, struct inode *to_at,
                   const char *to)
{
    WALK_OWNED struct walk f;
    TRY(walk_to_parent(&f, at, from));
    WALK_OWNED struct walk t;
    return walk_to_parent(&t, to_at, to) ?: rename_walked(&f, &t);
}
