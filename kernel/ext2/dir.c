/*
 * Directories: blocks of entries, one after the other, in no order.
 *
 * - No more than one sector is written as a whole: a power cut may leave some
 *   sectors of a block new and the others old. So a change is one synchronous
 *   write only if what it makes visible lies in one sector, or if each of its
 *   sectors alone makes the same change (erase). A new entry that does not lie
 *   with its host in one sector is first written into spare bytes, where
 *   nobody looks (lay), and then shown by one field (show).
 * - A new block of a directory is on the disk, empty, before the directory
 *   reaches it.
 * - A search begins in the block where the last one ended and goes round, so
 *   that reading a directory and removing what was read is linear.
 * - The length, name and inode number of every entry looked at are checked;
 *   a block that fails is damaged and no part of it is changed.
 * - A hash tree (EXT2_INDEX_FL) is compatible: its inner blocks look like
 *   unused entries. The flag is cleared before the first change.
 */
#include "kernel/ext2/internal.h"

static const u8 type_of_mode[16] = {
    [S_IFIFO >> 12] = DT_FIFO, [S_IFCHR >> 12] = DT_CHR,
    [S_IFDIR >> 12] = DT_DIR,  [S_IFBLK >> 12] = DT_BLK,
    [S_IFREG >> 12] = DT_REG,  [S_IFLNK >> 12] = DT_LNK,
    [S_IFSOCK >> 12] = DT_SOCK};

/* Return the number of blocks of the directory. */
static u32 dir_blocks(const struct inode *dir)
{
    return dir->size >> dir->fs->block_shift;
}

/* Report that a block of the directory is damaged. Return -EIO. */
static int dir_damaged(const struct inode *dir, u32 block)
{
    return fs_damaged(dir->fs, "directory %u: block %u is damaged", dir->ino,
                      block);
}

/* Read a block of the directory. A hole counts as damage. On an error *b is
 * NULL. */
static int dir_bread(struct inode *dir, u32 block, struct buf **b)
{
    u32 blkno;
    *b = NULL;
    TRY(map(dir, block, &blkno));
    if (!blkno)
        return dir_damaged(dir, block);
    *b = bread(dir->fs->disk, blkno);
    return *b ? 0 : -EIO;
}

/* Return the entry at a byte of a block, or NULL if it is damaged: its length
 * must be a multiple of 4, hold the name, and end in the block. An entry
 * without an inode is free and needs no name. */
static inline struct ext2_entry *entry_at(const struct fs *fs, void *data,
                                          u32 at)
{
    struct ext2_entry *e = (void *)((char *)data + at);
    u32 left = fs->block_bytes - at;
    if (left < EXT2_ENTRY_BYTES(1) || e->length > left || e->length % 4 ||
        e->length < EXT2_ENTRY_BYTES(MAX(e->name_len, 1)) ||
        (e->ino && (e->name_len == 0 || !ino_ok(fs, e->ino))))
        return NULL;
    return e;
}

/* True if all entries of a block are well formed, and one is at `find`. */
static bool block_ok(const struct fs *fs, void *data, u32 find)
{
    bool found = false;
    for (u32 at = 0; at < fs->block_bytes;) {
        const struct ext2_entry *e = entry_at(fs, data, at);
        if (!e)
            return false;
        found |= at == find;
        at += e->length;
    }
    return found;
}

/* Return the bytes that the entry needs; the rest of its length is spare. */
static u32 used(const struct ext2_entry *e)
{
    return e->ino ? EXT2_ENTRY_BYTES(e->name_len) : 0;
}

/* Return how many bytes of an entry no name uses. */
static u32 spare(const struct ext2_entry *e)
{
    return e->length - used(e);
}

/* True if the bytes [from, end) of a block lie in one sector. */
static bool in_sector(u32 from, u32 end)
{
    return from / SECTOR_BYTES == (end - 1) / SECTOR_BYTES;
}

/* True if the heads of the entries at these two bytes of a block lie in one
 * sector. */
static bool heads_in_sector(u32 at, u32 other)
{
    return in_sector(MIN(at, other), MAX(at, other) + EXT2_ENTRY_BYTES(0));
}

