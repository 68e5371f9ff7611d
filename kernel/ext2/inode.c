/*
 * The table of inodes in memory, and their way from and to the disk.
 *
 * - Every inode in memory is a slot of some page: on the free list; or in the
 *   hash with references; or in the hash without any, on the idle list,
 *   oldest first. Slots are taken from the free list, from a new page while
 *   few are idle, from the idle list, in this order. Pages are not returned.
 * - icache_lock guards lists, hash, references and mounted. It is a spin
 *   lock: nothing is read or written under it.
 * - An idle inode is clean: the last iput writes a dirty one to its buffer.
 *   So a slot can be reused at once, and no process waits for the lock of an
 *   inode that it has not asked for.
 * - Code that changes an inode copies it to its buffer (inode_write) before it
 *   unlocks; only a new access time alone may wait for the last iput.
 * - An inode without names lives on in memory only. On the disk it has no
 *   links already, so e2fsck frees it if the last iput does not come.
 */
#include "kernel/ext2/internal.h"
#include "kernel/base/stat.h"
#include "kernel/cache/lost.h"

#define HUSK_MODE (S_IFDIR | 0700)
#define IDLE_MAX  1024
#define BUCKETS   1024

struct inode_page {
    struct inode_page *next;
    struct inode inodes[];
};
#define PER_PAGE \
    ((PAGE_SIZE - sizeof(struct inode_page)) / sizeof(struct inode))

#define SLOT_EACH(ip)                                                         \
    for (struct inode_page *page_ = pages; page_; page_ = page_->next)        \
        for (struct inode *ip = page_->inodes; ip < page_->inodes + PER_PAGE; \
             ip++)

struct spinlock icache_lock;
static struct list buckets[BUCKETS], idle, unused; /* icache_lock */
static struct inode_page *pages;                   /* icache_lock */
static u64 idle_count, in_use;                     /* icache_lock */

u64 ext2_inodes_in_use(void)
{
    return __atomic_load_n(&in_use, __ATOMIC_RELAXED);
}

GAUGE(inodes_gauge, "ext2.inodes", "inodes", "in memory with references",
      ext2_inodes_in_use);

void inodes_init(void)
{
    for (u32 i = 0; i < BUCKETS; i++)
        list_init(&buckets[i]);
    list_init(&idle);
    list_init(&unused);
}

/* ---- the table ---- */

/* Return the bucket of the hash for this inode. */
static struct list *bucket_of(const struct fs *fs, u32 ino)
{
    return &buckets[(ino * MAX_DISKS + (fs - mounts)) % BUCKETS];
}

/* Return the inode in memory, or NULL. Caller holds icache_lock. */
static struct inode *find(const struct fs *fs, u32 ino)
{
    struct list *bucket = bucket_of(fs, ino);
    ITEM_EACH (struct inode, ip, bucket, hash)
        if (ip->ino == ino && ip->fs == fs)
            return ip;
    return NULL;
}

/* Take the inode off the idle list, if it is there. */
static void leave_idle(struct inode *ip)
{
    if (list_on(&ip->idle)) {
        list_remove(&ip->idle);
        idle_count--;
    }
}

/* Count one more reference. */
static void hold(struct inode *ip)
{
    assert(ip->fs);
    if (ip->refs++ == 0) {
        in_use++;
        leave_idle(ip);
    }
}

/* Take an inode without references out of the table. */
static void forget(struct inode *ip)
{
    assert(ip->refs == 0 && !ip->dirty);
    if (ip->fs->elsewhere)
        ip->fs->elsewhere->forget(ip);
    list_remove(&ip->hash);
    leave_idle(ip);
    ip->fs = NULL;
    list_push_back(&unused, &ip->idle);
}

/* Add a page of slots to the free ones, if there is memory. */
static void more_slots(void)
{
    struct inode_page *page = page_alloc_zero();
    if (!page)
        return;
    page->next = pages;
    pages = page;
    for (u32 i = 0; i < PER_PAGE; i++) {
        struct inode *ip = &page->inodes[i];
        sleep_lock_init(&ip->lock, "inode");
        list_push_back(&unused, &ip->idle);
    }
}

