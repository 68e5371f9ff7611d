/*
 * Contents of files: read, write, truncate, fsync, fdatasync, the text of
 * links.
 *
 * - A write of a whole block does not read it. A new block that is written
 *   in part is zeroed first, so what lay there before is never seen.
 * - Blocks that a failed write has allocated past the end are freed again.
 * - After each write the inode is in its buffer, so the update daemon, which
 *   knows only buffers, writes it in time.
 * - Reading only marks the inode dirty for its new access time: it goes to
 *   its buffer with the next change, at sync, or with the last iput.
 */
#include "kernel/ext2/internal.h"
#include "kernel/cache/lost.h"
#include "kernel/cache/prefetch.h"

#define WINDOW 32 /* blocks of one call being read before they are copied */

/* ---- read ---- */

/* The progress of one read. */
struct reading {
    struct streams *streams;
    bool planned; /* the policy has been asked */
    u64 next;     /* first block of the file not yet started */
    u64 end;      /* the block after the last that the call asked for */
    struct readahead readahead; /* the policy's */
    u64 ahead, nahead;          /* its blocks: how many are started; in all */
};

/* Ask the policy what to read ahead. first: the block that the read begins
 * with; found: its state in the cache. */
static void plan(struct inode *ip, u64 first, enum found found,
                 struct reading *r)
{
    const struct fs *fs = ip->fs;
    struct access access = {.block = first,
                            .nblocks = r->end - first,
                            .file_blocks = blocks_of(fs, ip->size),
                            .block_bytes = fs->block_bytes,
                            .found = found};
    r->readahead = prefetch_readahead(fs->disk, r->streams, &access);
    r->nahead = MIN(r->readahead.n * r->readahead.times, bio_ahead_most());
    r->planned = true;
}

/* Find the disk's blocks of the file's next ones: from *next on, at most WINDOW
 * of them, and none from `end` on. With a read-ahead request, *next and `end`
 * count the blocks of the read-ahead request instead. */
static u32 map_next(struct inode *ip, const struct readahead *readahead,
                    u64 *next, u64 end, u64 out[WINDOW])
{
    u32 blkno, n = 0;
    for (u64 stop = MIN(end, *next + WINDOW); *next < stop; ++*next) {
        u64 block = readahead ? readahead_block(readahead, *next) : *next;
        if (map(ip, block, &blkno) == 0 && blkno)
            out[n++] = blkno;
    }
    return n;
}

/* Prefetch all blocks of a read-ahead request. */
static void prefetch(struct inode *ip, const struct readahead *readahead,
                     u64 next, u64 end)
{
    u64 blocks[WINDOW];
    while (next < end) {
        u32 n = map_next(ip, readahead, &next, end, blocks);
        bprefetch(ip->fs->disk, blocks, n);
    }
}

/* Find the blocks to start reading together with a block: those that the call
 * asks for next and, once all of these are started, those to read ahead. The
 * caller holds no buffer, because mapping may need one. */
static struct further_reads find_further(struct inode *ip, u64 block,
                                         struct reading *r, u64 out[2 * WINDOW])
{
    struct further_reads further = {
        .asked = out, .ahead = out + WINDOW, .separate = prefetch_by_block()};
    if (r->next <= block + WINDOW / 2)
        further.nasked = map_next(ip, NULL, &r->next, r->end, out);
    if (r->next >= r->end)
        further.nahead =
            map_next(ip, &r->readahead, &r->ahead, r->nahead, out + WINDOW);
    return further;
}

/* Copy from a block to the program, and release the block. NULL: -EIO. */
static int copy_out(const struct inode *ip, struct buf *b, u64 n, struct uio *u)
{
    u32 at = u->offset & (ip->fs->block_bytes - 1);
    if (!b)
        return -EIO;
    int error = uio_move((char *)b->data + at, n, u);
    brelse(b);
    return error;
}

/* Read a part in a block that was cached: b. The blocks after it are started
 * when it has been let go of. */
static int read_cached(struct inode *ip, struct uio *u, u64 n,
                       struct reading *r, struct buf *b)
{
    u64 block = u->offset >> ip->fs->block_shift, out[2 * WINDOW];
    int error = copy_out(ip, b, n, u);
    if (r->next >= r->end && r->ahead >= r->nahead)
        return error;
    struct further_reads further = find_further(ip, block, r, out);
    bstart(ip->fs->disk, &further);
    return error;
}