/* True if the entry is in use and has this name. */
static bool named(const struct ext2_entry *e, const char *name, u32 len)
{
    return e->ino && e->name_len == len && e->name[0] == name[0] &&
           memcmp(e->name, name, len) == 0;
}

/* Look for the name in one block, and for room for it. */
static int search_block(struct inode *dir, u32 block, const char *name, u32 len,
                        struct search *s)
{
    struct buf *b;
    TRY(dir_bread(dir, block, &b));
    const struct ext2_entry *e = b->data;
    for (u32 at = 0; at < dir->fs->block_bytes && !s->found; at += e->length) {
        if (!(e = entry_at(dir->fs, b->data, at)))
            break;
        if (named(e, name, len)) {
            s->found = true;
            s->ino = e->ino;
            s->block = block;
            s->at = at;
        }
        if (!s->room && spare(e) >= EXT2_ENTRY_BYTES(len)) {
            s->room = true;
            s->room_block = block;
            s->room_at = at;
        }
    }
    brelse(b);
    return e ? 0 : dir_damaged(dir, block);
}

/* Look for the name. s says where its entry is, and where there is room for one
 * (room_block past the end: nowhere). */
int dir_search(struct inode *dir, const char *name, struct search *s)
{
    u32 n = dir_blocks(dir);
    u32 len = strlen(name);
    u32 block = dir->next_dir_slot < n ? dir->next_dir_slot : 0;
    *s = (struct search){.room_block = n};
    for (u32 i = 0; i < n && !s->found; i++) {
        TRY(search_block(dir, block, name, len, s));
        block = block + 1 < n ? block + 1 : 0;
    }
    if (s->found)
        dir->next_dir_slot = s->block;
    return 0;
}

/* ---- changes ---- */

/* Return the type that an entry for this mode has; 0 if the disk has none. */
static u8 entry_type(const struct fs *fs, u32 mode)
{
    return fs->file_types ? type_of_mode[mode >> 12] : 0;
}

/* Put a name into the spare bytes of an entry, which has enough: it is not seen
 * yet. */
static void lay(struct ext2_entry *e, const char *name, const struct fs *fs,
                u32 ino, u32 mode)
{
    struct ext2_entry *new = (void *)((char *)e + used(e));
    if (e->ino) {
        new->length = e->length - used(e);
        new->ino = ino;
    }
    new->name_len = strlen(name);
    new->type = entry_type(fs, mode);
    memcpy(new->name, name, new->name_len);
}

/* Make the name visible that lay() put there, by one field of the entry. */
static void show(struct ext2_entry *e, u32 ino)
{
    if (e->ino)
        e->length = used(e);
    else
        e->ino = ino;
}

/* Return the entry before another one in a good block; NULL: that is the
 * first. */
static struct ext2_entry *entry_before(void *data, const struct ext2_entry *e)
{
    struct ext2_entry *before = NULL, *at = data;
    for (; at < e; at = (void *)((char *)at + at->length))
        before = at;
    return before;
}

/* Give the bytes of an entry to the entry before it, if there is one. Each of
 * the two fields that change is enough to remove the entry. */
static void erase(void *data, struct ext2_entry *e)
{
    struct ext2_entry *before = entry_before(data, e);
    e->ino = 0;
    if (before)
        before->length += e->length;
}

/* Drop the hash tree of dir, which the coming change would make wrong. */
static int dir_begin(struct inode *dir)
{
    assert(sleep_held(&dir->lock) && S_ISDIR(dir->mode));
    TRY(fs_writable(dir->fs));
    if (!(dir->flags & EXT2_INDEX_FL))
        return 0;
    dir->flags &= ~EXT2_INDEX_FL;
    return inode_write(dir, true);
}

/* Read a block of the directory, to change it at one of its entries. All of it
 * is checked, because on a damaged disk a file may own the block, too, and have
 * changed it meanwhile. */
static int change_bread(struct inode *dir, u32 block, u32 at, struct buf **b,
                        struct ext2_entry **e)
{
    TRY(dir_begin(dir) ?: dir_bread(dir, block, b));
    *e = (void *)((char *)(*b)->data + at);
    if (block_ok(dir->fs, (*b)->data, at))
        return 0;
    brelse(*b);
    return dir_damaged(dir, block);
}