/* Return a slot off all lists, or NULL. */
static struct inode *take_slot(void)
{
    if (list_empty(&unused) && idle_count < IDLE_MAX)
        more_slots();
    if (list_empty(&unused) && !list_empty(&idle))
        forget(LIST_ITEM(list_first(&idle), struct inode, idle));
    return ITEM_OR_NULL(list_pop_front(&unused), struct inode, idle);
}

/* Give an inode number a slot, with nothing loaded yet; NULL if there is no
 * slot. */
static struct inode *enter(struct fs *fs, u32 ino)
{
    struct inode *ip = take_slot();
    if (!ip)
        return NULL;
    assert(ip->refs == 0 && !ip->fs && !list_on(&ip->hash));
    ip->fs = fs;
    ip->ino = ino;
    ip->mounted = NULL;
    ip->valid = ip->dirty = ip->named = false;
    list_push_front(bucket_of(fs, ino), &ip->hash);
    return ip;
}

/* Get a reference to the inode. It is loaded when it is locked. Return 0 or
 * -ENOMEM. */
int iget(struct fs *fs, u32 ino, struct inode **out)
{
    HOLD(spin, &icache_lock);
    struct inode *ip = find(fs, ino) ?: enter(fs, ino);
    if (ip)
        hold(ip);
    *out = ip;
    return ip ? 0 : -ENOMEM;
}

/* Get another reference to the inode. Return it. */
struct inode *idup(struct inode *ip)
{
    HOLD(spin, &icache_lock);
    assert(ip->refs > 0);
    ip->refs++;
    return ip;
}

/* True if the caller's reference is the last one, and the inode must be written
 * or freed before it is given up. */
static bool needs_care(const struct inode *ip)
{
    return ip->refs == 1 && ip->valid && (ip->dirty || ip->nlink == 0);
}

/* Write or free the inode. While this process waited for the lock, another one
 * may have found the inode by name, used it, and even removed the name. */
static void take_care(struct inode *ip)
{
    HOLD(sleep, &ip->lock);
    spin_lock(&icache_lock);
    bool still = needs_care(ip);
    spin_unlock(&icache_lock);
    if (!still)
        return;
    HOLD(operation, ip->fs);
    if (ip->nlink == 0)
        inode_free(ip);
    else
        inode_write(ip, false);
}

/* Give a reference back. The last one writes a dirty inode to its buffer, or
 * frees one without names. */
void iput(struct inode *ip)
{
    HOLD(spin, &icache_lock);
    assert(ip->refs > 0);
    while (needs_care(ip)) {
        spin_unlock(&icache_lock);
        take_care(ip);
        spin_lock(&icache_lock);
    }
    if (--ip->refs)
        return;
    in_use--;
    if (ip->valid) {
        list_push_back(&idle, &ip->idle);
        idle_count++;
    } else {
        forget(ip);
    }
}

/* True if the inode has what inodes_settle looks for: no names, or changes. */
static bool to_settle(const struct inode *ip, bool nameless)
{
    return ip->valid && (nameless ? ip->nlink == 0 : ip->dirty);
}

/* Write a locked inode to its buffer, or free one without names. */
static int settle(struct inode *ip, bool nameless)
{
    HOLD(operation, ip->fs);
    if (!nameless)
        return inode_write(ip, false);
    inode_free(ip);
    return 0;
}

/* For all inodes in use: write dirty ones to their buffers, or free those
 * without names (shutdown). Return the first error. */
int inodes_settle(struct fs *fs, bool nameless)
{
    int first = 0;
    HOLD(spin, &icache_lock);
    SLOT_EACH (ip) {
        if (ip->fs == fs && !nameless)
            ip->confirmed_size = ip->size;
        if (ip->fs != fs || ip->refs == 0 || !to_settle(ip, nameless))
            continue;
        ip->refs++;
        spin_unlock(&icache_lock);
        sleep_lock(&ip->lock);
        int error = to_settle(ip, nameless) ? settle(ip, nameless) : 0;
        sleep_unlock(&ip->lock);
        iput(ip);
        first = first ?: error;
        spin_lock(&icache_lock);
    }
    return first;
}

