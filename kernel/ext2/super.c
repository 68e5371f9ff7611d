/*
 * Mounted file systems: superblock, mounting and unmounting, sync, shutdown,
 * and what happens when damage is found.
 *
 * - Each disk has a row in mounts[], which goes: free (disk NULL) - filled by
 *   fs_open - in use - closed by fs_close - free. mount_lock covers every step,
 *   and is taken before all other locks of ext2.
 * - While a file system is mounted for writing, the disk's superblock lacks
 *   EXT2_VALID_FS. Unmounting and shutdown restore the state it was found
 *   in: one that was not clean stays so until e2fsck has seen it.
 * - The superblock's sums are made from the groups' counts when it is
 *   written; in between they are old, as e2fsck expects of an unclean one.
 */
#include "kernel/ext2/internal.h"
#include "kernel/cache/lost.h"
#include "kernel/machine/args.h"
#include "kernel/vlog/vlog.h"

#define MAX_BITS   65528 /* of a bitmap in use: counts have 16 bits */
#define MAX_GROUPS (PAGE_SIZE / sizeof(struct ext2_group *) * GROUPS_PER_PAGE)

/* Print why a disk is not mounted, or not for writing. Returns the error. */
#define refuse(fs, error, ...) fs_report(fs, REFUSED, error, __VA_ARGS__)

struct fs mounts[MAX_DISKS];
bool far_indirect;
static struct sleeplock mount_lock;
static struct fs *root_fs;

/* ---- the superblock ---- */

/* Read the disk's superblock. Return its buffer, or NULL. *sb points into
 * it. */
static struct buf *super_read(const struct fs *fs, struct ext2_super **sb)
{
    u32 bytes = bio_block_bytes();
    struct buf *b = bread(fs->disk, EXT2_SUPER_OFFSET / bytes);
    if (b)
        *sb = (void *)((char *)b->data + EXT2_SUPER_OFFSET % bytes);
    return b;
}

/* Bring the disk's superblock up to date; clean: with the mark that the file
 * system is whole. */
static int super_write(struct fs *fs, bool clean, bool wait)
{
    struct ext2_super *sb;
    struct buf *b = super_read(fs, &sb);
    if (!b)
        return -EIO;
    sb->state = fs->found_state;
    if (fs->failed || !clean)
        sb->state &= ~EXT2_VALID_FS;
    if (fs->failed)
        sb->state |= EXT2_ERROR_FS;
    sb->free_blocks_count = fs->free_blocks;
    sb->free_inodes_count = fs->free_inodes;
    sb->wtime = now_s();
    if (fs->intent_on_disk || fs->intent.magic)
        sb->intent = fs->intent;
    if (!fs->revision_0)
        sb->feature_ro_compat = fs->ro_compat;
    if (!wait) {
        bdwrite(b, 0);
        return 0;
    }
    int error = bwrite_stable(b) ?: disk_order(fs->disk);
    if (!error)
        fs->intent_on_disk = fs->intent.magic;
    return error;
}

/* Print what is wrong, and return the error. DAMAGED is printed up to 8 times a
 * mount. FAILED is printed once, and makes the file system read-only. */
int fs_report(struct fs *fs, enum trouble trouble, int error, const char *fmt,
              ...)
{
    char line[128];
    va_list ap;
    if ((trouble == DAMAGED &&
         __atomic_fetch_add(&fs->complaints, 1, __ATOMIC_RELAXED) >= 8) ||
        (trouble == FAILED &&
         __atomic_exchange_n(&fs->failed, true, __ATOMIC_RELAXED)))
        return error;
    va_start(ap, fmt);
    kvsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    kprintf("ext2: %s: %s\n", fs->disk->name, line);
    if (trouble != FAILED)
        return error;
    kprintf("ext2: %s: now read-only: run e2fsck\n", fs->disk->name);
    if (!__atomic_exchange_n(&fs->read_only, true, __ATOMIC_RELAXED))
        super_write(fs, false, true);
    return error;
}

