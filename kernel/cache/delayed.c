/*
 * Delayed writes: the lists of dirty buffers, candidate writes, and how the
 * write of a dirty buffer begins and ends.
 *
 * - make_dirty is the only way to become dirty. The time is set when the
 *   buffer is let go (set_dirtied), if it was clean, and kept until the block
 *   is written or dropped (invariants 3 and 4 of bio.c).
 * - Each dirty buffer that no process has is a candidate write: the scheduler
 *   knows its request and may dispatch it early. It asks reserve_candidate
 *   first, since the buffer may be in use by then.
 * - buf_prepare_write takes the buffer off the lists, write_ended puts it back
 *   if the write failed, as old as it was.
 */
#include "kernel/cache/bcache.h"
#include "kernel/cache/lost.h"
#include "kernel/measure/hist.h"

COUNTER(dirtied, "bio.dirtied", "blocks", "clean to dirty");
COUNTER(absorbed, "bio.absorbed", "blocks", "dirty blocks modified again");
COUNTER(written, "bio.written", "blocks", "writes started");
COUNTER(write_errors, "bio.write_errors", "blocks", "writes that failed");

HISTOGRAM(age_written, "bio.age_written", "ns",
          "a dirty block's, when written");

/* Fill in how many blocks have become dirty and how many were written. */
void delayed_state(struct cache_state *s)
{
    s->dirtied = dirtied.value;
    s->written = written.value;
}

/* Return the list of the dirty buffers of this owner and of others with the
 * same hash. */
struct list *owner_list(u64 owner)
{
    u64 mixed = owner * 0x9e3779b97f4a7c15UL;
    return &bcache.owned[(mixed >> 32) & (OWNER_LISTS - 1)];
}

/* Put a buffer on the delayed-write list, in the order of dirtied_ns: at the
 * end, unless its write has failed, since then it keeps its old time. */
static void delay(struct buf *b)
{
    struct list *at = &bcache.delayed;
    assert(b->flags & B_DELWRI && b->block.dirtied_ns); /* 3 */
    assert(!(b->flags & B_PINNED));
    while (at->prev != &bcache.delayed &&
           LIST_ITEM(at->prev, struct buf, dirty)->block.dirtied_ns >
               b->block.dirtied_ns)
        at = at->prev;
    list_insert_before(at, &b->dirty);
    list_push_back(owner_list(b->block.owner), &b->owned);
    bcache.ndirty++;
    update_dirtied(b);
}

/* Change whether the write policy holds b's block back, and count those. */
void set_held_back(struct buf *b, bool held_back)
{
    bcache.nheld_back += held_back - b->block.held_back;
    b->block.held_back = held_back;
}

/* Take a busy dirty buffer off all lists of dirty ones. It keeps its
 * dirtied_ns, which says how old the data are. */
void undelay(struct buf *b)
{
    assert(b->flags & B_BUSY && b->block.dirtied_ns && bcache.ndirty); /* 3 */
    update_leaves(b);
    disk_remove_candidate(b->disk, buf_io(b));
    list_remove(&b->dirty);
    list_remove(&b->owned);
    bcache.npending[b->block.disk] -= (b->flags & B_PENDING) != 0;
    b->flags &= ~(B_DELWRI | B_PENDING);
    set_held_back(b, false);
    bcache.ndirty--;
}

/* Note since when writes of the block fail, and when to try again: the pause is
 * as long as they have been failing, so it doubles. Its end is rounded up to a
 * multiple of RETRY_NS, so that one scan of the daemon serves many blocks. */
void set_failed(struct buf *b, u64 now_ns)
{
    bcache.nfailed += (now_ns != 0) - (b->failed_ns != 0);
    if (!now_ns || !b->failed_ns)
        b->failed_ns = now_ns;
    if (!now_ns)
        return;
    u64 pause_ns = MIN(now_ns - b->failed_ns, RETRY_MOST_NS);
    b->retry_ns = (now_ns + pause_ns) / RETRY_NS * RETRY_NS + RETRY_NS;
    update_ask_again();
}

/* Make a dirty buffer a candidate write of the scheduler's. */
void buf_add_candidate(struct buf *b)
{
    buf_set_io(b, true, false);
    b->io->request.queued_ns = b->block.dirtied_ns;
    disk_add_candidate(b->disk, b->io);
}