/* True if an inode is referenced, other than the root by mount and caller. */
bool inodes_busy(struct fs *fs)
{
    SLOT_EACH (ip)
        if (ip->fs == fs && ip->refs > (ip == fs->root ? 2 : 0))
            return true;
    return false;
}

/* Empty all slots of this file system, which is not in use any more. */
void inodes_forget(struct fs *fs)
{
    HOLD(spin, &icache_lock);
    SLOT_EACH (ip)
        if (ip->fs == fs)
            forget(ip);
}

/* ---- from and to the disk ---- */

/* Return where the inode begins in its group's table, in bytes. */
static u64 entry_of(const struct inode *ip)
{
    const struct fs *fs = ip->fs;
    return (u64)((ip->ino - 1) % fs->inodes_per_group) * fs->inode_bytes;
}

/* Return the block of the group's table in which the inode lies. */
u32 inode_block(const struct inode *ip)
{
    u32 group = (ip->ino - 1) / ip->fs->inodes_per_group;
    return group_of(ip->fs, group)->inode_table +
           (entry_of(ip) >> ip->fs->block_shift);
}

/* Return the buffer of an inode's block, or NULL. *raw is the inode in it. */
static struct buf *raw_read(const struct inode *ip, struct ext2_inode **raw)
{
    struct buf *b = bread(ip->fs->disk, inode_block(ip));
    if (b)
        *raw = (void *)((char *)b->data + entry_of(ip) % ip->fs->block_bytes);
    return b;
}

/* Fill in the inode in memory from that of the disk. */
static void unpack(struct inode *ip, const struct ext2_inode *raw)
{
    ip->mode = raw->mode;
    ip->nlink = raw->links_count;
    ip->generation = raw->generation;
    ip->size = raw->size;
    if (S_ISREG(raw->mode))
        ip->size |= (u64)raw->size_high << 32;
    ip->confirmed_size = ip->size;
    ip->sectors = raw->blocks;
    ip->atime_s = raw->atime;
    ip->mtime_s = raw->mtime;
    /* Later changes within that second must differ from it. */
    ip->mtime_ns = raw->mtime < now_s() ? 0 : clock_wall_ns() % NS_PER_S;
    ip->ctime_s = raw->ctime;
    ip->flags = raw->flags;
    memcpy(ip->block, raw->block, sizeof(ip->block));
    ip->rdev = S_ISCHR(raw->mode) ? raw->block[0] : 0;
    ip->next_dir_slot = ip->goal = ip->synced_sectors = 0;
    ip->run_blocks = 0;
}

/* True if the inode can be right, as far as its own fields tell. */
static bool is_sound(const struct inode *ip)
{
    const struct fs *fs = ip->fs;
    if (ip->nlink == 0 || (ip->flags & EXT2_INCOMPATIBLE_FL))
        return false;
    switch (ip->mode & S_IFMT) {
    case S_IFREG:
        return ip->size <= fs->max_bytes;
    case S_IFDIR:
        return ip->size && ip->size <= INT32_MAX &&
               ip->size % fs->block_bytes == 0;
    case S_IFLNK:
        return ip->size < fs->block_bytes;
    case S_IFCHR:
    case S_IFBLK:
    case S_IFIFO:
    case S_IFSOCK:
        return true;
    default:
        return false;
    }
}

/* Read the inode from the disk. It stays invalid if that fails or makes no
 * sense. */
static void load(struct inode *ip)
{
    struct ext2_inode *raw;
    struct buf *b = raw_read(ip, &raw);
    if (!b)
        return;
    unpack(ip, raw);
    brelse(b);
    ip->dirty = false;
    ip->valid = is_sound(ip);
    if (!ip->valid)
        fs_damaged(ip->fs, "inode %u is damaged", ip->ino);
}

/* Lock the inode, and load it if it is not in memory. ip->valid says if it
 * could be. */
inline void ilock(struct inode *ip)
{
    sleep_lock(&ip->lock);
    if (ip->fs->elsewhere)
        ip->fs->elsewhere->load(ip);
    else if (!ip->valid)
        load(ip);
}

void iunlock(struct inode *ip)
{
    sleep_unlock(&ip->lock);
}

/* Unlock the inode and return the result. */
int iunlock_with(struct inode *ip, int result)
{
    iunlock(ip);
    return result;
}

