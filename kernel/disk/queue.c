/*
 * The disk queue's two orders, by sector and by age, for reads, writes
 * and candidates apart; and the questions a scheduler may ask of it (sched.h).
 *
 * - The disk's lock guards it. Compiles natively, for tests of schedulers.
 */
#include "kernel/disk/queue.h"

#include "kernel/measure/cost.h"

/* Return the request that has this node of the tree; NULL for NULL. */
static struct request *by_sector(struct tree_node *n)
{
    return n ? TREE_ITEM(n, struct request, by_sector) : NULL;
}

/* Return which of the queue's sets a request is in. */
static enum queue_set set_of(const struct request *r)
{
    return r->candidate ? SET_CANDIDATES : r->write ? SET_WRITES : SET_READS;
}

/* The sets a question is about, as an index that grows. */
#define SET_EACH(i, dir)                 \
    for (u32 i = 0; i < QUEUE_SETS; i++) \
        if ((dir)&1 << i)

void queue_init(struct queue *q, u32 disk)
{
    *q = (struct queue){.disk = disk};
    for (u32 i = 0; i < QUEUE_SETS; i++)
        list_init(&q->arrived[i]);
}

void queue_add(struct queue *q, struct request *r)
{
    u32 set = set_of(r);
    r->word[0] = r->word[1] = 0;
    r->queue = q;
    r->arrival = q->arrivals++;
    tree_insert(&q->sorted[set], &r->by_sector, r->sector);
    list_push_back(&q->arrived[set], &r->by_age);
    q->length[set]++;
}

void queue_take(struct queue *q, struct request *r)
{
    u32 set = set_of(r);
    tree_remove(&q->sorted[set], &r->by_sector);
    list_remove(&r->by_age);
    q->length[set]--;
    /* Last: a reader without the lock (io_queued) may reuse r from here on. */
    __atomic_store_n(&r->queue, NULL, __ATOMIC_RELEASE);
}

void queue_dispatched(struct queue *q, const struct request *r, u64 now_ns)
{
    q->last = r;
    q->last_ns = now_ns;
    q->commands++;
}

/* ---- what the kernel asks ---- */

struct request *queue_find_from(const struct queue *q, enum direction dir,
                                u64 sector)
{
    struct request *best = NULL;
    SET_EACH (i, dir) {
        struct request *r = by_sector(tree_at_or_after(&q->sorted[i], sector));
        if (r && (!best || r->sector < best->sector))
            best = r;
    }
    return best;
}

/* Return the request with the highest sector below this one, or NULL. */
struct request *queue_find_before(const struct queue *q, enum direction dir,
                                  u64 sector)
{
    struct request *best = NULL;
    SET_EACH (i, dir) {
        struct request *r = by_sector(tree_before(&q->sorted[i], sector));
        if (r && (!best || r->sector > best->sector))
            best = r;
    }
    return best;
}

/* Return the request that has waited longest, or NULL. */
struct request *queue_find_oldest(const struct queue *q, enum direction dir)
{
    struct request *best = NULL;
    SET_EACH (i, dir) {
        struct list *first = list_first(&q->arrived[i]);
        struct request *r = ITEM_OR_NULL(first, struct request, by_age);
        if (r && (!best || r->arrival < best->arrival))
            best = r;
    }
    return best;
}

/* ---- what policies ask, which is charged ---- */

struct request *queue_at_or_after(const struct queue *q, enum direction dir,
                                  u64 sector)
{
    charge(COST_look, 1);
    return queue_find_from(q, dir, sector);
}

/* Answer a scheduler, which pays one look: the last request before the
 * sector. */
struct request *queue_before(const struct queue *q, enum direction dir,
                             u64 sector)
{
    charge(COST_look, 1);
    return queue_find_before(q, dir, sector);
}

/* Answer a scheduler, which pays one look: the first request at or after the
 * sector, or the first of all if there is none. */
struct request *queue_circular(const struct queue *q, enum direction dir,
                               u64 sector)
{
    charge(COST_look, 1);
    return queue_find_from(q, dir, sector) ?: queue_find_from(q, dir, 0);
}

/* Answer a scheduler, which pays one look: the oldest request. */
struct request *queue_oldest(const struct queue *q, enum direction dir)
{
    charge(COST_look, 1);
    return queue_find_oldest(q, dir);
}
