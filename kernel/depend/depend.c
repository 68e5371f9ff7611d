/*
 * Which metadata waits for which new blocks (depend.h).
 *
 * - There is a note for each block of metadata that waits, and on its list one
 *   for each new block. bcache.lock guards them. Only who has the buffer of
 *   the metadata takes notes away, so it may walk its list and sleep. Others
 *   add notes at the end meanwhile: it walks to the last one that was there at
 *   first. The buffer has no pointer yet to the block of a later one.
 * - The cache numbers its writes. A new block has been written if it is clean,
 *   or if a write of it has ended that is newer than the note.
 * - `written` is set by the holder of depend.releasing, before it flushes the
 *   drive's cache. So these blocks are durable afterwards.
 */
#include "kernel/depend/depend.h"
#include "kernel/cache/bcache.h"
#include "kernel/machine/mem.h"

#define LOOK_NS       NS_PER_S
#define WAITS_MOST_NS (60 * NS_PER_S) /* twice the half minute of update */
#define PINNED_PART   8
#define NOTES_MOST    4096 /* the most that are walked under bcache.lock */
#define SPARE_LEAST   (2 * MAX_PROCS) /* each process may take two at once */

struct note {
    struct list link;
    struct disk *disk;
    u64 blkno;
    /* of metadata */
    struct list firsts; /* the notes of the new blocks */
    u64 since_ns;
    /* of a new block */
    u64 last_write; /* the number of the cache's last write before the note */
    bool written;
};

static struct {
    struct sleeplock releasing; /* one process releases at a time */
    /* bcache.lock */
    bool begun; /* all of this is initialised */
    bool has_thread;
    struct list waiting; /* notes of metadata; the longest first */
    struct list spare;   /* nspare of the nnotes notes: not in use */
    u64 nnotes, nspare;
} depend;

/* ---- the notes. For all of these the caller holds bcache.lock. ---- */

/* Put a note back among the spare ones. */
static void give(struct note *n)
{
    list_push_back(&depend.spare, &n->link);
    depend.nspare++;
}

/* Add a note for the block at the end of the list. A spare note must be there
 * (get_ready). */
static struct note *add(struct list *to, struct disk *d, u64 blkno)
{
    assert(depend.nspare);
    depend.nspare--;
    struct note *n =
        LIST_ITEM(list_pop_front(&depend.spare), struct note, link);
    *n = (struct note){.disk = d,
                       .blkno = blkno,
                       .since_ns = clock_ns(),
                       .last_write = bcache.write_number};
    list_init(&n->firsts);
    list_push_back(to, &n->link);
    return n;
}

/* Take away w's notes up to `last`, and w itself if none is left. The caller
 * has w's buffer, b, which may be written afterwards. */
static void drop(struct note *w, const struct list *last, struct buf *b)
{
    for (struct list *l = NULL; l != last;) {
        l = list_pop_front(&w->firsts);
        give(LIST_ITEM(l, struct note, link));
    }
    unpin(b);
    if (!list_empty(&w->firsts))
        return;
    list_remove(&w->link);
    give(w);
}

/* Return the note of this block of metadata, or NULL if it waits for
 * nothing. */
static struct note *find(const struct disk *d, u64 blkno)
{
    ITEM_EACH (struct note, w, &depend.waiting, link)
        if (w->disk == d && w->blkno == blkno)
            return w;
    return NULL;
}

/* True if the block is on the disk since it was noted: it has no buffer, is
 * clean, or a write that began after the note has ended. */
static bool is_written(const struct note *f)
{
    const struct buf *b = buf_lookup(f->disk, f->blkno);
    if (!b || !(b->flags & (B_DELWRI | B_WRITE)))
        return true;
    return b->write_number > f->last_write && !(b->flags & B_WRITE);
}

/* True if all is marked that it waits for. */
static bool is_ready(const struct note *w)
{
    ITEM_EACH (struct note, f, &w->firsts, link)
        if (!f->written)
            return false;
    return true;
}

/* ---- writing what is waited for ---- */

/* Return the note by which b waits, or NULL; *last: the last note on its list.
 * The caller has b. */
static struct note *note_of(const struct buf *b, struct list **last)
{
    if (!__atomic_load_n(&depend.begun, __ATOMIC_ACQUIRE))
        return NULL;
    HOLD(spin, &bcache.lock);
    struct note *w = find(b->disk, b->block.blkno);
    *last = w ? w->firsts.prev : NULL;
    return w;
}

/* Start the writes of the new blocks for which w waits, up to `last`, then wait
 * for them, and make them durable. Caller has the buffer that waits. 0 or -EIO.
 */
static int write_firsts(const struct note *w, const struct list *last)
{
    for (int pass = 0; pass < 2; pass++) {
        for (const struct list *l = &w->firsts; l != last;) {
            l = l->next;
            const struct note *f = LIST_ITEM(l, struct note, link);
            spin_lock(&bcache.lock);
            bool written = f->blkno == w->blkno || is_written(f);
            spin_unlock(&bcache.lock);
            if (written)
                continue;
            struct buf *b = getblk(w->disk, f->blkno);
            (b->flags & B_DELWRI) ? bawrite(b) : brelse(b);
        }
    }
    return disk_order(w->disk);
}

/* Write a block of metadata now, after the new blocks that it waits for, and
 * let b go. After -EIO the block goes on waiting. */
