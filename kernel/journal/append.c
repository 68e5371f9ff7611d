/*
 * Appending a transaction to a log.
 *
 * Order: revokes, descriptors and copies in one go; then a barrier; then the
 * commit block, which alone makes the transaction count; then a barrier. The
 * caller has written the data that the blocks lead to before, and writes none
 * of the blocks home until this has returned.
 *
 * - A copy that begins with the journal's magic is escaped in a copy of its
 *   own; all others are written from where they are.
 * - Only the last tag of a descriptor is marked as such: recovery drops a
 *   transaction without that mark.
 * - Nothing is changed if there is no room: the caller makes some, by writing
 *   home what is in the log, and moving the log's start.
 */
#include "kernel/journal/journal.h"
#include "kernel/base/string.h"

/* A transaction being written. */
struct appending {
    struct ring *ring;
    u32 at, used;   /* next place in the log; places used */
    struct io *ios; /* for each place */
    u8 *next;       /* the next block that is made here */
};

/* The tags and revokes that fit into a block. */
#define MOST_TAGS                                                         \
    ((bio_block_bytes() - sizeof(struct journal_head) - TAG_UUID_BYTES) / \
     sizeof(struct journal_tag))
#define MOST_REVOKES \
    ((bio_block_bytes() - sizeof(struct journal_revokes)) / sizeof(u32))

/* True if the block could be taken for one of the journal's own. */
bool journal_escapes(const void *data)
{
    return *(const u32 *)data == be32(JOURNAL_MAGIC);
}

/* Return the blocks of the log that a transaction takes: the blocks themselves,
 * their descriptors and the blocks of revokes, both rounded up, and the commit
 * block. */
u32 journal_room(u32 nblocks, u32 nrevokes)
{
    return nblocks + (nblocks + MOST_TAGS - 1) / MOST_TAGS +
           (nrevokes + MOST_REVOKES - 1) / MOST_REVOKES + 1;
}

/* Queue a write of this memory to the log's next block. */
static void place(struct appending *a, const void *data)
{
    const struct log *log = a->ring->log;
    u32 sectors = bio_block_bytes() / SECTOR_BYTES;
    a->ios[a->used++] = (struct io){
        .request = {.sector = (u64)log->where[a->at] * sectors,
                    .nsectors = sectors,
                    .write = true},
        .span.data = (void *)data,
    };
    a->at = a->at + 1 < a->ring->blocks ? a->at + 1 : a->ring->first;
}

/* Return a block of zeros, in memory of the transaction. */
static void *make(struct appending *a)
{
    void *block = a->next;
    a->next += bio_block_bytes();
    return memset(block, 0, bio_block_bytes());
}

/* Add a block of the journal's own, with its head filled in. Return its
 * memory. */
static void *make_head(struct appending *a, enum journal_block type)
{
    struct journal_head *h = make(a);
    *h = (struct journal_head){be32(JOURNAL_MAGIC), be32(type),
                               be32(a->ring->sequence)};
    place(a, h);
    return h;
}

/* Add one block that revokes the n blocks. */
static void add_revokes(struct appending *a, const u32 *revokes, u32 n)
{
    struct journal_revokes *r = make_head(a, JOURNAL_REVOKE);
    r->bytes = be32(sizeof(*r) + n * sizeof(u32));
    for (u32 i = 0; i < n; i++)
        ((u32 *)(r + 1))[i] = be32(revokes[i]);
}

/* Add the copy of one block, escaped if it begins with the journal's magic. */
static void add_copy(struct appending *a, const struct logged *l)
{
    void *data = (void *)l->data;
    if (journal_escapes(data)) {
        data = memcpy(make(a), data, bio_block_bytes());
        *(u32 *)data = 0;
    }
    place(a, data);
}

/* Add a descriptor of n blocks, and their copies. */
static void add_blocks(struct appending *a, const struct logged *l, u32 n)
{
    struct journal_tag *tag =
        make_head(a, JOURNAL_DESCRIPTOR) + sizeof(struct journal_head);
    for (u32 i = 0; i < n; i++) {
        u32 flags = (i ? TAG_SAME_UUID : 0) | (i == n - 1 ? TAG_LAST : 0) |
                    (journal_escapes(l[i].data) ? TAG_ESCAPED : 0);
        *tag = (struct journal_tag){be32(l[i].home), 0, be16(flags)};
        tag += 1 + (i ? 0 : TAG_UUID_BYTES / sizeof(*tag));
        add_copy(a, &l[i]);
    }
}

/* Write all but the commit block, and then that. */
static int write_out(struct appending *a)
{
    struct disk *d = a->ring->log->disk;
    make_head(a, JOURNAL_COMMIT);
    /* A commit block alone is appended by tests only. */
    if (a->used > 1)
        TRY(disk_transfer(d, a->ios, a->used - 1));
    TRY(disk_order(d));
    TRY(disk_transfer(d, &a->ios[a->used - 1], 1));
    return disk_order(d);
}

/* Return the bytes of memory, not of the log: an I/O for each block of the log,
 * and the blocks that are made here. Most copies are written from where they
 * are. */
u64 journal_bytes(u32 nblocks, u32 nescaped, u32 nrevokes)
{
    u64 room = journal_room(nblocks, nrevokes);
    /* Made here: descriptors, revokes, commit block, and escaped copies. */
    u64 own = room - nblocks + nescaped;
    return own * bio_block_bytes() + room * sizeof(struct io);
}

/* Write one transaction to the log, and return when it is durable; -ENOSPC,
 * with nothing written, if the log lacks the room. */
int journal_append(struct ring *ring, void *memory, const struct logged *blocks,
                   u32 n, const u32 *revokes, u32 nrevokes)
{
    u32 room = journal_room(n, nrevokes);
    if (room > ring->free)
        return -ENOSPC;
    void *made = memory + room * sizeof(struct io);
    struct appending a = {ring, ring->head, .ios = memory, .next = made};
    for (u32 i = 0; i < nrevokes; i += MOST_REVOKES)
        add_revokes(&a, revokes + i, MIN(nrevokes - i, MOST_REVOKES));
    for (u32 i = 0; i < n; i += MOST_TAGS)
        add_blocks(&a, blocks + i, MIN(n - i, MOST_TAGS));
    TRY(write_out(&a));
    ring->head = a.at;
    ring->free -= a.used;
    ring->sequence++;
    return 0;
}