/* Write the changed block of the directory, and its new times. */
static int change_write(struct inode *dir, struct buf *b)
{
    TRY(write_now(dir->fs, b, owner_of(dir)));
    dir->mtime_s = dir->ctime_s = now_s();
    return inode_write(dir, false);
}

/* Make the directory longer by an empty block. */
static int dir_extend(struct inode *dir)
{
    u32 blkno, block = dir_blocks(dir);
    bool fresh;
    if (dir->size + dir->fs->block_bytes > INT32_MAX)
        return -EFBIG;
    int error = map_alloc(dir, block, &blkno, &fresh);
    if (!error && !fresh)
        return dir_damaged(dir, block);
    if (error) {
        map_cut(dir, block);
        return error;
    }
    dir->size += dir->fs->block_bytes;
    return inode_write(dir, true);
}

/* Enter the name for ip where the search found room, or in a new block. A name
 * that crosses a sector is written twice: laid, then shown. */
int dir_enter(struct inode *dir, const struct search *s, const char *name,
              struct inode *ip)
{
    struct buf *b;
    struct ext2_entry *e;
    u32 len = strlen(name);
    TRY(dir_begin(dir) ?: s->room ? 0 : dir_extend(dir));
    for (bool laid = false;; laid = true) {
        TRY(change_bread(dir, s->room_block, s->room_at, &b, &e));
        if (spare(e) < EXT2_ENTRY_BYTES(len)) {
            brelse(b);
            return dir_damaged(dir, s->room_block);
        }
        u32 end = s->room_at + used(e) + EXT2_ENTRY_BYTES(len);
        lay(e, name, dir->fs, ip->ino, ip->mode);
        if (laid || in_sector(s->room_at, end))
            break;
        TRY(write_now(dir->fs, b, owner_of(dir)));
    }
    show(e, ip->ino);
    ip->named = true;
    dir->next_dir_slot = s->room_block;
    return change_write(dir, b);
}

/* Remove the entry that the search found. */
int dir_remove(struct inode *dir, const struct search *s)
{
    struct buf *b;
    struct ext2_entry *e;
    TRY(change_bread(dir, s->block, s->at, &b, &e));
    erase(b->data, e);
    return change_write(dir, b);
}

/* Have the entry that the search found lead to another inode. */
static int point(struct inode *dir, const struct search *s, u32 ino, u8 type)
{
    struct buf *b;
    struct ext2_entry *e;
    TRY(change_bread(dir, s->block, s->at, &b, &e));
    e->ino = ino;
    e->type = type;
    return change_write(dir, b);
}

/* Have the entry that was found lead to ip. One whose head lies in two sectors
 * has no type meanwhile, which e2fsck -p sets without asking. */
int dir_point(struct inode *dir, const struct search *s, const struct inode *ip)
{
    if (!heads_in_sector(s->at, s->at))
        TRY(point(dir, s, s->ino, 0) ?: point(dir, s, ip->ino, 0));
    return point(dir, s, ip->ino, entry_type(dir->fs, ip->mode));
}

/* True if one write can exchange the two entries' inodes without a torn
 * state. */
bool dir_can_swap(const struct search *s, const struct search *t)
{
    return s->block == t->block && heads_in_sector(s->at, t->at);
}

/* Exchange the inodes to which the two entries lead, in one write. */
int dir_swap(struct inode *dir, const struct search *s, const struct search *t)
{
    struct buf *b;
    struct ext2_entry *e;
    assert(dir_can_swap(s, t));
    TRY(change_bread(dir, s->block, s->at, &b, &e));
    struct ext2_entry *other = (void *)((char *)b->data + t->at), was = *e;
    e->ino = other->ino;
    e->type = other->type;
    other->ino = was.ino;
    other->type = was.type;
    return change_write(dir, b);
}

/* Return an entry in a good block that has room for a name, and whose head is
 * in one sector with the head of the entry at byte `with`; or NULL. */
static struct ext2_entry *find_room(const struct fs *fs, void *data, u32 len,
                                    u32 with)
{
    for (u32 at = 0; at < fs->block_bytes;) {
        struct ext2_entry *e = entry_at(fs, data, at);
        if (spare(e) >= EXT2_ENTRY_BYTES(len) && heads_in_sector(at, with))
            return e;
        at += e->length;
    }
    return NULL;
}

/* Show the name that was laid into `room`, and remove another one: their heads
 * are in one sector, and nothing outside that sector is changed. */
