/*
 * Flushing: which dirty buffers are written now (bio.h), and the flush_ calls
 * by which policies say so (update.h).
 *
 * - A flush goes in two steps. First what is due moves to the pending list, in
 *   one go under the lock; then that list is written, a batch under one plug at
 *   a time. So its cost is linear in the blocks looked at, and blocks that
 *   become dirty meanwhile are left to the next flush. (Mogul's smoothsync
 *   works like this. 4.2BSD did not: policies/update/bflush.c.)
 * - A block whose write fails is dirty again. So that a flush ends, it tries no
 *   block whose last write is newer than the flush; all flushes of one scan of
 *   a policy count as one. A flush that nobody waits for leaves it alone until
 *   its pause (lost.h) has ended. Then the daemon tries it under any policy.
 */
#include "kernel/cache/bcache.h"
#include "kernel/measure/hist.h"

#define BATCH 64 /* writes started under one plug */

COUNTER(scanned, "bio.scanned", "blocks", "looked at by flushes");
COUNTER(due, "bio.due", "blocks", "found due by flushes");
COUNTER(sleeps, "bio.flush_sleeps", "sleeps", "of flushes, for a busy buffer");
HISTOGRAM(age_flushed, "bio.age_flushed", "ns",
          "a dirty block's, when a scan wrote it");
HISTOGRAM(burst, "bio.burst", "blocks", "that a flush or look started");

/* Record that a flush starts the writes of this many blocks; d is NULL for all
 * disks. */
void bio_burst(const struct disk *d, u64 blocks)
{
    if (!blocks)
        return;
    hist_add(&burst, blocks);
    trace(TRACE_flush, d ? d->id : 0, 0, myproc()->pid, blocks);
}

/* ---- starting writes. Caller holds the lock. ---- */

enum kinds { ALL, METADATA = 1 << false, DATA = 1 << true };

/* Which dirty buffers a flush writes. */
struct wanted {
    struct disk *disk;   /* NULL: any */
    u64 owner;           /* 0: any */
    enum kinds skips;    /* not written; the bit of a kind: 1 << block.meta */
    u64 before_ns;       /* dirty at that time */
    u64 last_write;      /* and not tried by a later write than this */
    struct flush *flush; /* the flush that waits for them, or NULL */
};

/* True if the flush is about this buffer: of the disk and the owner, of no kind
 * that is left out, dirty by before_ns, and not written after last_write. */
static bool is_wanted(const struct buf *b, const struct wanted *w)
{
    return concerns(b, w->disk, w->owner) && !(w->skips >> b->block.meta & 1) &&
           b->block.dirtied_ns <= w->before_ns &&
           b->write_number <= w->last_write;
}

/* Submit the transfers of n prepared buffers, each disk's together. */
static void submit(struct buf **batch, u32 n)
{
    for (u32 i = 0; i < n; i++) {
        struct disk *d = batch[i]->disk;
        if (!i || batch[i - 1]->disk != d)
            disk_plug(d);
        disk_submit(d, batch[i]->io);
        if (i + 1 == n || batch[i + 1]->disk != d)
            disk_unplug(d);
    }
}

/* Prepare the write of a buffer that this process has. */
static void start(struct buf *b, const struct wanted *w)
{
    u64 age_ns = buf_prepare_write(b, false);
    b->io->request.waited = w->flush;
    b->flush = w->flush;
    if (!w->flush) {
        hist_add(&age_flushed, age_ns);
        return;
    }
    w->flush->started++;
    w->flush->outstanding++;
}

/* Wait for a busy buffer and take it. False, and not taken: the delayed write
 * that was there is gone. */
static bool get_dirty(struct buf *b, const struct wanted *w)
{
    u64 dirtied_ns = b->block.dirtied_ns;
    buf_get(b);
    bool dirty = b->flags & B_DELWRI && b->block.dirtied_ns == dirtied_ns;
    if (dirty && is_wanted(b, w))
        return true;
    buf_let_go(b);
    return false;
}

/* Return the buffer that n links: on its owner's list, or on the list by
 * age. */
static struct buf *item(struct list *n, bool by_owner)
{
    return by_owner ? LIST_ITEM(n, struct buf, owned)
                    : LIST_ITEM(n, struct buf, dirty);
}

/* Start the writes of wanted buffers on the list, up to a batch. A busy buffer
 * is waited for and ends the batch, because the list changes meanwhile. False
 * when none is left. The lock is released meanwhile. */
static bool start_batch(struct list *l, bool by_owner, const struct wanted *w)
{
    struct buf *batch[BATCH];
    u32 n = 0;
    for (struct list *i = l->next, *next; i != l && n < BATCH; i = next) {
        struct buf *b = item(i, by_owner);
        next = i->next;
        if (!is_wanted(b, w))
            continue;
        if (b->flags & B_BUSY) {
            if (n)
                break;
            count(&sleeps, 1);
            if (!get_dirty(b, w))
                return true;
            next = l;
        } else {
            buf_take(b);
        }
        start(b, w);
        batch[n++] = b;
    }
    if (!n)
        return false;
    spin_unlock(&bcache.lock);
    submit(batch, n);
    spin_lock(&bcache.lock);
    return true;
}

