/*
 * Prefetching (prefetch.h): this file finds the stream of an open file to which
 * a read belongs (stream.h), and asks the prefetch policy about it.
 * prefetch_lock guards the policy's answers and its swap, and the words of all
 * streams.
 */
#include "kernel/cache/prefetch.h"
#include "kernel/cache/bio.h"
#include "kernel/policy/registry.h"

static struct spinlock prefetch_lock = SPINLOCK("prefetch", RANK_POLICY);
static u64 starts; /* how often a policy has been put to use */

/* Return the functions of the prefetch policy in use. */
static const struct prefetch_hooks *hooks(void)
{
    return &policy_in_use[POLICY_PREFETCH]->prefetch;
}

/* Use this policy from now on. Caller holds the lock. */
static void put_to_use(const struct policy *to)
{
    policy_switch(to);
    starts++;
}

/* Put another prefetch policy to use. Streams notice by its number (starts). */
static void swap(const struct policy *to)
{
    HOLD(spin, &prefetch_lock);
    put_to_use(to);
}

void prefetch_init(void)
{
    policy_own(POLICY_PREFETCH,
               (struct policy_owner){.swap = swap, .buffers = bio_buffers()});
}

/* True if the policy uses what programs say about their reads. */
bool prefetch_takes_hints(void)
{
    return hooks()->takes_hints;
}

/* True if the policy wants to be asked at each block, not at each call. */
bool prefetch_by_block(void)
{
    return hooks()->by_block && hooks()->by_block();
}

/* ---- the stream of a read ---- */

static bool belongs(const struct stream *s, const struct access *a)
{
    if (!s->used)
        return false;
    return hooks()->follows ? hooks()->follows(s, a) : goes_on(s, a);
}

/* Return the number of the read's stream; of several, the one read last. If
 * there is none, the stream not read for longest begins anew. */
static u32 choose(struct streams *f, const struct access *a)
{
    struct stream *followed = NULL, *oldest = f->stream;
    for (struct stream *s = f->stream; s < f->stream + STREAMS; s++) {
        if (belongs(s, a) && (!followed || s->used > followed->used))
            followed = s;
        if (s->used < oldest->used)
            oldest = s;
    }
    if (!followed)
        *oldest = (struct stream){0};
    return (followed ?: oldest) - f->stream;
}

static struct stream *stream_of(struct streams *f, const struct access *a)
{
    if (!belongs(&f->stream[f->latest], a))
        f->latest = choose(f, a);
    f->stream[f->latest].used = ++f->reads;
    return &f->stream[f->latest];
}

/* ---- the policy's answer ---- */

/* True if n blocks from this one on lie in the file. */
static bool in_file(i64 first, u64 n, u64 file_blocks)
{
    return first >= 0 && n <= file_blocks && (u64)first <= file_blocks - n;
}

/* True if all blocks that the policy wants lie in the file. Their runs are
 * `step` apart, so it is enough to look at the first run and the last one. The
 * first comparisons keep the products below from overflowing. */
static bool is_good(const struct readahead *w, u64 file_blocks)
{
    u64 distance = w->step < 0 ? -(u64)w->step : (u64)w->step;
    return w->times && w->times <= file_blocks && distance <= file_blocks &&
           in_file(w->first, w->n, file_blocks) &&
           in_file(w->first + w->step * (i64)(w->times - 1), w->n, file_blocks);
}

/* The policy's answer was wrong: nothing is read ahead, and the default of the
 * kind takes over, if it may. Caller holds the lock. */
static struct readahead fault(const struct disk *d, const struct access *a)
{
    const struct policy *to =
        policy_fault(POLICY_PREFETCH, d->id, a->block,
                     "readahead asked for blocks off the file");
    if (to)
        put_to_use(to);
    return (struct readahead){0};
}

/* Return what the policy wants read ahead. Caller holds the lock. */
static struct readahead ask(const struct disk *d, struct stream *s,
                            const struct access *a)
{
    struct readahead readahead = {.times = 1};
    if (hooks()->takes_hints && a->hint == HINT_RANDOM)
        return readahead;
    hooks()->readahead(s, a, &readahead);
    policy_check(policy_in_use[POLICY_PREFETCH]);
    bool good = !readahead.n || is_good(&readahead, a->file_blocks);
    return good ? readahead : fault(d, a);
}

struct readahead prefetch_readahead(struct disk *d, struct streams *f,
                                    struct access *a)
{
    a->hint = f->hint;
    spin_lock(&prefetch_lock);
    if (f->policy != starts)
        *f = (struct streams){.policy = starts, .hint = f->hint};
    struct stream *s = stream_of(f, a);
    struct readahead readahead = ask(d, s, a);
    bool reader = d->adapts && s->next_block && goes_on(s, a);
    s->next_block = a->block + a->nblocks;
    spin_unlock(&prefetch_lock);
    if (reader)
        readers_go_on(d, s);
    return readahead;
}
