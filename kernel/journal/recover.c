/*
 * Recovery: the whole transactions of a log are replayed, in their order.
 *
 * The log is walked three times: to find its end and count the revokes; to
 * check what the transactions say and gather their revokes; to copy the blocks
 * home. So a log that is wrong is refused before anything is changed.
 *
 * - The end is the first block that is not where a head with the expected
 *   sequence number should be, or of no known type. A transaction that has no
 *   commit block there does not count, nor do its revokes.
 * - A revoke in a transaction drops the block's copies in that transaction, too
 *   and in all before it, but none that comes later. Revokes count whether or
 *   not the superblock has their feature: Linux sets the bit late.
 * - A commit block may stand alone: it ends an empty transaction.
 * - A walk ends when it has come round the ring, whatever the log says.
 * - At most one buffer is held. A damaged disk may name a block twice.
 *
 * Power cut: the homes are on the disk before the log is emptied, and replaying
 * a log again does no harm.
 */
#include "kernel/journal/journal.h"
#include "kernel/machine/mem.h"
#include "kernel/base/string.h"

/* A block and the last transaction that revokes it. */
struct revoke {
    u64 key; /* blkno + 1; 0: unused */
    u32 sequence;
};

struct replay {
    const struct log *log;
    struct recovered *found;
    struct journal_super super; /* as on the disk */
    u32 first, blocks, start;   /* of the ring */
    u32 sequence, end;          /* of the first; the one after the last */
    u32 walked;                 /* blocks in this walk */
    u8 *head, *copy;            /* a block each */
    struct revoke *revokes;     /* a hash, at most half full */
    u64 nrevokes, slots;        /* at most in the log; a power of two */
};

/* The functions that a walk calls for each kind of block; NULL: none. */
struct pass {
    int (*tag)(struct replay *, u32 home, u32 flags, u32 at, u32 sequence);
    int (*revoke)(struct replay *, u32 blkno, u32 sequence);
};

/* ---- the log's blocks ---- */

/* Read the first bytes of block `at` of the log. Return 0 or -EIO. */
int journal_read(const struct log *log, u32 at, void *to, u32 bytes)
{
    struct buf *b = bread(log->disk, log->where[at]);
    if (!b)
        return -EIO;
    memcpy(to, b->data, bytes);
    brelse(b);
    return 0;
}

/* Return the next block of the ring. */
static u32 after(struct replay *r, u32 at)
{
    r->walked++;
    return at + 1 < r->blocks ? at + 1 : r->first;
}

/* ---- walking ---- */

/* Call the pass's function for each tag of the descriptor in r->head. *at moves
 * past the copies that the tags name. Without a pass only that. */
static int each_tag(struct replay *r, const struct pass *pass, u32 sequence,
                    u32 *at)
{
    u32 byte = sizeof(struct journal_head), flags = 0;
    while (byte + sizeof(struct journal_tag) <= bio_block_bytes() &&
           !(flags & TAG_LAST)) {
        struct journal_tag *tag = (struct journal_tag *)(r->head + byte);
        flags = be16(tag->flags);
        if (pass && pass->tag)
            TRY(pass->tag(r, be32(tag->blkno), flags, *at, sequence));
        *at = after(r, *at);
        byte += sizeof(*tag) + (flags & TAG_SAME_UUID ? 0 : TAG_UUID_BYTES);
    }
    return 0;
}

/* Call the pass's function for each block that r->head revokes. */
static int each_revoke(struct replay *r, const struct pass *pass, u32 sequence)
{
    u32 bytes = be32(((struct journal_revokes *)r->head)->bytes);
    if (bytes > bio_block_bytes()) {
        r->found->wrong = "a block of revokes has a wrong length";
        return -EIO;
    }
    for (u32 byte = sizeof(struct journal_revokes); byte + 4 <= bytes;
         byte += 4)
        TRY(pass->revoke(r, be32(*(u32 *)(r->head + byte)), sequence));
    return 0;
}