/* Return 0 if the locked inode could be loaded, or why not. */
int ivalid(struct inode *ip)
{
    return ip->valid ? 0 : cause_of(ip, -EIO);
}

/* Lock the inode. On an error it is not locked. */
int ilock_valid(struct inode *ip)
{
    ilock(ip);
    return ip->valid ? 0 : iunlock_with(ip, ivalid(ip));
}

/* Fill in the inode of the disk from that in memory. */
static void pack(const struct inode *ip, struct ext2_inode *raw)
{
    raw->mode = ip->mode;
    raw->links_count = ip->nlink;
    raw->generation = ip->generation;
    raw->size = ip->size;
    if (S_ISREG(ip->mode))
        raw->size_high = ip->size >> 32;
    raw->blocks = ip->sectors;
    raw->atime = ip->atime_s;
    raw->mtime = ip->mtime_s;
    raw->ctime = ip->ctime_s;
    raw->dtime = 0;
    raw->flags = ip->flags;
    memcpy(raw->block, ip->block, sizeof(raw->block));
}

/* Fill in an inode without names or blocks; dtime: when it lost them, or 0. */
static void pack_empty(struct ext2_inode *raw, u32 dtime)
{
    raw->links_count = 0;
    raw->size = raw->size_high = raw->blocks = raw->flags = 0;
    raw->dtime = dtime;
    memset(raw->block, 0, sizeof(raw->block));
}

/* Copy the inode to *b, the buffer of the disk's inode. */
static int put(struct inode *ip, struct buf **b)
{
    assert(sleep_held(&ip->lock) && ip->valid);
    ip->dirty = false;
    TRY(fs_writable(ip->fs));
    struct ext2_inode *raw;
    *b = raw_read(ip, &raw);
    if (!*b)
        return fs_error(ip->fs, "inode %u cannot be written", ip->ino);
    if (ip->nlink)
        pack(ip, raw);
    else
        pack_empty(raw, MAX(now_s(), 1));
    return 0;
}

/* Copy the inode to its buffer; wait: also see to it that the disk has it
 * before what is written later. */
int inode_write(struct inode *ip, bool wait)
{
    struct buf *b;
    if (ip->fs->elsewhere) {
        ip->dirty = false;
        ip->fs->elsewhere->written(ip);
        return 0;
    }
    TRY(put(ip, &b));
    if (wait)
        return write_now(ip->fs, b, 0);
    write_late(ip->fs, b, 0);
    return 0;
}

/* Make the inode durable. Return 0 or an error. */
int inode_sync(struct inode *ip)
{
    struct fs *fs = ip->fs;
    struct buf *b;
    TRY(depend_settle(fs->disk, owner_of(ip)));
    HOLD(operation, fs);
    return journal_is_open(&fs->journal) ? 0 /* a swap has written all */
                                         : put(ip, &b) ?: write_stable(fs, b);
}

/* Write the inode as a husk: e2fsck -p clears it, and its name. In memory it
 * stays. */
int inode_write_husk(struct inode *ip)
{
    assert(sleep_held(&ip->lock) && ip->valid);
    struct ext2_inode *raw;
    struct buf *b = raw_read(ip, &raw);
    if (!b)
        return -EIO;
    pack_empty(raw, 0);
    raw->mode = HUSK_MODE;
    raw->links_count = 2;
    return write_now(ip->fs, b, 0);
}

/* Get the inode if it is still the one that `named` means, by its generation;
 * otherwise *out is NULL. *husk: on the disk it is a husk. */
int iget_was(struct fs *fs, struct ext2_named named, struct inode **out,
             bool *husk)
{
    struct ext2_inode *raw;
    *out = NULL;
    *husk = false;
    if (!ino_ok(fs, named.ino))
        return 0;
    TRY(iget(fs, named.ino, out));
    struct buf *b = raw_read(*out, &raw);
    bool was = b && raw->links_count && raw->generation == named.generation;
    *husk = was && raw->mode == HUSK_MODE && raw->size == 0;
    if (b)
        brelse(b);
    if (was)
        return 0;
    iput(*out);
    *out = NULL;
    return b ? 0 : -EIO;
}

/* Get an inode of the same file system by number and generation; -ESTALE if it
 * is another one by now. */