/* Return 0 if the file system can be changed, otherwise -EROFS. */
int fs_writable(struct fs *fs)
{
    if (lost_structure(fs->disk))
        fs_error(fs, "metadata was lost that could not be written");
    return __atomic_load_n(&fs->read_only, __ATOMIC_RELAXED) ? -EROFS : 0;
}

/* Before a file of 2 GiB or more: note in the superblock that there are
 * such. */
int fs_allow_size(struct fs *fs, u64 bytes)
{
    if (bytes <= INT32_MAX || (fs->ro_compat & EXT2_RO_COMPAT_LARGE_FILE))
        return 0;
    HOLD(sleep, &fs->lock);
    fs->ro_compat |= EXT2_RO_COMPAT_LARGE_FILE;
    return super_write(fs, false, true);
}

/* Write the intent record of a rename, or (NULL) that there is none, if an old
 * record is on the disk. Under a policy that delays there is none. */
int fs_intend(struct fs *fs, const struct ext2_intent *intent)
{
    HOLD(sleep, &fs->intent_lock);
    if (intent && order_delays(fs, EXT2_SUPER_OFFSET / fs->block_bytes))
        intent = NULL;
    sleep_lock(&fs->lock);
    if (intent)
        fs->intent = *intent;
    bool stale = fs->intent_on_disk && !fs->intent.magic;
    fs->intent_on_disk |= intent != NULL;
    sleep_unlock(&fs->lock);
    if (!intent && !stale)
        return 0;
    int error = super_write(fs, false, true); /* others allocate meanwhile */
    return error ? fs_error(fs, "the superblock cannot be written") : 0;
}

/* ---- mounting ---- */

/* Return the size of a file that all pointers reach: the direct ones, and those
 * of one single, one double and one triple indirect block. */
static u64 largest_file(const struct fs *fs)
{
    u64 n = fs->block_bytes / sizeof(u32); /* pointers in a block */
    if (fs->revision_0)
        return INT32_MAX;
    return (EXT2_DIRECT + n + n * n + n * n * n) << fs->block_shift;
}

/* Take over the size of blocks, or say why it cannot be used. */
static int check_block_size(struct fs *fs, const struct ext2_super *sb)
{
    if (sb->magic != EXT2_MAGIC)
        return refuse(fs, -EINVAL, "holds no ext2 file system");
    if (sb->log_block_size > 3)
        return refuse(fs, -EINVAL, "block size 1024 << %u is not supported",
                      sb->log_block_size);
    fs->block_shift = 10 + sb->log_block_size;
    fs->block_bytes = 1 << fs->block_shift;
    if (fs->disk->translation && fs->block_bytes != SLOT_SECTORS * SECTOR_BYTES)
        return refuse(fs, -EINVAL, "a virtual log needs blocks of 4096 bytes");
    if (fs->block_bytes != bio_block_bytes())
        return refuse(fs, -EINVAL, "block size %u, the cache has the root's %u",
                      fs->block_bytes, bio_block_bytes());
    return 0;
}

/* Take over the superblock's figures if they agree with each other. The first
 * data block is 1 if blocks have 1 KiB, because the superblock lies behind the
 * first KiB of the disk; else it is 0. An inode has a power of two of bytes. */
