/*
 * The intent record: how a rename that a power cut interrupts is finished.
 *
 * A rename that takes more than one write has states in between: two names of
 * what is moved, a spare name of what is replaced, or the replaced file under
 * the old name. No order of writes avoids them, because e2fsck wants a
 * directory to have one name and a ".." that agrees, which are two blocks. So
 * such a rename is written down in the superblock first, and mounting finishes
 * it, before any process can look.
 *
 * - fs_intend writes the record, which is on the disk before the first step.
 *   redo_end only forgets it in memory. What remains on the disk does no harm:
 *   redo_finish acts on nothing but a state in between. Only a link or another
 *   rename could make the same state on purpose, so these write a new record,
 *   or that there is none.
 * - redo_finish recognises every state that a cut leaves, as it is or repaired
 *   by e2fsck -p. It goes forward if the new name is there, else back. What it
 *   does are the rename's own steps in their order, so a power cut in the
 *   midst of it leaves a state of the same kind.
 * - A rename that fails with the file system read-only leaves its record, for
 *   the first mount after e2fsck.
 * - A rename has tree_lock from its record to its end.
 */
#include "kernel/ext2/internal.h"

/* The rename has ended: forget its record in memory. */
void redo_end(struct fs *fs)
{
    if (fs_writable(fs))
        return;
    HOLD(sleep, &fs->lock);
    fs->intent.magic = 0;
}

/* Make the name that a replaced directory has until it is removed. */
void redo_spare_name(char name[REDO_SPARE_BYTES], u32 ino)
{
    ksnprintf(name, REDO_SPARE_BYTES, ".replaced.%u", ino);
}

/* ---- when it is mounted ---- */

/* The rename of a record. The inodes are referenced. */
struct unfinished {
    const struct ext2_intent *intent;
    struct inode *from, *to, *moved;
    struct inode *replaced; /* NULL: there is none, or none any more */
    bool husk;              /* replaced is one, and not locked */
    struct search old, new;
    char name[NAME_BYTES + 1];
};

/* True if the entry that was found leads to this inode. */
static bool leads_to(const struct search *s, const struct inode *ip)
{
    return ip && s->found && s->ino == ip->ino;
}

/* Enter the new name of a directory that is moved over an empty one, if the
 * empty one is a husk already, or e2fsck has removed it with its name. */
static int finish_entering(struct unfinished *u)
{
    bool gone = !u->new.found || (leads_to(&u->new, u->replaced) && u->husk);
    if (!S_ISDIR(u->moved->mode) || !u->intent->replaced.ino || !gone ||
        !leads_to(&u->old, u->moved))
        return 0;
    int error = u->new.found ? dir_point(u->to, &u->new, u->moved)
                             : dir_enter(u->to, &u->new, u->name, u->moved);
    return error ?: dir_search(u->to, u->name, &u->new);
}

/* Remove a name of the replaced inode, and the inode if that is its last name.
 * What stays has one name: a rename gives a second one only to a file with one.
 * The count on the disk may be older, and count names removed just before. */
static int remove_leftover(struct unfinished *u, const struct search *s)
{
    struct inode *ip = u->replaced;
    bool last = !leads_to(&u->new, ip);
    if (last && !u->husk) {
        ip->nlink = 1;
        return remove_name(u->from, s, ip);
    }
    int error = dir_remove(u->from, s);
    return error || last || u->husk ? error : set_links(ip, 1, false);
}

/* If the new name leads to the moved inode, remove the old name, which leads to
 * the replaced inode or still to the moved one. 0 or -errno. */
static int finish_removing(struct unfinished *u)
{
    bool directory = S_ISDIR(u->moved->mode);
    if (!leads_to(&u->new, u->moved))
        return 0;
    if (leads_to(&u->old, u->replaced))
        return remove_leftover(u, &u->old);
    if (!leads_to(&u->old, u->moved))
        return 0;
    TRY(directory ? dir_set_parent(u->moved, u->from, u->to) : 0);
    TRY(dir_remove(u->from, &u->old));
    return directory ? 0 : set_links(u->moved, u->moved->nlink - 1, false);
}

/* Remove what the rename has replaced, if it still has its spare name. */
static int finish_spare(struct unfinished *u)
{
    char spare[REDO_SPARE_BYTES];
    struct search s;
    redo_spare_name(spare, u->intent->replaced.ino);
    int error = dir_search(u->from, spare, &s);
    return error ?: leads_to(&s, u->replaced) ? remove_leftover(u, &s) : 0;
}

/* Get a whole inode that the record names; NULL: it is not there any more. */
static int find_whole(struct fs *fs, struct ext2_named was, struct inode **ip)
{
    bool husk;
    TRY(iget_was(fs, was, ip, &husk));
    if (husk) {
        iput(*ip);
        *ip = NULL;
    }
    return 0;
}

/* Find the inodes that the record names. One that is not the same any more is
 * NULL. */
static int find_all(struct fs *fs, struct unfinished *u)
{
    const struct ext2_intent *i = u->intent;
    TRY(find_whole(fs, i->from, &u->from));
    TRY(find_whole(fs, i->to, &u->to));
    TRY(find_whole(fs, i->moved, &u->moved));
    return iget_was(fs, i->replaced, &u->replaced, &u->husk);
}

/* True if the record can be of a rename that has begun: the inodes are there,
 * no two of them are the same except the two directories, and the name is one
 * that an entry can get. */
static bool may_be_unfinished(const struct unfinished *u)
{
    const struct inode *from = u->from, *to = u->to, *r = u->replaced;
    return from && to && u->moved && u->moved != from && u->moved != to &&
           (!r || (r != from && r != to && r != u->moved)) && *u->name &&
           !is_dots(u->name) && !strchr(u->name, '/');
}

/* Finish the rename. Locks the inodes in the order of internal.h. */
static int finish_found(struct unfinished *u)
{
    const struct ext2_intent *i = u->intent;
    struct inode *replaced = u->husk ? NULL : u->replaced;
    HOLD(inode, u->from);
    HOLD(inode, u->to == u->from ? NULL : u->to);
    HOLD(inode, u->moved);
    HOLD(inode, replaced);
    TRY(check_dir(u->from) ?: check_dir(u->to) ?: ivalid(u->moved));
    TRY(replaced ? ivalid(replaced) : 0);
    TRY(dir_search(u->to, u->name, &u->new));
    TRY(dir_entry(u->from, i->block, i->at, &u->old));
    return finish_entering(u) ?: finish_removing(u) ?: finish_spare(u);
}

/* At mount: finish the rename that the record describes, or undo it. Return 0
 * or an error. */
int redo_finish(struct fs *fs)
{
    struct ext2_intent intent = fs->intent;
    struct unfinished u = {.intent = &intent};
    if (intent.magic != EXT2_INTENT_MAGIC || fs_writable(fs))
        return 0;
    sleep_lock(&tree_lock);
    memcpy(u.name, intent.name, intent.name_len);
    int error = find_all(fs, &u);
    if (!error && may_be_unfinished(&u))
        error = finish_found(&u);
    struct inode *all[] = {u.from, u.to, u.moved, u.replaced};
    for (u32 i = 0; i < NELEM(all); i++)
        if (all[i])
            iput(all[i]);
    sleep_unlock(&tree_lock);
    if (error)
        return fs_error(fs, "an interrupted rename cannot be finished");
    redo_end(fs);
    return order_settle(fs, false) ?: fs_intend(fs, NULL);
}