/* Read a part that lies in one block. */
static int read_part(struct inode *ip, struct uio *u, u64 n, struct reading *r)
{
    struct disk *d = ip->fs->disk;
    u64 block = u->offset >> ip->fs->block_shift, out[2 * WINDOW];
    u32 blkno;
    TRY(map(ip, block, &blkno));
    enum found found = CACHED; /* a hole needs no reading */
    struct buf *b = blkno ? bcached(d, blkno, &found) : NULL;
    if (!r->planned)
        plan(ip, block, found, r);
    if (!blkno)
        return uio_zero(n, u);
    if (b)
        return read_cached(ip, u, n, r, b);
    struct further_reads further = find_further(ip, block, r, out);
    return copy_out(ip, breada(d, blkno, &further), n, u);
}

static void accessed(struct inode *ip)
{
    u32 now = now_s();
    if (ip->atime_s != now && !ip->fs->no_atime && fs_writable(ip->fs) == 0) {
        ip->atime_s = now;
        ip->dirty = true;
    }
}

/* Return 0 if the inode has contents to read and write; else -EISDIR or
 * -EINVAL. */
static int check_file(const struct inode *ip)
{
    if (S_ISREG(ip->mode))
        return 0;
    return S_ISDIR(ip->mode) ? -EISDIR : -EINVAL;
}

/* Return how many bytes of a transfer, up to `end` in the file, lie in its
 * first block. */
static u64 part(const struct inode *ip, const struct uio *u, u64 end)
{
    u32 size = ip->fs->block_bytes;
    return MIN(end - u->offset, size - (u->offset & (size - 1)));
}

/* Read what the policy sees as one read: all bytes up to `end`, or those in one
 * block. */
static int read_some(struct inode *ip, struct uio *u, u64 end,
                     struct streams *s)
{
    u64 stop = u->offset + part(ip, u, end);
    if (stop < end && !prefetch_by_block())
        stop = end;
    struct reading r = {.streams = s,
                        .next = (u->offset >> ip->fs->block_shift) + 1,
                        .end = blocks_of(ip->fs, stop)};
    int error = 0;
    while (u->offset < stop && !error)
        error = read_part(ip, u, part(ip, u, stop), &r);
    prefetch(ip, &r.readahead, r.ahead, r.nahead);
    return error;
}

/* Return 0 if the transfer is to go through the cache, 1 if a file system
 * elsewhere has moved the bytes past the cache, or -errno. */
static int check_move(struct inode *ip, struct uio *u)
{
    TRY(check_file(ip));
    return ip->fs->elsewhere ? ip->fs->elsewhere->move(ip, u) : 0;
}

int ext2_read(struct inode *ip, struct uio *u, struct streams *s)
{
    int error = check_move(ip, u);
    if (error || u->offset >= ip->size || u->left == 0)
        return MIN(error, 0);
    u64 end = MIN(u->offset + u->left, ip->size);
    while (u->offset < end && !error)
        error = read_some(ip, u, end, s);
    accessed(ip);
    return cause_of(ip, error);
}

/* Count the file's reader before its first read. */
void ext2_begin_reads(struct inode *ip, const struct streams *s)
{
    readers_go_on(ip->fs->disk, s->stream);
}

/* The file is closed: it is no reader of the disk any more. */
void ext2_end_reads(struct inode *ip, const struct streams *s)
{
    readers_end(ip->fs->disk, s);
}

/* ---- what a program says it will read ---- */

/* Return where n bytes from offset on end in the file. */
static u64 end_of(const struct inode *ip, u64 offset, u64 n)
{
    if (offset >= ip->size)
        return offset;
    return n ? offset + MIN(n, ip->size - offset) : ip->size;
}

/* Prefetch what a program says it will read, up to the limit for prefetched
 * blocks. Only a policy that takes hints does so. */