int depend_write(struct buf *b)
{
    struct list *last;
    struct note *w = note_of(b, &last);
    if (w && write_firsts(w, last) < 0) {
        bpin(b, b->block.owner); /* it goes on waiting */
        return -EIO;
    }
    if (w) {
        HOLD(spin, &bcache.lock);
        drop(w, last, b);
    }
    return bwrite_stable(b);
}

/* Return the block of the disk that has waited longest, or NO_SECTOR. With
 * `ready`, only of those that are ready; else of all, but only if too many
 * blocks wait or this one has waited too long. */
static u64 longest(const struct disk *d, bool ready)
{
    HOLD(spin, &bcache.lock);
    bool many = bcache.npinned[d->id] * PINNED_PART > bcache.nbufs ||
                depend.nnotes - depend.nspare > NOTES_MOST;
    ITEM_EACH (struct note, w, &depend.waiting, link)
        if (w->disk == d &&
            (ready ? is_ready(w)
                   : many || clock_ns() - w->since_ns >= WAITS_MOST_NS))
            return w->blkno;
    return NO_SECTOR;
}

/* ---- releasing what has waited ---- */

/* Mark what has been written. */
static void mark(const struct disk *d)
{
    HOLD(spin, &bcache.lock);
    ITEM_EACH (struct note, w, &depend.waiting, link)
        ITEM_EACH (struct note, f, &w->firsts, link)
            f->written |= w->disk == d && is_written(f);
}

/* End the wait of b, which the caller has, if b is still ready. True if b must
 * be written now. */
static bool end_wait(struct buf *b)
{
    HOLD(spin, &bcache.lock);
    struct note *w = find(b->disk, b->block.blkno);
    bool pinned = b->flags & B_PINNED;
    if (!w || !is_ready(w))
        return false;
    drop(w, w->firsts.prev, b);
    return pinned;
}

/* Start the writes of all metadata of the disk whose new blocks are durable
 * now. */
static int release(struct disk *d)
{
    HOLD(sleep, &depend.releasing);
    mark(d);
    TRY(longest(d, true) != NO_SECTOR ? disk_order(d) : 0);
    for (u64 blkno; (blkno = longest(d, true)) != NO_SECTOR;) {
        struct buf *b = getblk(d, blkno);
        end_wait(b) ? bawrite(b) : brelse(b);
    }
    return 0;
}

/* The thread: while some metadata waits, look each LOOK_NS what can be
 * written. */
static void depend_thread(void *)
{
    for (;;) {
        spin_lock(&bcache.lock);
        while (list_empty(&depend.waiting))
            sleep_on(&depend.waiting, &bcache.lock);
        sleep_until(&depend, &bcache.lock, clock_ns() + LOOK_NS);
        spin_unlock(&bcache.lock);
        for (u32 i = 0; i < disk_count(); i++)
            release(disk_get(i)); /* if it fails, it is tried again */
    }
}

/* ---- the interface ---- */

/* Prepare the lists, once; a later call does nothing. */
static void begin(void)
{
    HOLD(spin, &bcache.lock);
    if (depend.begun)
        return;
    sleep_lock_init(&depend.releasing, "depend");
    list_init(&depend.waiting);
    list_init(&depend.spare);
    __atomic_store_n(&depend.begun, true, __ATOMIC_RELEASE);
}

/* Get enough notes, and the thread. False: there is no memory for them. */
static bool get_ready(void)
{
    begin();
    while (depend.nspare < SPARE_LEAST) {
        struct note *page = page_alloc();
        if (!page)
            return false;
        HOLD(spin, &bcache.lock);
        for (u32 i = 0; i < PAGE_SIZE / sizeof *page; i++)
            give(&page[i]);
        depend.nnotes += PAGE_SIZE / sizeof *page;
    }
    if (!depend.has_thread)
        depend.has_thread = kthread_try("depend", depend_thread, NULL);
    return depend.has_thread;
}

/* Make the new block zeros, and the metadata at `meta` wait until they are
 * written. Without memory for notes, or if the oldest must go first, wait for
 * the disk. */
int depend_zeros(struct disk *d, u64 blkno, u64 owner, u64 meta)
{
    bool ready = get_ready();
    u64 first = longest(d, false);
    struct buf *b = first != NO_SECTOR ? bread(d, first) : NULL;
    TRY(b ? depend_write(b) : 0);
    b = getblk(d, blkno);
    memset(b->data, 0, bcache.block_bytes);
    if (!ready)
        return bwrite_stable(b) ?: disk_order(d);
    make_dirty(b, owner, false, b->block.held_back);
    spin_lock(&bcache.lock);
    struct note *w = find(d, meta) ?: add(&depend.waiting, d, meta);
    add(&w->firsts, d, blkno);
    wakeup(&depend.waiting);
    spin_unlock(&bcache.lock);
    return 0;
}

/* Make the metadata a delayed write, or pin it if it waits for a new block. */
void depend_delay(struct buf *b, u64 owner)
{
    struct list *last;
    if (note_of(b, &last))
        bpin(b, owner);
    else
        bdwrite(b, owner);
}

/* Write all that waits on the disk, and then all of the owner that is dirty
 * (owner 0: all of the disk). Return 0 or the first error. */
int depend_settle(struct disk *d, u64 owner)
{
    if (!__atomic_load_n(&depend.begun, __ATOMIC_ACQUIRE))
        return 0;
    int error = release(d);
    return (owner ? bflush_owner(d, owner) : bflush(d)) ?: error;
}

/* Write all that is dirty on the disk, and all that waits. Return 0 or an
 * error. */
int depend_flush(struct disk *d)
{
    int error = bflush(d);
    return depend_settle(d, 0) ?: error;
}