int ext2_find(struct inode *other, u32 ino, u32 generation, struct inode **out)
{
    bool husk;
    TRY(iget_was(other->fs, (struct ext2_named){ino, generation}, out, &husk));
    return *out ? 0 : -ESTALE;
}

/* ---- making and freeing ---- */

/* Clear the inode on the disk, which must be free, for a new one. */
static int raw_clear(struct inode *ip)
{
    struct ext2_inode *raw;
    struct buf *b = raw_read(ip, &raw);
    if (!b)
        return -EIO;
    if (raw->links_count) {
        brelse(b);
        return fs_error(ip->fs, "free inode %u has names", ip->ino);
    }
    memset(raw, 0, ip->fs->inode_bytes);
    write_late(ip->fs, b, 0);
    return 0;
}

/* Make the locked new inode valid and empty, with the links that its type
 * begins with. */
static void init(struct inode *ip, u32 mode)
{
    struct ext2_inode empty = {
        .mode = mode,
        .links_count = S_ISDIR(mode) ? 2 : 1,
        .generation =
            __atomic_fetch_add(&ip->fs->generation, 1, __ATOMIC_RELAXED),
    };
    empty.atime = empty.mtime = empty.ctime = now_s();
    assert(sleep_held(&ip->lock) && !ip->valid);
    unpack(ip, &empty);
    ip->valid = true;
}

/* Lock the slot of a new inode and clear the inode on the disk. If the slot
 * holds a valid inode, the bitmap is wrong; that inode's lock is not waited
 * for, because this process may hold it. */
static int lock_new(struct inode *ip)
{
    if (ip->valid)
        return fs_error(ip->fs, "free inode %u is in use", ip->ino);
    sleep_lock(&ip->lock);
    int error = ip->valid ? fs_error(ip->fs, "free inode %u is in use", ip->ino)
                          : raw_clear(ip);
    if (error)
        sleep_unlock(&ip->lock);
    return error;
}

/* Allocate an inode for a new entry of dir. Return 0 with *out locked, or an
 * error. */
int inode_make(struct inode *dir, u32 mode, struct inode **out)
{
    u32 ino;
    TRY(ino_alloc(dir, mode, &ino));
    int error = iget(dir->fs, ino, out);
    if (!error) {
        error = lock_new(*out);
        if (error)
            iput(*out);
    }
    if (error)
        ino_free(dir->fs, ino, S_ISDIR(mode));
    else
        init(*out, mode);
    return error;
}

/* Free a block of extended attributes, or one of the claims on it. */
static int xattr_free(struct fs *fs, u32 blkno)
{
    if (!blocks_ok(fs, blkno, 1))
        return fs_error(fs, "attributes in block %u are no file's", blkno);
    struct buf *b = bread(fs->disk, blkno);
    if (!b)
        return fs_error(fs, "attributes in block %u: cannot be read", blkno);
    struct ext2_xattr *x = b->data;
    u32 claims = x->magic == EXT2_XATTR_MAGIC ? x->refcount : 0;
    if (claims > 1) {
        x->refcount--;
        write_late(fs, b, 0);
        return 0;
    }
    brelse(b);
    if (!claims)
        return fs_error(fs, "attributes in block %u: damaged", blkno);
    return blocks_free(fs, blkno, 1);
}

/* Free an inode without names: its blocks, its attributes, then itself. If a
 * step fails, the rest is left to e2fsck. */
void inode_free(struct inode *ip)
{
    struct fs *fs = ip->fs;
    bool directory = S_ISDIR(ip->mode);
    assert(sleep_held(&ip->lock) && ip->valid && ip->nlink == 0);
    int error = map_cut(ip, 0);
    ip->valid = ip->dirty = false;
    lost_forget(owner_of(ip));
    struct ext2_inode *raw;
    struct buf *b = error ? NULL : raw_read(ip, &raw);
    if (!b)
        return;
    u32 xattr = raw->file_acl;
    raw->file_acl = 0;
    pack_empty(raw, MAX(now_s(), 1));
    write_late(fs, b, 0);
    if (xattr && xattr_free(fs, xattr))
        return;
    ino_free(fs, ip->ino, directory);
}
