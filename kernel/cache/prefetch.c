/*
 * Prefetching (prefetch.h), and how many sequential streams each disk has, for
 * drives whose caches adapt to that.
 *
 * - prefetch.lock guards the policy's answers and its swap, the words of all
 *   streams, and the readers.
 * - A reader is a stream that has gone on less than READER_IDLE_NS ago and
 *   whose file has not been closed since. It is known by its address, which is
 *   not followed.
 */
#include "kernel/cache/prefetch.h"
#include "kernel/machine/clock.h"
#include "kernel/disk/disk.h"
#include "kernel/machine/lock.h"
#include "kernel/policy/registry.h"

#define READER_IDLE_NS 1000000000UL

struct reader {
    const struct stream *stream;
    u64 read_ns; /* last; 0: this row is free */
};

static struct spinlock prefetch_lock;
static u64 starts; /* of policies, so far */
static struct reader readers[MAX_DISKS][MAX_SEGMENTS];

static const struct prefetch_hooks *hooks(void)
{
    return &policy_in_use[POLICY_PREFETCH]->prefetch;
}

/* Caller holds the lock. */
static void put_to_use(const struct policy *to)
{
    policy_switch(to);
    starts++;
}

static void swap(const struct policy *to)
{
    spin_lock(&prefetch_lock);
    put_to_use(to);
    spin_unlock(&prefetch_lock);
}

void prefetch_init(void)
{
    prefetch_lock = SPINLOCK("prefetch", RANK_POLICY);
    policy_own(POLICY_PREFETCH, (struct policy_owner){.swap = swap});
}

bool prefetch_is_blind(void)
{
    return hooks()->blind;
}

bool prefetch_takes_hints(void)
{
    return hooks()->takes_hints;
}

/* Do n blocks from this one on lie in the file? */
static bool in_file(i64 first, u64 n, u64 file_blocks)
{
    return first >= 0 && n <= file_blocks && (u64)first <= file_blocks - n;
}

static bool is_good(const struct wish *w, u64 file_blocks)
{
    u64 distance = w->step < 0 ? -(u64)w->step : (u64)w->step;
    if (!w->n)
        return true;
    if (!w->times || w->times > file_blocks || distance > file_blocks)
        return false;
    return in_file(w->first, w->n, file_blocks) &&
           in_file(w->first + w->step * (i64)(w->times - 1), w->n, file_blocks);
}

/* Caller holds the lock. */
static struct wish ask(struct stream *s, const struct access *a)
{
    struct wish wish = {.times = 1};
    if (hooks()->takes_hints && a->hint == HINT_RANDOM)
        return wish;
    hooks()->ahead(s, a, &wish);
    policy_check(policy_in_use[POLICY_PREFETCH]);
    if (is_good(&wish, a->file_blocks))
        return wish;
    put_to_use(
        policy_fault(POLICY_PREFETCH, "ahead wished for blocks off the file"));
    return (struct wish){0};
}

/* ---- the streams of a disk ---- */

/* The reader's row, or the one that has not been used for longest. */
static struct reader *reader_of(struct disk *d, const struct stream *s)
{
    struct reader *row = readers[d->id], *oldest = row;
    for (u32 i = 0; i < MAX_SEGMENTS; i++) {
        if (row[i].stream == s)
            return &row[i];
        if (row[i].read_ns < oldest->read_ns)
            oldest = &row[i];
    }
    return oldest;
}

/* The stream has gone on. How many of the disk's are being read? Caller holds
 * the lock. */
static u32 count_readers(struct disk *d, const struct stream *s)
{
    u64 now_ns = clock_ns();
    u32 n = 0;
    *reader_of(d, s) = (struct reader){s, now_ns};
    for (u32 i = 0; i < MAX_SEGMENTS; i++) {
        const struct reader *r = &readers[d->id][i];
        n += r->read_ns && now_ns - r->read_ns < READER_IDLE_NS;
    }
    return n;
}

void prefetch_end(struct disk *d, const struct streams *f)
{
    spin_lock(&prefetch_lock);
    for (u32 i = 0; i < MAX_SEGMENTS; i++) {
        const struct stream *s = readers[d->id][i].stream;
        if (s >= f->stream && s < f->stream + STREAMS)
            readers[d->id][i] = (struct reader){0};
    }
    spin_unlock(&prefetch_lock);
}

/* ---- */

struct wish prefetch_ahead(struct disk *d, struct streams *f, struct access *a)
{
    u32 nreaders = 0;
    a->hint = f->hint;
    spin_lock(&prefetch_lock);
    if (f->policy != starts)
        *f = (struct streams){.policy = starts, .hint = f->hint};
    struct stream *s = stream_of(f, a, hooks());
    struct wish wish = ask(s, a);
    if (d->adapts && s->next_block && goes_on(s, a))
        nreaders = count_readers(d, s);
    s->next_block = a->block + a->nblocks;
    spin_unlock(&prefetch_lock);
    if (nreaders)
        disk_streams(d, nreaders);
    return wish;
}