static void exchange(void *data, struct ext2_entry *room, struct ext2_entry *e,
                     u32 ino)
{
    u32 at = (char *)e - (char *)data;
    show(room, ino);
    e->ino = 0;
    struct ext2_entry *before = entry_before(data, e);
    if (before && heads_in_sector((char *)before - (char *)data, at))
        before->length += e->length;
}

/* Give the entry another name within its block, with no more than two
 * writes: the old name is there until the new one is. -ENOSPC: the block has
 * no room. */
int dir_rename(struct inode *dir, const struct search *s, const char *name,
               struct inode *ip)
{
    u32 len = strlen(name);
    struct buf *b;
    struct ext2_entry *e, *room;
    ip->named = true;
    for (bool laid = false;; laid = true) {
        TRY(change_bread(dir, s->block, s->at, &b, &e));
        if (e->length >= EXT2_ENTRY_BYTES(len) &&
            in_sector(s->at, s->at + EXT2_ENTRY_BYTES(len))) {
            e->name_len = len;
            memcpy(e->name, name, len);
            return change_write(dir, b);
        }
        room = find_room(dir->fs, b->data, len, s->at);
        if (!room) {
            brelse(b);
            return -ENOSPC;
        }
        u32 at = (char *)room - (char *)b->data;
        u32 end = at + used(room) + EXT2_ENTRY_BYTES(len);
        lay(room, name, dir->fs, ip->ino, ip->mode);
        if (laid || in_sector(MIN(at, s->at), MAX(end, s->at + 1)))
            break;
        TRY(write_now(dir->fs, b, owner_of(dir)));
    }
    exchange(b->data, room, e, ip->ino);
    return change_write(dir, b);
}

/* Look whether an entry in use begins at this byte of this block. s says so. */
int dir_entry(struct inode *dir, u32 block, u32 at, struct search *s)
{
    struct buf *b;
    *s = (struct search){.block = block, .at = at};
    if (block >= dir_blocks(dir))
        return 0;
    TRY(dir_bread(dir, block, &b));
    if (block_ok(dir->fs, b->data, at))
        s->ino = ((struct ext2_entry *)((char *)b->data + at))->ino;
    s->found = s->ino;
    brelse(b);
    return 0;
}

/* Have ".." of a moved directory lead to its new parent, and count the parents'
 * links. */
int dir_set_parent(struct inode *dir, struct inode *from, struct inode *to)
{
    struct search s;
    TRY(dir_search(dir, "..", &s));
    if (!s.found)
        return fs_damaged(dir->fs, "directory %u has no ..", dir->ino);
    if (s.ino == to->ino)
        return 0;
    TRY(dir_point(dir, &s, to));
    from->nlink--;
    to->nlink++;
    inode_write(from, false);
    return inode_write(to, false);
}

/* Make the first block of a new directory: "." and "..", on the disk. */
int dir_init(struct inode *dir, u32 parent_ino)
{
    struct buf *b;
    TRY(first_block(dir, &b));
    struct ext2_entry *e = b->data;
    e->length = dir->fs->block_bytes;
    lay(e, ".", dir->fs, dir->ino, S_IFDIR);
    show(e, dir->ino);
    lay(e, "..", dir->fs, parent_ino, S_IFDIR);
    show(e, parent_ino);
    dir->size = dir->fs->block_bytes;
    return write_now(dir->fs, b, owner_of(dir));
}

/* ---- looking through all entries ---- */

/* True for "." and "..". */
static bool entry_is_dots(const struct ext2_entry *e)
{
    return e->name[0] == '.' &&
           (e->name_len == 1 || (e->name_len == 2 && e->name[1] == '.'));
}

/* Call fn for the entries of one block from byte `from` on, until it returns a
 * result other than 0; return that. */
static int each_in_block(struct inode *dir, u32 block, u32 from,
                         int (*fn)(const struct ext2_entry *, void *, u32 end),
                         void *arg)
{
    struct buf *b;
    int result = 0;
    TRY(dir_bread(dir, block, &b));
    struct ext2_entry *e = NULL;
    for (u32 at = 0; at < dir->fs->block_bytes && !result; at += e->length) {
        if (!(e = entry_at(dir->fs, b->data, at)))
            break;
        if (at >= from && e->ino)
            result = fn(e, arg, at + e->length);
    }
    brelse(b);
    return e ? result : dir_damaged(dir, block);
}