/* Return the kind of the block at this place of the log (enum journal_block);
 * 0: it is no part of the transaction; -EIO. */
static int type_at(struct replay *r, u32 at, u32 sequence)
{
    const struct journal_revokes *h = (struct journal_revokes *)r->head;
    TRY(journal_read(r->log, at, r->head, bio_block_bytes()));
    u32 type = be32(h->head.type);
    if (be32(h->head.magic) != JOURNAL_MAGIC || type > JOURNAL_REVOKE ||
        be32(h->head.sequence) != sequence)
        return 0;
    if (type == JOURNAL_REVOKE)
        r->nrevokes += MIN(be32(h->bytes), bio_block_bytes()) / sizeof(u32);
    return type;
}

/* Walk over the transactions before r->end; without a pass, find it. */
static int walk(struct replay *r, const struct pass *pass)
{
    u32 at = r->start, sequence = r->sequence;
    r->walked = 0;
    while (r->walked < r->blocks && (!pass || sequence != r->end)) {
        int type = type_at(r, at, sequence);
        if (type < 0)
            return type;
        at = after(r, at);
        if (type == JOURNAL_DESCRIPTOR)
            TRY(each_tag(r, pass, sequence, &at));
        else if (type == JOURNAL_REVOKE && pass && pass->revoke)
            TRY(each_revoke(r, pass, sequence));
        else if (type == JOURNAL_COMMIT)
            sequence++;
        else if (type != JOURNAL_REVOKE)
            break;
    }
    /* With a pass, the walk has ended there anyway, if the disk reads alike. */
    if (!pass)
        r->end = sequence;
    return 0;
}

/* ---- revokes ---- */

/* Return a block's slot in the hash table of revokes, or the free slot where it
 * belongs. A key is 1 more than the block's number, because 0 marks a free
 * slot. */
static struct revoke *slot_of(const struct replay *r, u32 blkno)
{
    u64 key = blkno + 1UL;
    u64 i = key * 0x9e3779b97f4a7c15UL & (r->slots - 1);
    while (r->revokes[i].key && r->revokes[i].key != key)
        i = (i + 1) & (r->slots - 1);
    return &r->revokes[i];
}

/* Note that the block is revoked up to this transaction. */
static int gather_revoke(struct replay *r, u32 blkno, u32 sequence)
{
    *slot_of(r, blkno) = (struct revoke){blkno + 1UL, sequence};
    return 0;
}

/* True if a revoke of this transaction or of a later one drops the block's
 * copy. */
static bool is_revoked(const struct replay *r, u32 home, u32 sequence)
{
    const struct revoke *v = slot_of(r, home);
    return v->key && (i32)(v->sequence - sequence) >= 0;
}

/* ---- the passes ---- */

/* Refuse the log if it would write past the file system. */
static int check_tag(struct replay *r, u32 home, u32, u32, u32)
{
    if (home < r->log->fs_blocks)
        return 0;
    r->found->wrong = "a block has its home past the file system";
    return -EIO;
}

/* Copy block `at` of the log to its home, unless it is revoked. */
static int replay_tag(struct replay *r, u32 home, u32 flags, u32 at,
                      u32 sequence)
{
    if (is_revoked(r, home, sequence)) {
        r->found->revoked++;
        return 0;
    }
    TRY(journal_read(r->log, at, r->copy, bio_block_bytes()));
    if (flags & TAG_ESCAPED)
        *(u32 *)r->copy = be32(JOURNAL_MAGIC);
    struct buf *b = getblk(r->log->disk, home);
    memcpy(b->data, r->copy, bio_block_bytes());
    bdwrite(b, 0);
    r->found->blocks++;
    return 0;
}

/* Gather the revokes in a hash, at most half full, then copy the blocks
 * home. */