/* ---- flushes that are waited for ---- */

/* Wait for the writes that others have started so far. Caller holds the
 * lock. */
static void wait_writing(struct disk *d, u64 owner)
{
    u64 last = bcache.write_number;
    for (struct list *n = bcache.writing.next; n != &bcache.writing;) {
        struct buf *b = LIST_ITEM(n, struct buf, dirty);
        if (b->write_number > last)
            return;
        n = n->next;
        if (concerns(b, d, owner)) {
            sleep_on(&b->io, &bcache.lock);
            n = bcache.writing.next;
        }
    }
}

/* True if a wanted buffer is dirty because its last write failed, whenever it
 * was tried. That is rare, so all buffers are looked at then. Caller holds the
 * lock. */
static bool one_failed(struct wanted *w)
{
    w->last_write = bcache.write_number;
    for (u64 i = 0; bcache.nfailed && i < bcache.used; i++)
        if (bcache.bufs[i].failed_ns && is_wanted(&bcache.bufs[i], w))
            return true;
    return false;
}

/* Write what is dirty of the disk and kind, or of the owner, and wait. First
 * wait for the writes that others had started: a block whose write fails is
 * dirty again, and is tried here. Wait again at the end, because a scheduler
 * may have taken up wanted blocks as candidate writes meanwhile. */
static int flush(struct disk *d, u64 owner, enum kinds kinds)
{
    struct flush f = {0};
    struct wanted w = {d, owner, kinds, clock_ns(), 0, &f};
    spin_lock(&bcache.lock);
    w.last_write = bcache.write_number;
    wait_writing(d, owner);
    if (owner) {
        while (start_batch(owner_list(owner), true, &w))
            ;
    } else {
        while (start_batch(&bcache.pending, false, &w) ||
               start_batch(&bcache.delayed, false, &w))
            ;
    }
    while (f.outstanding)
        sleep_on(&f, &bcache.lock);
    wait_writing(d, owner);
    if (one_failed(&w))
        f.error = -EIO;
    spin_unlock(&bcache.lock);
    bio_burst(d, f.started);
    return f.error;
}

/* Write all that is dirty on the disk, and wait. Return 0 or -EIO. */
int bflush(struct disk *d)
{
    return flush(d, 0, ALL);
}

/* Write all dirty blocks of the owner, and wait. Return 0 or -EIO. */
int bflush_owner(struct disk *d, u64 owner)
{
    /* A non-volatile cache need not be flushed. */
    return write_keeps() ? 0 : flush(d, owner, ALL);
}

/* Write all dirty metadata, or all dirty data, and wait. Return 0 or -EIO. */
int bflush_kind(struct disk *d, bool metadata)
{
    return write_keeps() ? 0 : flush(d, 0, metadata ? METADATA : DATA);
}

/* ---- flushes that are not waited for ---- */

/* Move a dirty buffer to the pending list, unless it is there, was tried since
 * last_write, is in the pause after a failure, or is held back. Returns 1 if it
 * was moved, else 0. Caller holds the lock. */
static u64 make_due(struct buf *b, u64 last_write)
{
    if (!(b->flags & B_DELWRI) || !b->block.dirtied_ns ||
        b->flags & B_PENDING || b->write_number > last_write ||
        in_pause(b, clock_ns()))
        return 0;
    if (!bcache.releasing &&
        write_holds_back(b, bcache.npending[b->block.disk]))
        return 0;
    assert(!(b->flags & B_WRITE)); /* 3 */
    b->flags |= B_PENDING;
    list_remove(&b->dirty);
    list_push_back(&bcache.pending, &b->dirty);
    bcache.npending[b->block.disk]++;
    return 1;
}

/* Write the pending list. Caller holds the lock. */
static void start_pending(struct disk *d, u64 last_write)
{
    struct wanted w = {d, 0, false, NEVER_NS, last_write, NULL};
    while (start_batch(&bcache.pending, false, &w))
        ;
}

/* Make due, the oldest first, up to `most` of the disk's buffers that were
 * dirty at before_ns. Returns how many. Caller holds the lock. */
static u64 make_oldest_due(const struct disk *d, u64 before_ns, u64 most,
                           u64 last_write)
{
    u64 n = 0;
    for (struct list *i = bcache.delayed.next, *next;
         i != &bcache.delayed && n < most; i = next) {
        struct buf *b = LIST_ITEM(i, struct buf, dirty);
        next = i->next;
        count(&scanned, 1);
        if (b->block.dirtied_ns > before_ns)
            break;
        if (concerns(b, d, 0))
            n += make_due(b, last_write);
    }
    return n;
}

/* Return the time that was age_ns ago; 0 if that is before the boot. */
static u64 ago(u64 age_ns)
{
    u64 now_ns = clock_ns();
    return now_ns > age_ns ? now_ns - age_ns : 0;
}