/* Call fn for each entry in use, until it returns something but 0. Return
 * that. */
static int each_entry(struct inode *dir,
                      int (*fn)(const struct ext2_entry *, void *, u32 end),
                      void *arg)
{
    int result = 0;
    for (u32 block = 0; block < dir_blocks(dir) && !result; block++)
        result = each_in_block(dir, block, 0, fn, arg);
    return result;
}

/* For each_entry: stop at an entry that is neither "." nor "..". */
static int empty_step(const struct ext2_entry *e, void *, u32)
{
    return entry_is_dots(e) ? 0 : -ENOTEMPTY;
}

/* Return 0 if the directory has no entries but "." and "..", else -ENOTEMPTY or
 * -EIO. */
int dir_empty(struct inode *dir)
{
    return each_entry(dir, empty_step, NULL);
}

struct naming {
    u32 ino;
    char *name;
};

/* For each_entry: stop at the entry of the wanted inode, and copy its name. */
static int name_step(const struct ext2_entry *e, void *arg, u32)
{
    struct naming *n = arg;
    if (e->ino != n->ino || entry_is_dots(e))
        return 0;
    memcpy(n->name, e->name, e->name_len);
    n->name[e->name_len] = 0;
    return 1;
}

/* Return the name under which the directory has this inode, in name. 0, or
 * -ENOENT. */
int dir_name_of(struct inode *dir, u32 ino, char name[NAME_BYTES + 1])
{
    struct naming n = {ino, name};
    int result = each_entry(dir, name_step, &n);
    return result ? MIN(result, 0) : -ENOENT;
}

/* ---- getdents ---- */

struct listing {
    struct uio *u;
    u64 block_start; /* place in the directory */
    u64 place;       /* after the last entry moved */
    bool any;
    u64 *after; /* where to store the place after each entry; or NULL */
};

/* True if a program can read the name as a part of a path. */
static bool name_ok(const struct ext2_entry *e)
{
    for (u32 i = 0; i < e->name_len; i++)
        if (e->name[i] == '/' || e->name[i] == 0)
            return false;
    return true;
}

/* For each_in_block: copy an entry out as a struct dirent. Return 1 if no room
 * is left after at least one, -EINVAL if there is none for the first. */
static int list_step(const struct ext2_entry *e, void *arg, u32 end)
{
    struct listing *l = arg;
    union {
        struct dirent d;
        char bytes[ROUND_UP(sizeof(struct dirent) + NAME_BYTES + 1, 4)];
    } out;
    u32 length = ROUND_UP(sizeof(struct dirent) + e->name_len + 1, 4);
    if (!name_ok(e))
        return -EIO;
    if (length > l->u->left)
        return l->any ? 1 : -EINVAL;
    memset(&out, 0, length);
    out.d = (struct dirent){e->ino, length, e->type, e->name_len};
    memcpy(out.d.name, e->name, e->name_len);
    int error = uio_move(&out, length, l->u);
    if (!error) {
        l->any = true;
        l->place = l->block_start + end;
        if (l->after)
            *l->after++ = l->place;
    }
    return error;
}

/* Copy out entries from byte u->offset of the directory, as many as fit, and
 * move u->offset behind them. after, if given, gets the offset behind each. */
int ext2_getdents(struct inode *dir, struct uio *u, u64 *after)
{
    struct fs *fs = dir->fs;
    if (!S_ISDIR(dir->mode))
        return -ENOTDIR;
    if (dir->nlink == 0)
        return 0;
    if (fs->elsewhere)
        return fs->elsewhere->getdents(dir, u);
    struct listing l = {.u = u, .place = u->offset, .after = after};
    int result = 0;
    while (l.place < dir->size && result == 0) {
        u32 block = l.place >> fs->block_shift;
        u32 from = l.place & (fs->block_bytes - 1);
        l.block_start = (u64)block << fs->block_shift;
        result = each_in_block(dir, block, from, list_step, &l);
        if (result == 0)
            l.place = l.block_start + fs->block_bytes;
    }
    u->offset = l.place;
    return l.any || result > 0 ? 0 : result;
}