static int replay(struct replay *r)
{
    static const struct pass gathering = {check_tag, gather_revoke};
    static const struct pass replaying = {.tag = replay_tag};
    for (r->slots = PAGE_SIZE / sizeof(*r->revokes);
         r->slots < 2 * r->nrevokes;)
        r->slots *= 2;
    u64 bytes = r->slots * sizeof(*r->revokes);
    r->revokes = mem_clear(mem_reserve(bytes), bytes);
    TRY(r->revokes ? 0 : -ENOMEM);
    int error = walk(r, &gathering) ?: walk(r, &replaying);
    mem_release(r->revokes, bytes);
    return error;
}

/* ---- the superblock ---- */

/* Write the log's superblock, and wait until it is durable. start 0: the log is
 * empty. */
int journal_write_super(const struct log *log, struct journal_super *s,
                        u32 start, u32 sequence)
{
    struct buf *b = getblk(log->disk, log->where[0]);
    s->start = be32(start);
    s->sequence = be32(sequence);
    memset(b->data, 0, bio_block_bytes());
    memcpy(b->data, s, sizeof(*s));
    return bwrite_stable(b) ?: disk_order(log->disk);
}

/* Return 0 if the log can be replayed (writes: also written), otherwise an
 * error, with *why set. */
int journal_check_super(const struct log *log, const struct journal_super *s,
                        bool writes, const char **why)
{
    u32 type = be32(s->head.type), blocks = be32(s->blocks);
    *why = "its superblock makes no sense";
    if (be32(s->head.magic) != JOURNAL_MAGIC ||
        (type != JOURNAL_SUPER_1 && type != JOURNAL_SUPER_2) ||
        be32(s->block_bytes) != bio_block_bytes() || blocks > log->blocks ||
        be32(s->first) >= blocks || be32(s->start) >= blocks)
        return -EIO;
    *why = "it has features that are not handled";
    if (type == JOURNAL_SUPER_2 &&
        (be32(s->feature_incompat) & ~JOURNAL_INCOMPAT_REVOKE ||
         s->feature_ro_compat || (writes && s->feature_compat)))
        return -EINVAL;
    *why = "it is not empty, is too short, or has a superblock of version 1";
    if (writes && (s->start || type != JOURNAL_SUPER_2 || !s->first ||
                   be32(s->first) > JOURNAL_BLOCKS_MIN / 2 ||
                   blocks < JOURNAL_BLOCKS_MIN))
        return -EINVAL;
    *why = NULL;
    return 0;
}

/* Take over what the superblock says, and check it. */
static int check_super(struct replay *r)
{
    const struct journal_super *s = &r->super;
    r->blocks = be32(s->blocks);
    r->first = be32(s->first);
    r->start = be32(s->start);
    r->sequence = r->end = be32(s->sequence);
    r->found->failed = s->error;
    return journal_check_super(r->log, s, false, &r->found->wrong);
}

/* Empty the log. Its numbers go on: none that is in it may be used again. */
static int empty(struct replay *r)
{
    TRY(bflush(r->log->disk) ?: disk_order(r->log->disk));
    r->found->emptied = true;
    return journal_write_super(r->log, &r->super, 0, r->end + 1);
}

/* Replay the log, or drop its transactions; either way it is empty
 * afterwards. */
static int recover(struct replay *r, bool drop)
{
    TRY(journal_read(r->log, 0, &r->super, sizeof(r->super)));
    int error = check_super(r);
    if (drop && !r->start)
        return 0;
    TRY(error);
    if (r->start)
        TRY(walk(r, NULL) ?: drop ? 0 : replay(r));
    r->found->transactions = r->end - r->sequence;
    return empty(r);
}

/* Replay a log, or drop what is in it. *found says what was there. Return 0 or
 * an error. */
int journal_recover(const struct log *log, bool drop, struct recovered *found)
{
    u32 bytes = bio_block_bytes();
    *found = (struct recovered){0};
    if (!log->blocks)
        return -EIO;
    u8 *two = mem_reserve(2 * bytes);
    if (!two)
        return -ENOMEM;
    struct replay r = {
        .log = log, .found = found, .head = two, .copy = two + bytes};
    int error = recover(&r, drop);
    mem_release(two, 2 * bytes);
    return error;
}
