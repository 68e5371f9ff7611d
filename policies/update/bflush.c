/*
 * Bflush, periodic update as 4.2BSD first had it: every interval_ms, all dirty
 * blocks are written, and after each write the search for the next dirty block
 * begins again at the head of the one queue of all valid buffers.
 *
 * It writes the same blocks as periodic update (PU, pu.c). But a buffer that
 * has been written stays in front of those still to be found, so n writes look
 * at about n * n / 2 buffers. The cost grows nearly with the square of the
 * cache; that of PU grows with the number of dirty blocks. Here the queue is
 * the cache's buffers in the order of their first use.
 *
 * Source: bflush of 4.2BSD, as described by Mogul, "A Better Update Policy",
 * USENIX Summer 1994, section 3.
 */
#include "kernel/policy/update.h"

enum { INTERVAL_MS };

static struct tunable tunables[] = {
    {"interval_ms", "ms", 30000, 1, 3600000, "time between two updates"},
    {0},
};

enum { UPDATES, WRITTEN, SCANNED };

static struct policy_counter counters[] = {
    {"updates", "updates", "times all dirty blocks were written"},
    {"written", "blocks", "blocks whose writing an update started"},
    {"scanned", "buffers", "looked at, again after each write"},
    {0},
};

static u64 bflush_next_ns(u64 last_ns)
{
    return last_ns + tunables[INTERVAL_MS].value * NS_PER_MS;
}

static enum visit first_dirty(struct block *b, u64 now_ns)
{
    (void)b, (void)now_ns;
    counters[SCANNED].value++;
    return FLUSH_LAST;
}

static void bflush_scan(u64 now_ns)
{
    (void)now_ns;
    counters[UPDATES].value++;
    while (flush_in_cache(0, UNLIMITED, first_dirty))
        counters[WRITTEN].value++;
}

static const struct policy bflush = {
    .kind = POLICY_UPDATE,
    .name = "bflush",
    .about = "4.2BSD's periodic update: searches anew after each write",
    .tunables = tunables,
    .counters = counters,
    .update = {.next_ns = bflush_next_ns, .scan = bflush_scan},
};
POLICY(bflush);