static int check_sizes(struct fs *fs, const struct ext2_super *sb)
{
    /* One block holds the bitmap of a group's blocks or inodes. */
    u32 bits = MIN(fs->block_bytes * 8, MAX_BITS);
    fs->blocks = sb->blocks_count;
    fs->first_data_block = sb->first_data_block;
    fs->blocks_per_group = sb->blocks_per_group;
    fs->inodes_per_group = sb->inodes_per_group;
    fs->inodes = sb->inodes_count;
    fs->inode_bytes = fs->revision_0 ? EXT2_INODE_BYTES : sb->inode_size;
    fs->first_ino = fs->revision_0 ? 11 : sb->first_ino;
    fs->max_bytes = largest_file(fs);

    if (fs->first_data_block != (fs->block_bytes == 1024) ||
        fs->blocks <= fs->first_data_block || fs->blocks_per_group == 0 ||
        fs->blocks_per_group > bits || fs->inodes_per_group == 0 ||
        fs->inodes_per_group > bits || fs->inode_bytes < EXT2_INODE_BYTES ||
        fs->inode_bytes > fs->block_bytes ||
        (fs->inode_bytes & (fs->inode_bytes - 1)) || fs->first_ino < 11 ||
        fs->first_ino > fs->inodes)
        return refuse(fs, -EIO, "the superblock makes no sense");
    if ((u64)fs->blocks * sectors_of(fs) > fs->disk->nsectors)
        return refuse(fs, -EIO, "the file system is larger than the disk");
    u64 span = (u64)fs->blocks - fs->first_data_block;
    fs->groups = (span + fs->blocks_per_group - 1) / fs->blocks_per_group;
    if ((u64)fs->groups * fs->inodes_per_group != fs->inodes)
        return refuse(fs, -EIO, "the superblock's counts disagree");
    if (fs->groups > MAX_GROUPS)
        return refuse(fs, -EINVAL, "more than %lu groups", MAX_GROUPS);
    u64 table_bytes = (u64)fs->inodes_per_group * fs->inode_bytes;
    fs->table_blocks = blocks_of(fs, table_bytes);
    return 0;
}

/* True if n is a power of the base. n is not 0. */
static bool power_of(u32 n, u32 base)
{
    while (n % base == 0)
        n /= base;
    return n == 1;
}

/* True if a group begins with a copy of superblock and descriptors: with
 * sparse_super only groups 0 and 1 and the powers of 3, 5 and 7. */
static bool has_super(const struct fs *fs, u32 g)
{
    if (fs->two_supers)
        return g == 0 || g == fs->super_groups[0] || g == fs->super_groups[1];
    return !(fs->ro_compat & EXT2_RO_COMPAT_SPARSE_SUPER) || g == 0 ||
           power_of(g, 3) || power_of(g, 5) || power_of(g, 7);
}

/* Return the number of blocks of the system at the start of a group that has a
 * superblock. */
static u32 head_blocks(const struct fs *fs, const struct ext2_super *sb)
{
    u32 table = blocks_of(fs, (u64)fs->groups * sizeof(struct ext2_group));
    return 1 + table + (fs->revision_0 ? 0 : sb->reserved_gdt_blocks);
}

/* Release the descriptors of the groups, as far as they were allocated. */
static void groups_free(struct fs *fs)
{
    for (u32 i = 0; fs->group_pages && i * GROUPS_PER_PAGE < fs->groups; i++)
        page_free(fs->group_pages[i]);
    page_free(fs->group_pages);
    fs->group_pages = NULL;
}

/* True if a group's structures are inside it and do not overlap. Adds its
 * counts to the sums. Differences have no sign: bitmap - table is less than
 * table_blocks exactly if the bitmap lies in the table, because it is huge if
 * the bitmap lies before it. */
static bool group_ok(struct fs *fs, u32 g, u32 head)
{
    const struct ext2_group *gd = group_of(fs, g);
    u64 start = fs->first_data_block + (u64)g * fs->blocks_per_group;
    u64 end = start + group_blocks(fs, g);
    u64 table_end = (u64)gd->inode_table + fs->table_blocks;
    head = has_super(fs, g) ? head : 0;
    start += head;
    fs->own_blocks += head + 2 + fs->table_blocks;
    fs->free_blocks += gd->free_blocks_count;
    fs->free_inodes += gd->free_inodes_count;
    return gd->block_bitmap >= start && gd->block_bitmap < end &&
           gd->inode_bitmap >= start && gd->inode_bitmap < end &&
           gd->inode_table >= start && table_end <= end &&
           gd->block_bitmap != gd->inode_bitmap &&
           gd->block_bitmap - gd->inode_table >= fs->table_blocks &&
           gd->inode_bitmap - gd->inode_table >= fs->table_blocks &&
           gd->free_blocks_count <= group_blocks(fs, g) &&
           gd->free_inodes_count <= fs->inodes_per_group;
}