void ext2_will_need(struct inode *ip, u64 offset, u64 n)
{
    u64 block = offset >> ip->fs->block_shift;
    u64 end = blocks_of(ip->fs, end_of(ip, offset, n));
    if (prefetch_takes_hints())
        prefetch(ip, NULL, block, MIN(end, block + bio_ahead_most()));
}

/* Let blocks that lie wholly in these bytes be evicted first. The last block of
 * the file counts as whole. */
void ext2_dont_need(struct inode *ip, u64 offset, u64 n)
{
    u64 block = blocks_of(ip->fs, offset);
    u64 end_bytes = end_of(ip, offset, n);
    u64 end = end_bytes == ip->size ? blocks_of(ip->fs, end_bytes)
                                    : end_bytes >> ip->fs->block_shift;
    if (!prefetch_takes_hints())
        return;
    for (; block < end; block++) {
        u32 blkno;
        if (map(ip, block, &blkno) == 0 && blkno)
            bunwanted(ip->fs->disk, blkno);
    }
}

/* ---- write ---- */

/* A buffer could be filled in part only: leave nothing in it that comes from
 * elsewhere, and nothing but zeros past the end of the file. */
static void write_failed(struct inode *ip, struct buf *b, u64 start, bool fresh)
{
    u64 keep = fresh || ip->size < start ? 0 : ip->size - start;
    if (keep < ip->fs->block_bytes)
        memset((char *)b->data + keep, 0, ip->fs->block_bytes - keep);
    if (fresh || (b->flags & B_VALID))
        bwrite_data(b, owner_of(ip), false); /* if it fails, it stays dirty */
    else
        brelse(b);
}

/* Write n bytes within one block of the file. Return 0 or an error. */
static int write_part(struct inode *ip, struct uio *u, u64 n)
{
    struct fs *fs = ip->fs;
    u32 at = u->offset & (fs->block_bytes - 1), blkno;
    bool fresh, whole = n == fs->block_bytes;
    TRY(map_alloc(ip, u->offset >> fs->block_shift, &blkno, &fresh));
    struct buf *b =
        fresh || whole ? getblk(fs->disk, blkno) : bread(fs->disk, blkno);
    if (!b)
        return -EIO;
    if (fresh && !whole)
        memset(b->data, 0, fs->block_bytes);
    u64 start = u->offset - at;
    int error = uio_move((char *)b->data + at, n, u);
    if (error) {
        write_failed(ip, b, start, fresh);
        return error;
    }
    ip->size = MAX(ip->size, u->offset);
    return bwrite_data(b, owner_of(ip), at + n == fs->block_bytes);
}

/* Note that the contents have changed now. */
static void changed(struct inode *ip)
{
    ip->mtime_s = ip->ctime_s = now_s();
    ip->mtime_ns = clock_wall_ns() % NS_PER_S;
    ip->dirty = true;
}

/* Write what u describes. Return 0 or an error; u->offset says how far it
 * came. */
int ext2_write(struct inode *ip, struct uio *u)
{
    struct fs *fs = ip->fs;
    int error = fs_writable(fs) ?: check_move(ip, u);
    if (error || u->left == 0)
        return MIN(error, 0);
    if (u->offset >= fs->max_bytes)
        return -EFBIG;
    u64 end = MIN(u->offset + u->left, fs->max_bytes);
    error = fs_allow_size(fs, end);
    HOLD(operation, fs);
    while (u->offset < end && !error)
        error = write_part(ip, u, part(ip, u, end))
                    ?: u->offset < end ? operation_pause(ip)
                                       : 0;
    changed(ip);
    if (error && blocks_of(fs, ip->size) <= u->offset >> fs->block_shift)
        map_cut(ip, blocks_of(fs, ip->size));
    int inode_error = inode_write(ip, false);
    return cause_of(ip, error ?: u->left ? -EFBIG : inode_error);
}

/* ---- truncate ---- */

/* Zero the last block from the end of the file on. */
static int zero_tail(struct inode *ip, u64 size)
{
    struct fs *fs = ip->fs;
    u32 at = size & (fs->block_bytes - 1), blkno;
    if (at == 0)
        return 0;
    int error = map(ip, size >> fs->block_shift, &blkno);
    if (error || !blkno)
        return error;
    struct buf *b = bread(fs->disk, blkno);
    if (!b)
        return -EIO;
    memset((char *)b->data + at, 0, fs->block_bytes - at);
    return bwrite_data(b, owner_of(ip), false);
}

