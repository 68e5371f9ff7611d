/*
 * The disk queue's two orders, by sector and by age, for reads and writes
 * apart; and the questions a scheduler may ask of it (policy.h).
 *
 * - The disk's lock guards it. Compiles natively, for tests of schedulers.
 */
#include "kernel/queue.h"

static struct request *by_sector(struct tree_node *n)
{
    return n ? TREE_ITEM(n, struct request, by_sector) : NULL;
}

static struct request *oldest(const struct list *arrived)
{
    struct list *first = list_first(arrived);
    return first ? LIST_ITEM(first, struct request, by_age) : NULL;
}

/* What the direction asks for, of the answers for reads and for writes; of
 * two, whether the write is the better one. */
static struct request *either(enum direction dir, struct request *read,
                              struct request *write, bool write_better)
{
    if (!(dir & READS) || !read)
        return dir & WRITES ? write : NULL;
    if (!(dir & WRITES) || !write)
        return read;
    return write_better ? write : read;
}

void queue_init(struct queue *q, u32 disk)
{
    *q = (struct queue){.disk = disk};
    list_init(&q->arrived[0]);
    list_init(&q->arrived[1]);
}

void queue_add(struct queue *q, struct request *r)
{
    r->word[0] = r->word[1] = 0;
    r->queue = q;
    r->arrival = q->arrivals++;
    tree_insert(&q->sorted[r->write], &r->by_sector, r->sector);
    list_push_back(&q->arrived[r->write], &r->by_age);
    q->length[r->write]++;
}

void queue_take(struct queue *q, struct request *r)
{
    r->queue = NULL;
    tree_remove(&q->sorted[r->write], &r->by_sector);
    list_remove(&r->by_age);
    q->length[r->write]--;
}

struct request *queue_at_or_after(const struct queue *q, enum direction dir,
                                  u64 sector)
{
    struct request *r = by_sector(tree_at_or_after(&q->sorted[0], sector));
    struct request *w = by_sector(tree_at_or_after(&q->sorted[1], sector));
    return either(dir, r, w, r && w && w->sector < r->sector);
}

struct request *queue_before(const struct queue *q, enum direction dir,
                             u64 sector)
{
    struct request *r = by_sector(tree_before(&q->sorted[0], sector));
    struct request *w = by_sector(tree_before(&q->sorted[1], sector));
    return either(dir, r, w, r && w && w->sector > r->sector);
}

struct request *queue_oldest(const struct queue *q, enum direction dir)
{
    struct request *r = oldest(&q->arrived[0]), *w = oldest(&q->arrived[1]);
    return either(dir, r, w, r && w && w->arrival < r->arrival);
}