/* Read the descriptors into pages of their own. */
static int groups_read(struct fs *fs)
{
    u32 per_block = fs->block_bytes / sizeof(struct ext2_group);
    if (!(fs->group_pages = page_alloc_zero()))
        return -ENOMEM;
    for (u32 i = 0; i * GROUPS_PER_PAGE < fs->groups; i++)
        if (!(fs->group_pages[i] = page_alloc()))
            return -ENOMEM;
    for (u32 g = 0; g < fs->groups; g += per_block) {
        struct buf *b =
            bread(fs->disk, fs->first_data_block + 1 + g / per_block);
        if (!b)
            return refuse(fs, -EIO, "the group descriptors cannot be read");
        const struct ext2_group *from = b->data;
        for (u32 i = 0; i < per_block && g + i < fs->groups; i++)
            *group_of(fs, g + i) = from[i];
        brelse(b);
    }
    return 0;
}

/* Say that the descriptor makes no sense, or which unknown feature may be the
 * cause. */
static int refuse_group(struct fs *fs, u32 g)
{
    if (!fs->strange)
        return refuse(fs, -EIO, "group %u is described wrongly", g);
    return refuse(fs, -EINVAL,
                  "group %u: features 0x%x, which are not known, may move it: "
                  "make the image with mke2fs -t ext2",
                  g, fs->strange);
}

/* Read and check the descriptors of all groups. head: the blocks of the system
 * at the start of the first. */
static int groups_open(struct fs *fs, u32 head)
{
    int error = groups_read(fs);
    fs->own_end = fs->first_data_block + head;
    fs->own_blocks = fs->first_data_block;
    for (u32 g = 0; !error && g < fs->groups; g++)
        if (!group_ok(fs, g, head))
            error = refuse_group(fs, g);
    return error;
}

/* Mark the disk's superblock as mounted. */
static void super_begin(struct fs *fs)
{
    if (fs->found_state & EXT2_ERROR_FS && !fs->read_only) {
        refuse(fs, 0, "read-only: damage was found before: run e2fsck");
        fs->read_only = true;
    }
    if (fs->read_only)
        return;
    if (!(fs->found_state & EXT2_VALID_FS))
        refuse(fs, 0, "was not unmounted cleanly: e2fsck is advised");
    if (clock_wall_ns() / NS_PER_S > UINT32_MAX)
        refuse(fs, 0, "the clock is past 2106-02-07, which times stay at");
    struct ext2_super *sb;
    struct buf *b = super_read(fs, &sb);
    if (b) {
        sb->mtime = now_s();
        fs->mount_count = ++sb->mnt_count;
        bdwrite(b, 0);
    }
    if (super_write(fs, false, true) < 0) {
        refuse(fs, 0, "read-only: the superblock cannot be written");
        fs->read_only = true;
    }
}

/* Read the superblock and the descriptors. Return 0, or an error that was
 * printed. */
static int super_open(struct fs *fs)
{
    struct ext2_super *sb;
    struct buf *b = super_read(fs, &sb);
    if (!b)
        return refuse(fs, -EIO, "the superblock cannot be read");
    int error = check_block_size(fs, sb) ?: check_features(fs, sb)
                                         ?: check_sizes(fs, sb);
    u32 head = error ? 0 : head_blocks(fs, sb);
    fs->found_state = sb->state;
    if (sb->intent.magic == EXT2_INTENT_MAGIC)
        fs->intent = sb->intent;
    fs->intent_on_disk = fs->intent.magic;
    brelse(b);
    return error ?: groups_open(fs, head);
}

/* Get the root directory of a file system that is being mounted. */
static int root_open(struct fs *fs, u32 ino)
{
    TRY(iget(fs, ino, &fs->root));
    int type = type_of(fs->root);
    if (type == S_IFDIR)
        return 0;
    iput(fs->root);
    return type < 0 ? type : refuse(fs, -EIO, "the root is no directory");
}

/* Set or clear needs_recovery on the disk, and wait until it is there. */
int super_needs_recovery(struct fs *fs, bool needs)
{
    struct ext2_super *sb;
    struct buf *b = super_read(fs, &sb);
    if (!b)
        return -EIO;
    sb->feature_incompat &= ~EXT2_INCOMPAT_RECOVER;
    sb->feature_incompat |= needs ? EXT2_INCOMPAT_RECOVER : 0;
    return bwrite_stable(b) ?: disk_order(fs->disk);
}