/* Note since when b, which is released, is dirty: now, if it was clean. */
void set_dirtied(struct buf *b)
{
    if (!(b->flags & B_DELWRI)) {
        b->block.dirtied_ns = 0;
    } else if (!b->block.dirtied_ns) {
        b->block.dirtied_ns = clock_ns();
        trace_block_at(b->block.dirtied_ns, TRACE_dirtied, b, b->block.owner);
        count(&dirtied, 1);
        delay(b);
    }
}

/* Make a busy buffer ready to be written. Return how long it was dirty, in
 * ns. */
u64 buf_prepare_write(struct buf *b, bool waited)
{
    u64 now_ns = clock_ns();
    u64 age_ns = b->block.dirtied_ns ? now_ns - b->block.dirtied_ns : 0;
    trace_block_at(now_ns, TRACE_writing, b, age_ns);
    if (b->block.dirtied_ns) {
        hist_add(&age_written, age_ns);
        undelay(b);
    }
    b->flags &= ~B_DELWRI;
    b->write_number = ++bcache.write_number;
    list_push_back(&bcache.writing, &b->dirty);
    bcache.nwriting++;
    count(&written, 1);
    buf_prepare(b, B_WRITE, waited);
    return age_ns;
}

/* The scheduler has chosen a candidate write: prepare it, if the buffer is
 * still dirty and free. By now the buffer may even hold another block. */
bool reserve_candidate(struct io *io, const struct disk *d)
{
    HOLD(spin, &bcache.lock);
    struct buf *b = io->arg;
    bool free = b && (b->flags & (B_DELWRI | B_BUSY)) == B_DELWRI;
    if (!free || b->disk != d || io_queued(io))
        return false;
    buf_take(b);
    buf_prepare_write(b, false);
    io->request.pid = 0;
    return true;
}

/* The write of b failed: b is dirty again, and as old as before. If b was not
 * dirty, it is as old as the write: so a flush that began since tries it. */
static void write_failed(struct buf *b)
{
    count(&write_errors, 1);
    if (!bcache.nfailed)
        kprintf("bio: %s: block %lu cannot be written now: trying again\n",
                b->disk->name, b->block.blkno);
    set_failed(b, clock_ns());
    b->flags |= B_DELWRI | B_VALID;
    if (!b->block.dirtied_ns)
        b->block.dirtied_ns = b->io->request.queued_ns;
    delay(b);
}

/* The write of b has ended: b is clean, or after an error dirty again. Wake the
 * flush that waits for its last write. */
void write_ended(struct buf *b, int error)
{
    assert(bcache.nwriting); /* 7 */
    list_remove(&b->dirty);
    bcache.nwriting--;
    wakeup(&bcache.nwriting);
    if (error) {
        write_failed(b);
    } else {
        b->block.dirtied_ns = 0;
        set_failed(b, 0);
    }
    if (!b->flush)
        return;
    if (error)
        b->flush->error = error;
    if (--b->flush->outstanding == 0)
        wakeup(b->flush);
    b->flush = NULL;
}

/* Note whose block it is, and move a dirty buffer to that owner's list. */
inline void set_owner(struct buf *b, u64 owner, bool meta)
{
    b->block.meta = meta;
    if (b->block.owner == owner)
        return;
    b->block.owner = owner;
    if (b->block.dirtied_ns) {
        list_remove(&b->owned);
        list_push_back(owner_list(owner), &b->owned);
    }
}

/* Make a busy buffer a delayed write and let it go; count the write as absorbed
 * if the block was dirty already. */
void make_dirty(struct buf *b, u64 owner, bool meta, bool held_back)
{
    struct disk *d = b->disk;
    spin_lock(&bcache.lock);
    set_owner(b, owner, meta);
    set_held_back(b, held_back);
    if (b->flags & B_DELWRI) {
        count(&absorbed, 1);
        trace_block(TRACE_absorbed, b, owner);
        buf_io(b)->request.again = true;
    }
    b->flags |= B_DELWRI | B_VALID;
    buf_let_go(b);
    buf_unhold();
    spin_unlock(&bcache.lock);
    disk_poke(d);
}

/* Make the buffer of a metadata block a delayed write, and let it go. */
void bdwrite(struct buf *b, u64 owner)
{
    make_dirty(b, owner, true, b->block.held_back);
}