/* Change the file's size. Blocks past the new end are freed, and a longer file
 * gets a hole. Return 0 or an error. */
int ext2_truncate(struct inode *ip, u64 size)
{
    struct fs *fs = ip->fs;
    bool shorter = size < ip->size;
    TRY(check_file(ip));
    TRY(size > fs->max_bytes ? -EFBIG : fs_writable(fs));
    if (fs->elsewhere)
        return fs->elsewhere->set_size(ip, size);
    TRY(fs_allow_size(fs, size));
    HOLD(operation, fs);
    TRY(shorter ? zero_tail(ip, size) : 0);
    ip->size = size;
    ip->confirmed_size = MIN(ip->confirmed_size, size);
    changed(ip);
    return shorter ? map_cut(ip, blocks_of(fs, size)) : inode_write(ip, false);
}

/* ---- fsync ---- */

/* fsync with a journal: the inode, if it has changed, joins the transaction. */
static int fsync_logged(struct inode *ip)
{
    int error = bflush_owner(ip->fs->disk, owner_of(ip));
    if (!error && ip->dirty && fs_writable(ip->fs) == 0) {
        HOLD(operation, ip->fs);
        error = inode_write(ip, false);
    }
    return error ?: order_commit(ip->fs, true);
}

/* Return when the file's data and inode, and its name if it is new, are
 * durable: 0, or -EIO. */
int ext2_fsync(struct inode *ip)
{
    ip->confirmed_size = ip->size;
    if (journal_is_open(&ip->fs->journal))
        return fsync_logged(ip);
    struct disk *d = ip->fs->disk;
    int error = bflush_owner(d, owner_of(ip));
    if (!error && fs_writable(ip->fs) == 0)
        error = inode_sync(ip) ?: ip->named ? order_settle(ip->fs, true) : 0;
    ip->named &= error != 0;
    int flush_error = disk_flush(d);
    return error ?: flush_error ?: ip->fs->failed ? -EIO : 0;
}

/* True if the disk has what leads to the data. Until map_cut makes a file
 * smaller, each new pointer adds to its sectors, and its size only grows: so if
 * both are what they were, all between is. */
static bool is_mapped_there(const struct inode *ip)
{
    return ip->synced_sectors && ip->synced_sectors == ip->sectors &&
           ip->synced_size == ip->size && !ip->named && !ip->fs->elsewhere;
}

/* Like fsync, but if the inode on the disk leads to all data already, only the
 * data are written. */
int ext2_fdatasync(struct inode *ip)
{
    struct fs *fs = ip->fs;
    if (is_mapped_there(ip)) {
        int data_error = bflush_owner(fs->disk, owner_of(ip));
        int error = disk_flush(fs->disk);
        return data_error ?: error ?: fs->failed ? -EIO : 0;
    }
    TRY(ext2_flush(ip));
    ip->synced_sectors = S_ISREG(ip->mode) ? ip->sectors : 0;
    ip->synced_size = ip->size;
    return 0;
}

/* Return the number of the last loss of which a new description is not told. */
u64 ext2_lost_before(const struct inode *ip)
{
    return lost_opened(ip->fs->disk, owner_of(ip));
}

/* Return -EIO if data of the file was lost since *told, which is moved on. */
int ext2_lost_since(const struct inode *ip, u64 *told, bool fsync)
{
    return lost_tell(ip->fs->disk, owner_of(ip), told, fsync);
}

/* ---- symbolic links ---- */

/* Copy a symbolic link's text out. A short one lies in the inode, a longer one
 * in a block. */
int read_link(struct inode *ip, struct uio *u)
{
    u64 n = MIN(ip->size, u->left);
    accessed(ip);
    if (!has_blocks(ip->mode, ip->size))
        return uio_move(ip->block, n, u);
    u32 blkno;
    int error = map(ip, 0, &blkno);
    if (!error && !blkno)
        error = fs_damaged(ip->fs, "link %u has no text", ip->ino);
    return error ?: copy_out(ip, bread(ip->fs->disk, blkno), n, u);
}
