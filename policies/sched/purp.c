/*
 * PURP, periodic update with read priority: a write goes only when no read is
 * queued; reads among themselves, and writes, go first come, first served. The
 * name is Carson and Setia's for this order with the update policy pu: a burst
 * of writes delays a read by no more than the write in service. But while reads
 * keep coming, writes starve.
 *
 * bound_ms, which the source does not have, ends that: a write that has been
 * queued so long goes before all reads. It then waits for no more than the
 * writes before it and one request in service. 0, as in the source: no bound.
 *
 * Source: Carson and Setia, "Analysis of the Periodic Update Write Policy for
 * Disk Cache", IEEE Transactions on Software Engineering, January 1992.
 */
#include "kernel/policy/sched.h"

#define WAITED 0 /* word of the queue: its writes that are waited for */

enum { BOUND_MS, WITH_WAITED };

static struct tunable tunables[] = {
    {"bound_ms", "ms", 0, 0, 3600000,
     "a write queued so long goes before reads; 0: none does"},
    {"waited", "0|1", 0, 0, 1, "1: a write that is waited for goes as a read"},
    {0},
};

enum { OVERTAKEN, OVERDUE };

static struct policy_counter counters[] = {
    {"overtaken", "requests", "reads that went before an older write"},
    {"overdue", "requests", "writes that went before reads"},
    {0},
};

static bool overdue(const struct request *write, u64 now_ns)
{
    u64 bound_ns = tunables[BOUND_MS].value * NS_PER_MS;
    return bound_ns && now_ns - write->queued_ns >= bound_ns;
}

/* The oldest of the writes that processes wait for, or NULL. */
static struct request *oldest_waited(const struct queue *q)
{
    struct request *oldest = NULL, *r = NULL;
    if (!tunables[WITH_WAITED].value || !q->word[WAITED])
        return NULL;
    for (u64 at = 0; (r = queue_at_or_after(q, WRITES, at)); at = r->sector + 1)
        if (r->waited && (!oldest || r->arrival < oldest->arrival))
            oldest = r;
    return oldest;
}

/* The request that is oldest among those that go first, or NULL. */
static struct request *oldest_urgent(const struct queue *q)
{
    struct request *read = queue_oldest(q, READS), *write = oldest_waited(q);
    return !read || (write && write->arrival < read->arrival) ? write : read;
}

static void purp_queued(struct queue *q, struct request *r, u64 now_ns)
{
    (void)now_ns;
    q->word[WAITED] += r->write && r->waited;
}

static void purp_leaves(struct queue *q, struct request *r, u64 now_ns)
{
    (void)now_ns;
    q->word[WAITED] -= r->write && r->waited;
}

static struct request *purp_next(struct queue *q, u64 now_ns)
{
    struct request *read = oldest_urgent(q);
    struct request *write = queue_oldest(q, WRITES);
    if (!read || !write)
        return read ? read : write;
    if (overdue(write, now_ns)) {
        counters[OVERDUE].value++;
        return write;
    }
    counters[OVERTAKEN].value += write->arrival < read->arrival;
    return read;
}

static const struct policy purp = {
    .kind = POLICY_SCHED,
    .name = "purp",
    .about = "reads before writes, which may starve unless bound_ms is set",
    .tunables = tunables,
    .counters = counters,
    .sched = {.next = purp_next, .queued = purp_queued, .leaves = purp_leaves},
};
POLICY(purp);