/* Write that the journal is empty, as its blocks are at home: clear
 * needs_recovery, and wait until all is on the disk. failed: the log says that
 * the file system has errors, so write this, too. */
int super_recovered(struct fs *fs, bool failed)
{
    struct ext2_super *sb;
    struct buf *b = super_read(fs, &sb);
    if (!b)
        return -EIO;
    sb->feature_incompat &= ~EXT2_INCOMPAT_RECOVER;
    if (failed)
        sb->state |= EXT2_ERROR_FS;
    return bwrite_stable(b) ?: bflush(fs->disk) ?: disk_order(fs->disk);
}

/* Begin the row of a file system on this disk. */
static void row_init(struct fs *fs, struct disk *d, u32 flags)
{
    *fs = (struct fs){.disk = d,
                      .read_only = d->read_only || (flags & MS_RDONLY),
                      .generation = now_s(),
                      .followed = UNLIMITED};
    journal_init(&fs->journal);
    sleep_lock_init(&fs->follow_lock, "follow");
    sleep_lock_init(&fs->lock, "fs");
    sleep_lock_init(&fs->intent_lock, "intent");
}

/* Fill the row of a disk with what its superblock says. */
static int row_open(struct fs *fs, struct disk *d, u32 flags)
{
    row_init(fs, d, flags);
    return super_open(fs);
}

/* Fill the row of a disk whose file system is elsewhere. */
static int row_open_elsewhere(struct fs *fs, struct disk *d, u32 flags,
                              const struct fs_operations *elsewhere, u32 root)
{
    row_init(fs, d, flags);
    fs->elsewhere = elsewhere;
    fs->block_bytes = bio_block_bytes();
    fs->block_shift = __builtin_ctz(fs->block_bytes);
    fs->max_bytes = EXT2_ELSEWHERE_BLOCKS * fs->block_bytes;
    fs->ro_compat = EXT2_RO_COMPAT_LARGE_FILE;
    fs->no_atime = true;
    return root_open(fs, root);
}

/* Forget what memory holds of a file system that is closed. */
static void row_empty(struct fs *fs)
{
    inodes_forget(fs);
    groups_free(fs);
    binval_disk(fs->disk); /* what is left would overwrite the next user's */
}

/* row_open, and once more if the journal has changed what was read. */
static int row_open_whole(struct fs *fs, struct disk *d, u32 flags)
{
    TRY(row_open(fs, d, flags));
    int changed = journal_replay(fs);
    if (changed <= 0)
        return changed;
    row_empty(fs);
    return row_open(fs, d, flags);
}

/* Open the file system of a disk: fill its row, and finish what a power cut has
 * interrupted. mount_lock held. */
static int fs_open(struct disk *d, u32 flags,
                   const struct fs_operations *elsewhere, u32 root,
                   struct fs **out)
{
    assert(sleep_held(&mount_lock) && d->id < MAX_DISKS);
    struct fs *fs = &mounts[d->id];
    if (fs->disk)
        return -EBUSY;
    int error = elsewhere
                    ? row_open_elsewhere(fs, d, flags, elsewhere, root)
                    : row_open_whole(fs, d, flags)
                          ?: order_check(fs) ?: root_open(fs, EXT2_ROOT_INO);
    if (error) {
        row_empty(fs);
        fs->disk = NULL;
        return error;
    }
    d->mounted = true;
    *out = fs;
    if (elsewhere)
        return 0;
    super_begin(fs);
    if (!claim_all(fs) && !redo_finish(fs))
        order_follow(fs); /* all print what they cannot do */
    return 0;
}

/* Mount the root file system. Return 0 or an error. */
int ext2_mount_root(struct disk *d)
{
    HOLD(sleep, &mount_lock);
    return root_fs ? -EBUSY : fs_open(d, 0, NULL, 0, &root_fs);
}

