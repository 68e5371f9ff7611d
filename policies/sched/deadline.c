/*
 * Deadline: reads and writes are two sweeps by rising sector, of which one is
 * served for a batch of up to fifo_batch requests. A batch ends early where
 * its sweep has nothing ahead. For the next one:
 *
 * 1. Reads go before writes, but after the writes that wait have been passed
 *    over writes_starved times it is their turn.
 * 2. The batch goes on where the sweep of its kind stopped; but if the oldest
 *    of the kind has waited for its expiry, or nothing lies ahead, it begins
 *    with the oldest. So a request is preferred from its expiry on; it need
 *    not be served by then.
 *
 * What stays different: Linux gives a device of depth 1 only two requests to
 * schedule (nr_requests is twice the depth), and writes no more than two at a
 * time until async_depth is set, too, so that its batches are rarely seen
 * there. Here a queue has no limit.
 *
 * Source: mq-deadline, the scheduler of Linux, as its manual describes it
 * (Documentation/block/deadline-iosched.rst; Axboe, 2002), whose defaults
 * these are.
 */
#include "kernel/policy/sched.h"

enum { READ_EXPIRE_MS, WRITE_EXPIRE_MS, WRITES_STARVED, FIFO_BATCH };

static struct tunable tunables[] = {
    {"read_expire_ms", "ms", 500, 0, 3600000, "age at which a read is due"},
    {"write_expire_ms", "ms", 5000, 0, 3600000, "age at which a write is due"},
    {"writes_starved", "batches", 2, 0, 1000,
     "of reads that may go before waiting writes"},
    {"fifo_batch", "requests", 16, 1, 1000, "the most of a batch"},
    {0},
};

enum { READ_BATCHES, WRITE_BATCHES, EXPIRED };

static struct policy_counter counters[] = {
    {"read_batches", "batches", "of reads"},
    {"write_batches", "batches", "of writes"},
    {"expired", "batches", "begun with the oldest since it was due"},
    {0},
};

/* The words of a queue. */
enum {
    WRITING,     /* true in a batch of writes */
    LEFT,        /* how many more requests may go in it */
    PASSED,      /* how many times in turn writes were passed over */
    OTHER_SWEEP, /* where the other sweep stopped */
};

static enum direction kind(const struct queue *q)
{
    return q->word[WRITING] ? WRITES : READS;
}

/* True if the next batch is of writes. If writes wait and it is not, they are
 * passed over once more. */
static bool turn_of_writes(struct queue *q)
{
    bool reads = queue_oldest(q, READS), writes = queue_oldest(q, WRITES);
    return writes &&
           (!reads || q->word[PASSED]++ >= tunables[WRITES_STARVED].value);
}

/* Go over to a sweep; returns where it stopped. */
static u64 resume(struct queue *q, bool writing)
{
    u64 from = q->head_sector;
    if (writing != q->word[WRITING]) {
        from = q->word[OTHER_SWEEP];
        q->word[OTHER_SWEEP] = q->head_sector;
    }
    q->word[WRITING] = writing;
    return from;
}

/* Begin a batch of reads or writes: with its oldest request if that has
 * expired, else where the last batch of its kind ended. */
static struct request *begin_batch(struct queue *q, u64 now_ns)
{
    bool writing = turn_of_writes(q);
    if (writing)
        q->word[PASSED] = 0;
    struct request *ahead =
        queue_at_or_after(q, writing ? WRITES : READS, resume(q, writing));
    struct request *oldest = queue_oldest(q, kind(q));
    u64 age_ms = (now_ns - oldest->queued_ns) / NS_PER_MS;
    bool expired =
        age_ms >= tunables[writing ? WRITE_EXPIRE_MS : READ_EXPIRE_MS].value;
    counters[writing ? WRITE_BATCHES : READ_BATCHES].value++;
    counters[EXPIRED].value += expired;
    q->word[LEFT] = tunables[FIFO_BATCH].value - 1;
    return expired || !ahead ? oldest : ahead;
}

static struct request *deadline_next(struct queue *q, u64 now_ns)
{
    struct request *r = NULL;
    if (q->word[LEFT])
        r = queue_at_or_after(q, kind(q), q->head_sector);
    if (!r)
        return begin_batch(q, now_ns);
    q->word[LEFT]--;
    return r;
}

static const struct policy deadline = {
    .kind = POLICY_SCHED,
    .name = "deadline",
    .about = "batches by sector of reads, then writes; the overdue first",
    .tunables = tunables,
    .counters = counters,
    .sched = {.next = deadline_next},
};
POLICY(deadline);
