/*
 * Which buffer a block has: the hash that finds it, and how a block without one
 * gets a buffer that was never used, or that of a victim, for which this file
 * asks the replace policy.
 *
 * - The policy has exactly the buffers that may be victims (invariant 5 of
 *   bio.c).
 * - Caller holds bcache.lock. Nothing here waits: when buf_allocate finds no
 *   buffer, its caller makes room and tries again.
 */
#include "kernel/cache/bcache.h"
#include "kernel/policy/registry.h"

COUNTER(evictions, "bio.evictions", "blocks", "clean blocks that gave way");

/* ---- the hash; buf_lookup is in bcache.h ---- */

/* Enter b at the head of its bucket. Its block is in no other buffer. */
static void hash_insert(struct buf *b)
{
    struct buf **head = buf_bucket(b->block.disk, b->block.blkno);
    debug_assert(!buf_lookup(b->disk, b->block.blkno)); /* 1 */
    b->hash = *head;
    b->hashed = head;
    if (b->hash)
        b->hash->hashed = &b->hash;
    *head = b;
}

/* Take b out of its bucket. This writes only to its neighbours there: the
 * processor need not wait for their memory. */
static void hash_remove(struct buf *b)
{
    *b->hashed = b->hash;
    if (b->hash)
        b->hash->hashed = b->hashed;
}

/* ---- what the policy has ---- */

/* Return the functions of the replace policy in use. */
static const struct replace_hooks *replace(void)
{
    return &policy_in_use[POLICY_REPLACE]->replace;
}

void make_evictable(struct buf *b)
{
    assert(!(b->flags & (B_BUSY | B_EVICTABLE))); /* 5 */
    if (!may_go(b))
        return;
    b->flags |= B_EVICTABLE;
    bcache.nevictable += !(b->flags & B_DELWRI);
    replace()->insert(&b->block, !(b->flags & B_NOREUSE));
}

void make_not_evictable(struct buf *b)
{
    assert(b->flags & B_EVICTABLE); /* 5 */
    b->flags &= ~B_EVICTABLE;
    bcache.nevictable -= !(b->flags & B_DELWRI);
    replace()->remove(&b->block);
}

/* True if this pointer, which a policy gave, is an evictable buffer's. */
static bool is_evictable(const struct block *v)
{
    u64 size = sizeof *bcache.bufs;
    u64 offset = (u64)v - (u64)&bcache.bufs->block; /* huge if v is before it */
    return offset % size == 0 && offset / size < bcache.used &&
           bcache.bufs[offset / size].flags & B_EVICTABLE;
}

/* Take from the policy the buffers that it has, in its order, as long as its
 * answers are good. */
static void take_all(struct list *order)
{
    struct block *v;
    while ((v = replace()->victim()) && is_evictable(v)) {
        make_not_evictable(buf_of(v));
        list_push_back(order, &v->link);
    }
}

/* Hand all evictable buffers to another policy: first, in its order, those that
 * the policy in use returns as victims, if it is trusted; then the others. */
static void replace_switch(const struct policy *to, bool trust)
{
    struct list order, *n;
    list_init(&order);
    if (trust)
        take_all(&order);
    policy_switch(to);
    bcache.nevictable = 0;
    BUF_EACH (b) {
        b->block.word[0] = b->block.word[1] = 0;
        b->flags &= ~B_EVICTABLE;
    }
    while ((n = list_pop_front(&order)))
        make_evictable(buf_of(LIST_ITEM(n, struct block, link)));
    BUF_EACH (b)
        if (!(b->flags & (B_BUSY | B_EVICTABLE)))
            make_evictable(b);
}

/* Return the victim if no policy names one: the first clean buffer, which
 * exists. */
static struct block *plain_victim(void)
{
    BUF_EACH (b)
        if ((b->flags & (B_EVICTABLE | B_DELWRI)) == B_EVICTABLE)
            return &b->block;
    return NULL;
}

/* Report that the policy returned no victim, and return one. */
static struct block *fault(u32 disk, u64 blkno)
{
    const struct policy *to = policy_fault(
        POLICY_REPLACE, disk, blkno, "victim returned no evictable buffer");
    if (to)
        replace_switch(to, false);
    struct block *v = to ? replace()->victim() : plain_victim();
    assert(is_evictable(v)); /* 5 */
    return v;
}

/* Choose the buffer to evict for a block; it stays evictable. NULL: no buffer
 * is clean. A dirty one is chosen only if the policy takes dirty buffers. */
static struct buf *choose_victim(u32 disk, u64 blkno)
{
    if (!bcache.nevictable)
        return NULL;
    if (replace()->coming)
        replace()->coming(disk, blkno);
    struct block *v = replace()->victim();
    policy_check(policy_in_use[POLICY_REPLACE]);
    return buf_of(is_evictable(v) ? v : fault(disk, blkno));
}

/* ---- a buffer for a block ---- */

/* Take its block from an evictable buffer, and return it, free. */
struct buf *buf_evict(struct buf *b)
{
    make_not_evictable(b);
    assert(!(b->flags & (B_BUSY | B_DELWRI | B_EVICTABLE))); /* 5 */
    count(&evictions, 1);
    trace_block(TRACE_evicted, b, b->flags & B_AHEAD ? 1 : 0);
    settle_ahead(b, false);
    if (replace()->evicted)
        replace()->evicted(&b->block);
    hash_remove(b);
    return b;
}

/* Return a buffer that was never used; one must be there. */
static struct buf *first_use(void)
{
    u64 i = bcache.used++;
    bcache.bufs[i] = (struct buf){.data = bcache.data + i * bcache.block_bytes};
    return &bcache.bufs[i];
}

struct buf *buf_allocate(const struct disk *d, u64 blkno, struct buf **dirty)
{
    *dirty = NULL;
    if (bcache.used < bcache.nbufs)
        return first_use();
    struct buf *b = choose_victim(d->id, blkno);
    if (b && b->flags & B_DELWRI)
        *dirty = b;
    return b && !*dirty ? buf_evict(b) : NULL;
}

void buf_assign(struct buf *b, struct disk *d, u64 blkno)
{
    b->block =
        (struct block){.disk = d->id, .blkno = blkno, .used = ++bcache.uses};
    b->disk = d;
    b->flags = B_BUSY;
    b->failed_ns = 0;
    wait_queue_init(&b->waiters);
    bcache.nbusy++;
    hash_insert(b);
}

/* ---- swaps ---- */

/* Put another replace policy to use. It gets all buffers that may be
 * victims. */
static void swap(const struct policy *to)
{
    HOLD(spin, &bcache.lock);
    replace_switch(to, policy_in_use[POLICY_REPLACE] != NULL);
}

void replace_init(void)
{
    policy_own(POLICY_REPLACE,
               (struct policy_owner){.swap = swap, .buffers = bio_buffers()});
}