/* Cover the directory with fs; with NULL only check whether it can be. */
static int cover(struct inode *on, struct fs *fs)
{
    HOLD(inode, on);
    TRY(check_dir(on));
    HOLD(spin, &icache_lock);
    if (on->mounted || on == on->fs->root)
        return -EBUSY;
    if (fs)
        on->mounted = fs;
    return 0;
}

static int fs_close(struct fs *);

/* Mount a file system on a directory; elsewhere: its functions, if it is a file
 * server's. Takes over the reference to `on` if it succeeds. */
int ext2_mount_elsewhere(struct disk *d, struct inode *on, u64 flags,
                         const struct fs_operations *elsewhere, u32 root)
{
    if (flags & ~MS_RDONLY)
        return -EINVAL;
    struct fs *fs;
    HOLD(sleep, &mount_lock);
    TRY(cover(on, NULL) ?: fs_open(d, flags, elsewhere, root, &fs));
    fs->on = on;
    int error = cover(on, fs);
    if (error)
        fs_close(fs);
    return error;
}

int ext2_mount(struct disk *d, struct inode *on, u64 flags)
{
    return ext2_mount_elsewhere(d, on, flags, NULL, 0);
}

/* ---- writing back and unmounting ---- */

/* Write everything in memory to the disk. mount_lock held. */
static int fs_sync(struct fs *fs)
{
    int error = 0;
    assert(sleep_held(&mount_lock) && fs->disk);
    if (!fs->elsewhere && fs_writable(fs) == 0) {
        error = inodes_settle(fs, false);
        sleep_lock(&fs->lock);
        int super_error = super_write(fs, false, false);
        sleep_unlock(&fs->lock);
        error = error ?: super_error ?: order_commit(fs, true);
    }
    int flush_error = depend_flush(fs->disk);
    return error ?: flush_error;
}

/* Write all that is dirty of this file system, durably. Return 0 or the first
 * error. */
static int sync_one(struct fs *fs)
{
    int error = fs_sync(fs);
    int flush_error = disk_flush(fs->disk);
    return error ?: flush_error;
}

/* sync_one; -EIO also, once, if blocks were lost or the file system failed. */
static int sync_and_tell(struct fs *fs)
{
    int error = sync_one(fs) ?: lost_tell_sync(fs->disk);
    bool failed = __atomic_load_n(&fs->failed, __ATOMIC_RELAXED);
    bool told = __atomic_exchange_n(&fs->failed_told, failed, __ATOMIC_RELAXED);
    return error ?: failed && !told ? -EIO : 0;
}

/* Write everything, and then the mark that the file system is whole, which a
 * write policy that keeps all in memory (write=nvram) has only made dirty. */
static int fs_mark_clean(struct fs *fs)
{
    int error = sync_one(fs) ?: order_end(fs);
    if (fs->elsewhere)
        return error;
    error = error ?: fs_writable(fs) ? 0 : super_write(fs, true, true);
    error = error ?: bflush(fs->disk) ?: disk_flush(fs->disk);
    __atomic_store_n(&fs->read_only, true, __ATOMIC_RELAXED);
    return error;
}

/* Empty the row of a file system that no process can reach. mount_lock held. */
static int fs_close(struct fs *fs)
{
    assert(!fs->on || fs->on->mounted != fs);
    iput(fs->root);
    int error = fs_mark_clean(fs);
    row_empty(fs);
    lost_forget_disk(fs->disk);
    fs->disk->mounted = false;
    if (fs->elsewhere)
        fs->elsewhere->unmounted(fs->disk);
    fs->disk = NULL;
    return error;
}

/* ext2_umount, which consumes root only if it gets as far as fs_close. */
static int umount(struct inode *root, bool *consumed)
{
    struct fs *fs = root->fs;
    struct inode *on = fs->on;
    if (root != fs->root)
        return -EINVAL;
    TRY(on ? fs_sync(fs) ?: lost_tell_sync(fs->disk) : -EBUSY);
    {
        HOLD(spin, &icache_lock);
        if (inodes_busy(fs))
            return -EBUSY;
        on->mounted = NULL;
    }
    iput(root);
    *consumed = true;
    int error = fs_close(fs);
    iput(on);
    if (error)
        kprintf("ext2: unmounted, but writing failed\n");
    return error;
}