/* Start the writes of all blocks that have been dirty for age_ns. Return their
 * number; do not wait. */
u64 bflush_smooth(struct disk *d, u64 age_ns)
{
    spin_lock(&bcache.lock);
    u64 last_write = bcache.write_number;
    u64 n = make_oldest_due(d, ago(age_ns), UNLIMITED, last_write);
    if (n)
        start_pending(d, last_write);
    spin_unlock(&bcache.lock);
    count(&due, n);
    bio_burst(d, n);
    return n;
}

/* Start again the failed writes whose pause has ended. Return when the next
 * pause ends, or NEVER_NS. */
u64 bflush_retry(void)
{
    u64 next_ns = NEVER_NS;
    HOLD(spin, &bcache.lock);
    u64 last_write = bcache.write_number, left = bcache.nfailed;
    for (struct list *i = bcache.delayed.next, *next;
         left && i != &bcache.delayed; i = next) {
        struct buf *b = LIST_ITEM(i, struct buf, dirty);
        next = i->next;
        if (!b->failed_ns)
            continue;
        left--;
        if (b->flags & B_BUSY || !make_due(b, last_write))
            next_ns = MIN(next_ns, b->retry_ns);
    }
    start_pending(NULL, last_write);
    return next_ns;
}

/* ---- the flush_ calls ---- */

/* Return since when the oldest dirty block is dirty, or NEVER_NS if none is. */
u64 oldest_dirty_ns(void)
{
    HOLD(spin, &bcache.lock);
    struct list *first = list_first(&bcache.delayed);
    return first ? LIST_ITEM(first, struct buf, dirty)->block.dirtied_ns
                 : NEVER_NS;
}

/* Write the n blocks found due; returns n. Releases the lock. */
static u64 finish(u64 n)
{
    if (n)
        start_pending(NULL, bcache.scan_number);
    bcache.scan_started += n;
    spin_unlock(&bcache.lock);
    count(&due, n);
    return n;
}

/* Show one buffer; false: show no more. Caller holds the lock. */
static bool show(struct buf *b, visit_fn *visit, u64 now_ns, u64 *n)
{
    count(&scanned, 1);
    enum visit answer = visit(&b->block, now_ns);
    bool flush = answer == FLUSH || answer == FLUSH_LAST;
    u64 made = flush ? make_due(b, bcache.scan_number) : 0;
    *n += made;
    return answer != STOP && !(answer == FLUSH_LAST && made);
}

/* Show the policy the dirty blocks, the oldest first, until it says stop. Start
 * the writes that it asks for, and return their number. */
u64 flush_by_age(visit_fn *visit)
{
    u64 now_ns = clock_ns(), n = 0;
    bool more = true;
    spin_lock(&bcache.lock);
    for (struct list *i = bcache.delayed.next, *next;
         more && i != &bcache.delayed; i = next) {
        next = i->next;
        more = show(LIST_ITEM(i, struct buf, dirty), visit, now_ns, &n);
    }
    return finish(n);
}

/* Show the policy the dirty ones of `most` buffers from number first, until it
 * says stop. Start the writes that it asks for, and return their number. */
u64 flush_in_cache(u64 first, u64 most, visit_fn *visit)
{
    u64 now_ns = clock_ns(), n = 0;
    bool more = true;
    spin_lock(&bcache.lock);
    for (u64 i = first; more && i < bcache.used && i - first < most; i++)
        more = show(&bcache.bufs[i], visit, now_ns, &n);
    return finish(n);
}

/* Start the writes of all blocks that have been dirty for age_ns. Return their
 * number. */
u64 flush_older(u64 age_ns)
{
    spin_lock(&bcache.lock);
    return finish(
        make_oldest_due(NULL, ago(age_ns), UNLIMITED, bcache.scan_number));
}

/* Start the writes of the `most` oldest dirty blocks. Return their number. */
u64 flush_oldest(u64 most)
{
    spin_lock(&bcache.lock);
    return finish(make_oldest_due(NULL, NEVER_NS, most, bcache.scan_number));
}

u64 flush_all(void)
{
    return flush_oldest(UNLIMITED);
}

/* Move all dirty blocks of the owner to the pending list. Return their number.
 * Caller holds bcache.lock. */
static u64 make_owner_due(u64 owner)
{
    u64 n = 0;
    ITEM_EACH (struct buf, b, owner_list(owner), owned) {
        count(&scanned, 1);
        if (b->block.owner == owner)
            n += make_due(b, bcache.scan_number);
    }
    return n;
}

/* Start the writes of the blocks on the list, and of all dirty blocks of their
 * files. Return their number. */
u64 flush_files(struct list *l)
{
    u64 n = 0;
    spin_lock(&bcache.lock);
    ITEM_EACH (struct buf, b, l, block.owing) {
        count(&scanned, 1);
        u64 made = make_due(b, bcache.scan_number);
        n += made;
        if (made && b->block.owner)
            n += make_owner_due(b->block.owner);
    }
    return finish(n);
}
