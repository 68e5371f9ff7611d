/*
 * update: no dirty block grows older than AGE_NS, which the policy promises
 * (bounds.toml), and after a scan the next one is later. PROOF_STEPS times,
 * blocks become dirty, time passes until the policy wants to scan at most, and
 * it scans. Without a promise only the rest is proved.
 */
#include "tools/prove/harness/cache.h"
#include SUBJECT
#include "tools/prove/harness/begin.h"

static u64 last_ns; /* when the daemon scanned last; 0: never */

static void try_check_ages(void)
{
#ifdef AGE_NS
    for (u64 i = 0; i < BLOCKS; i++)
        CLAIM(!blocks[i]->dirtied_ns ||
                  cache.now_ns - blocks[i]->dirtied_ns <= (AGE_NS),
              "no dirty block is older than the policy promises");
#endif
}

static void try_scan(void)
{
    TELL("scan at {} ns", cache.now_ns);
    u64 before = cache.written;
    last_ns = cache.now_ns;
    cache.scan_at = UNLIMITED;
    subject->update.scan(cache.now_ns);
    u64 next = subject->update.next_ns(last_ns);
    TELL("  the next scan is to be at {} ns", next);
    CLAIM(next > last_ns, "after a scan the next one is later");
    REACHED(cache.written > before, "a scan writes a block");
    REACHED(model_dirty(), "a scan leaves a block");
}

static void try_step(void)
{
    cache_dirty_any(subject->update.dirtied);
    consistent(subject);
    u64 due = subject->update.next_ns(last_ns);
    u64 wait_ns = any_below(MOST_WAIT_NS);
    ASSUME(due <= cache.now_ns ? !wait_ns : wait_ns <= due - cache.now_ns);
    if (model_dirty() >= cache.scan_at)
        ASSUME(!wait_ns);
    cache.now_ns += wait_ns;
    try_check_ages();
    if (cache.now_ns >= due || model_dirty() >= cache.scan_at)
        try_scan();
    consistent(subject);
}

int main(void)
{
    REGION;
    cache_begin();
    cache.leaves = subject->update.leaves;
    begin(subject, region, sizeof region, cache.buffers);
    for (u64 i = 0; i < PROOF_STEPS; i++)
        try_step();
    REACHED(true, "the end");
}