/* Unmount the file system with this root. Gives the reference back either
 * way. */
int ext2_umount(struct inode *root)
{
    bool consumed = false;
    HOLD(sleep, &mount_lock);
    int error = umount(root, &consumed);
    if (!consumed)
        iput(root);
    return error;
}

/* Call fn for each mounted file system. Return the first error. */
int each_mount(int (*fn)(struct fs *))
{
    int first = 0;
    HOLD(sleep, &mount_lock);
    for (u32 i = 0; i < MAX_DISKS; i++) {
        int error = mounts[i].disk ? fn(&mounts[i]) : 0;
        first = first ?: error;
    }
    return first;
}

/* Write all that is dirty, durably. Return 0 or the first error. */
int ext2_sync(void)
{
    int error = each_mount(sync_and_tell);
    int flush_error = bflush(NULL); /* blocks of disks that are not mounted */
    return error ?: flush_error;
}

/* Free files without names, and mark the disk clean. */
static int shut_one(struct fs *fs)
{
    if (!fs->elsewhere)
        inodes_settle(fs, true);
    return fs_mark_clean(fs) ?: lost_tell_sync(fs->disk);
}

/* Before the machine goes off: leave all disks clean. Return 0 or the first
 * error. */
int ext2_shutdown(void)
{
    int error = each_mount(shut_one);
    if (!error)
        vlog_close();
    return error;
}

/* ---- the table as seen from outside ---- */

/* At boot: prepare the tables, and read the boot argument indirect=. */
void ext2_init(void)
{
    icache_lock = SPINLOCK("icache", RANK_ICACHE);
    sleep_lock_init(&mount_lock, "mounts");
    sleep_lock_init(&tree_lock, "tree");
    inodes_init();
    order_init();
    const char *indirect = arg_text("indirect");
    far_indirect = indirect && !strcmp(indirect, "far");
    if (indirect && !far_indirect && strcmp(indirect, "near"))
        boot_fail("argument indirect=%s: not near or far", indirect);
}

/* Return the root of all. The caller takes a reference itself. */
struct inode *root_inode(void)
{
    assert(root_fs);
    return root_fs->root;
}

/* Return the block size in bytes of the disk's file system, or an error. It
 * goes past the cache, which needs that size to begin. */
int ext2_probe(struct disk *d)
{
    PAGE_OWNED char *page = page_alloc();
    const struct ext2_super *sb = (struct ext2_super *)page;
    TRY(page ? 0 : -ENOMEM);
    struct io io = {
        .request = {.sector = EXT2_SUPER_OFFSET / SECTOR_BYTES,
                    .nsectors = EXT2_SUPER_BYTES / SECTOR_BYTES},
        .span.data = page,
    };
    TRY(disk_transfer(d, &io, 1));
    bool known = sb->magic == EXT2_MAGIC && sb->log_block_size <= 3;
    return known ? 1024 << sb->log_block_size : -EINVAL;
}

/* Describe mounted file system number i: where, which disk, read-only or not.
 * False: there are fewer. */
bool ext2_mount_row(u32 i, char *path, size_t n, struct disk **d, bool *ro)
{
    HOLD(sleep, &mount_lock);
    for (struct fs *fs = mounts; fs < mounts + MAX_DISKS; fs++) {
        if (!fs->disk || i--)
            continue;
        *d = fs->disk;
        *ro = fs_writable(fs) < 0;
        if (ext2_path(fs->on ? fs->on : fs->root, path, n) < 0)
            strlcpy(path, "?", n);
        return true;
    }
    return false;
}

struct disk *ext2_disk(const struct inode *ip)
{
    return ip->fs->disk;
}

u32 ext2_mount_count(const struct inode *ip)
{
    return ip->fs->mount_count;
}

/* Return the owner by which the cache knows the file's blocks. */
u64 ext2_owner(const struct inode *ip)
{
    return owner_of(ip);
}

u64 ext2_max_bytes(const struct inode *ip)
{
    return ip->fs->max_bytes;
}
