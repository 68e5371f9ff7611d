/*
 * The blocks of one request (request.h): what a file system asks of the cache
 * for a read or a write of a file whose block i is the disk's block i.
 *
 * - The calls of the cache, and their order, are those of kernel/ext2/data.c,
 *   without its metadata. tests/sluice/test_blocks.py compares the two.
 * - No byte is copied: a trace has no contents.
 */
#include "sluice/blocks/request.h"

#include "kernel/cache/bcache.h"

#define WINDOW     32 /* as in data.c */
#define CACHE_LINE 64
#define FILE_OWNER 1 /* of all blocks */

_Static_assert(sizeof(struct buf) % CACHE_LINE == 0, "lines are not shared");

/* The progress of one read. */
struct reading {
    struct disk *disk;
    struct streams *streams;
    bool planned; /* the prefetch policy was asked */
    u64 next;     /* the first block not yet started */
    u64 end;      /* the read ends before this block */
    u64 disk_end; /* and the disk before this one */
    struct readahead readahead;
    u64 ahead, nahead; /* its blocks: those started; all */
    bool by_block;
};

/* Ask the prefetch policy what to read ahead, once for a request. */
static void plan(struct reading *r, u64 first, enum found found)
{
    struct access access = {.block = first,
                            .nblocks = r->end - first,
                            .file_blocks = r->disk_end,
                            .block_bytes = BLOCK_BYTES,
                            .found = found};
    r->readahead = prefetch_readahead(r->disk, r->streams, &access);
    r->nahead = MIN(r->readahead.n * r->readahead.times, bio_ahead_most());
    r->planned = true;
}

/* Write the numbers of up to WINDOW blocks, from *next on and before end. */
static u32 list_asked(u64 *next, u64 end, u64 out[WINDOW])
{
    u32 n = 0;
    while (*next < end && n < WINDOW)
        out[n++] = (*next)++;
    return n;
}

/* List the next blocks of a read-ahead request, a window's at most. Returns how
 * many. */
static u32 list_ahead(const struct readahead *w, u64 *next, u64 end,
                      u64 out[WINDOW])
{
    u32 n = 0;
    while (*next < end && n < WINDOW)
        out[n++] = readahead_block(w, (*next)++);
    return n;
}

/* When the reader has come to half of the window, list the next blocks that it
 * asks for; after the last of these, blocks to read ahead. */
static struct further_reads find_further(struct reading *r, u64 block,
                                         u64 out[2 * WINDOW])
{
    struct further_reads further = {
        .asked = out, .ahead = out + WINDOW, .separate = r->by_block};
    if (r->next <= block + WINDOW / 2)
        further.nasked = list_asked(&r->next, r->end, out);
    if (r->next >= r->end)
        further.nahead =
            list_ahead(&r->readahead, &r->ahead, r->nahead, out + WINDOW);
    return further;
}

/* Read a block, and start further ones beside it. */
static int read_block(struct reading *r, u64 block)
{
    u64 out[2 * WINDOW];
    enum found found;
    struct buf *b = bcached(r->disk, block, &found);
    if (!r->planned)
        plan(r, block, found);
    if (b)
        brelse(b);
    struct further_reads further = find_further(r, block, out);
    if (b) {
        bstart(r->disk, &further);
        return 0;
    }
    b = breada(r->disk, block, &further);
    if (!b)
        return -EIO;
    brelse(b);
    return 0;
}

/* Read the blocks from first to end, which the prefetch policy sees as one
 * read. */
static int read_blocks(struct disk *d, struct streams *s, u64 first, u64 end,
                       bool by_block)
{
    struct reading r = {
        .disk = d,
        .streams = s,
        .next = first + 1,
        .end = end,
        .disk_end = d->nsectors / (BLOCK_BYTES / SECTOR_BYTES),
        .by_block = by_block,
    };
    int error = 0;
    for (u64 block = first; block < end && !error; block++)
        error = read_block(&r, block);
    while (r.ahead < r.nahead) {
        u64 out[WINDOW];
        u32 n = list_ahead(&r.readahead, &r.ahead, r.nahead, out);
        bprefetch(d, out, n);
    }
    return error;
}

static int do_read(struct disk *d, struct streams *s, u64 first, u64 end)
{
    int error = 0;
    while (first < end && !error) {
        bool by_block = prefetch_by_block();
        u64 stop = by_block ? first + 1 : end;
        error = read_blocks(d, s, first, stop, by_block);
        first = stop;
    }
    return error;
}

/* A block that is written in part is read first. */
static int write_block(struct disk *d, u64 block, u64 from, u64 to)
{
    bool whole = to - from == BLOCK_BYTES;
    struct buf *b = whole ? getblk(d, block) : bread(d, block);
    return b ? bwrite_data(b, FILE_OWNER, to == BLOCK_BYTES) : -EIO;
}

static int do_write(struct disk *d, u64 offset, u64 end)
{
    int error = 0;
    while (offset < end && !error) {
        u64 from = offset % BLOCK_BYTES;
        u64 to = MIN(BLOCK_BYTES, from + (end - offset));
        error = write_block(d, offset / BLOCK_BYTES, from, to);
        offset += to - from;
    }
    return error;
}

void request_warm_bucket(const struct disk *d, u64 offset)
{
    __builtin_prefetch(buf_bucket(d->id, offset / BLOCK_BYTES));
}

/* Fetch the head of a block's buffer into the processor's cache before it is
 * needed. */
void request_warm_buffer(const struct disk *d, u64 offset)
{
    const char *b = (const char *)*buf_bucket(d->id, offset / BLOCK_BYTES);
    __builtin_prefetch(b);
    __builtin_prefetch(b + CACHE_LINE);
    __builtin_prefetch(b + 2 * CACHE_LINE);
}

/* Fetch what the buffer's head points to. */
void request_warm_links(const struct disk *d, u64 offset)
{
    const struct buf *b = *buf_bucket(d->id, offset / BLOCK_BYTES);
    if (!b)
        return;
    __builtin_prefetch(b->block.link.prev);
    __builtin_prefetch(b->block.link.next);
    __builtin_prefetch(b->hash);
}

/* Return how many of the bytes are cached, or on their way. */
u64 request_hit_bytes(const struct disk *d, u64 offset, u64 bytes)
{
    u64 end = offset + bytes, found = 0;
    HOLD(spin, &bcache.lock);
    while (offset < end) {
        u64 block = offset / BLOCK_BYTES;
        u64 next = MIN(end, (block + 1) * BLOCK_BYTES);
        if (found_of(buf_lookup(d, block)) != MISSING)
            found += next - offset;
        offset = next;
    }
    return found;
}

int request_do(struct disk *d, struct streams *s, u64 offset, u64 bytes,
               bool write)
{
    u64 end = offset + bytes;
    if (write)
        return do_write(d, offset, end);
    return do_read(d, s, offset / BLOCK_BYTES,
                   (end + BLOCK_BYTES - 1) / BLOCK_BYTES);
}
