/*
 * ALRU, approximately least recently used: blocks that have not been used for a
 * long time are written while nobody uses the cache.
 *
 * Every wake_up_s, if the cache has not been used for activity_ms, up to
 * flush_max blocks are written that have been dirty and unused for stale_s, the
 * oldest first. If there may be more, it goes on as soon as these are written
 * and as long as the cache stays unused. So the policy does not disturb a busy
 * system. The price is that dirty blocks have no bound on their age: they may
 * fill the cache, until the write policy makes writers wait or no buffer is
 * clean.
 *
 * A policy here sees that a block was used (block.used grows), but not when. So
 * it compares at each wake-up, and a use counts as of then: a block may wait
 * for wake_up_s longer. Here reads are uses, too; Open CAS counts only writes.
 * The cache is in use if the counts of hits, misses and blocks made dirty have
 * grown: they are compared at each wake-up, and activity_ms before it. A batch
 * is taken to be written when as many writes are done as were under way. Open
 * CAS's limit of the share that may be dirty, which is off there by default, is
 * left out.
 *
 * Source: Open CAS, the cleaning policy ALRU: open-cas.com, "Cleaner" and
 * "Configuration Tool Details", and the Open CAS Framework,
 * src/cleaning/alru.c, whose defaults these are.
 */
#include "kernel/policy/update.h"

#define POLL_NS                                                  \
    (10 * NS_PER_MS) /* between scans whether a batch is written \
                      */
#define NOT_BEGUN NEVER_NS

enum { WAKE_UP_S, STALE_S, FLUSH_MAX, ACTIVITY_MS };

static struct tunable tunables[] = {
    {"wake_up_s", "s", 20, 1, 3600, "time between two wake-ups"},
    {"stale_s", "s", 120, 1, 3600, "unused for so long, a block may go"},
    {"flush_max", "blocks", 100, 1, 10000, "the most of one batch"},
    {"activity_ms", "ms", 10000, 0, 1000000,
     "the cache must be unused for so long before blocks go"},
    {0},
};

enum { WAKE_UPS, ACTIVE, BATCHES, WRITTEN };

static struct policy_counter counters[] = {
    {"wake_ups", "wake-ups", "times it could have written"},
    {"active", "wake-ups", "of these, those when the cache was in use"},
    {"batches", "batches", "that were as large as they may be"},
    {"written", "blocks", "whose writing it started"},
    {0},
};

static struct {
    u64 woke_ns;     /* the last wake-up, or NOT_BEGUN */
    u64 uses;        /* of the cache, when it last scanned */
    u64 unused_ns;   /* since when there are no more */
    bool batch;      /* a whole batch was written: go on after it */
    u64 done_at;     /* that is when this many writes are done */
    u64 left;        /* blocks that this batch may still have */
    u64 most, wrote; /* of the last batch */
} state;

static void alru_start(void)
{
    state.woke_ns = NOT_BEGUN;
    state.uses = UNLIMITED; /* the first scan takes the cache to be in use */
    state.batch = false;
    state.most = state.wrote = 0;
}

/* ---- when a block was used: a mark has the second, and how often by then ----
 */

static u64 mark_of(const struct block *b, u64 now_ns)
{
    return now_ns / NS_PER_S << 32 | (u32)b->used;
}

static void alru_dirtied(struct block *b, u64 now_ns)
{
    (void)now_ns;
    b->mark = mark_of(b, b->dirtied_ns);
}

static u64 unused_s(struct block *b, u64 now_ns)
{
    if ((u32)b->mark != (u32)b->used)
        b->mark = mark_of(b, now_ns);
    return now_ns / NS_PER_S - (b->mark >> 32);
}

/* ---- scans ---- */

static u64 wakes_ns(void)
{
    return state.woke_ns + tunables[WAKE_UP_S].value * NS_PER_S;
}

/* While a batch is being written, look often. Else look shortly before waking,
 * to see whether the cache is in use, and when waking. */
static u64 alru_next_ns(u64 last_ns)
{
    if (state.woke_ns == NOT_BEGUN)
        state.woke_ns = last_ns;
    if (state.batch)
        return last_ns + POLL_NS;
    u64 activity_ns = tunables[ACTIVITY_MS].value * NS_PER_MS;
    u64 before_ns = wakes_ns() - MIN(wakes_ns(), activity_ns);
    return before_ns > last_ns ? before_ns : wakes_ns();
}

static void note_uses(const struct cache_state *s, u64 now_ns)
{
    u64 uses = s->hits + s->misses + s->dirtied;
    if (uses != state.uses)
        state.unused_ns = now_ns;
    state.uses = uses;
}

/* Flush a block that was not used for stale_s. */
static enum visit stale(struct block *b, u64 now_ns)
{
    if (unused_s(b, now_ns) < tunables[STALE_S].value || !state.left)
        return PASS;
    state.left--;
    return FLUSH;
}

/* All dirty blocks are shown, so that their uses are noticed. */
static void wake_up(u64 now_ns)
{
    u64 activity_ns = tunables[ACTIVITY_MS].value * NS_PER_MS;
    bool active = now_ns - state.unused_ns < activity_ns;
    state.most = state.left = active ? 0 : tunables[FLUSH_MAX].value;
    state.wrote = flush_by_age(stale);
    state.batch = !active && !state.left;
    state.woke_ns = now_ns;
    counters[WAKE_UPS].value++;
    counters[ACTIVE].value += active;
    counters[BATCHES].value += state.batch;
    counters[WRITTEN].value += state.wrote;
}

static void alru_scan(u64 now_ns)
{
    struct cache_state s;
    cache_state(&s);
    note_uses(&s, now_ns);
    bool done = state.batch && s.written - s.writing >= state.done_at;
    if (!done && (state.batch || now_ns < wakes_ns()))
        return;
    wake_up(now_ns);
    cache_state(&s);
    state.done_at = s.written;
}

/* A batch has no more blocks than it may have. */
static const char *alru_check(void)
{
    return state.wrote > state.most ? "a batch had too many blocks" : NULL;
}

static const struct policy alru = {
    .kind = POLICY_UPDATE,
    .name = "alru",
    .about = "blocks unused for long, while nobody uses the cache",
    .tunables = tunables,
    .counters = counters,
    .start = alru_start,
    .check = alru_check,
    .update = {.next_ns = alru_next_ns,
               .scan = alru_scan,
               .dirtied = alru_dirtied},
};
POLICY(alru);
