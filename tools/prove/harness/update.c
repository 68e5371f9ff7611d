/*
 * update: no dirty block grows older than the bound that the policy states, and
 * after a scan the next one is later. STEPS times, blocks become dirty, time
 * passes until the policy wants to scan at most, and it scans.
 *
 * A policy states its bound in bounds/update/NAME.h. Without one, only the rest
 * is proved.
 */
#include "tools/prove/harness/cache.h"
#include SUBJECT
#ifdef BOUND
#include BOUND
#endif

#ifndef STEPS
#define STEPS 3
#endif

static u64 last_ns; /* when the daemon scanned last; 0: never */

static void check_ages(void)
{
#ifdef BOUND
    for (u64 i = 0; i < BLOCKS; i++)
        CLAIM(!blocks[i]->dirtied_ns ||
                  cache.now_ns - blocks[i]->dirtied_ns <= bound_ns(),
              "no dirty block is older than the stated bound");
#endif
}

static void scan(void)
{
    TELL("scan at {} ns", cache.now_ns);
    u64 before = cache.written;
    last_ns = cache.now_ns;
    subject->update.scan(cache.now_ns);
    u64 next = subject->update.next_ns(last_ns);
    TELL("  the next scan is to be at {} ns", next);
    CLAIM(next > last_ns, "after a scan the next one is later");
#ifdef BOUND
    REACHED(cache.written > before, "a scan writes a block");
#endif
}

static void step(void)
{
    u64 wait_ns = any_below(YEAR_NS);
    u64 due = subject->update.next_ns(last_ns);
    cache_dirty_any(subject->update.dirtied);
    ASSUME(due <= cache.now_ns ? !wait_ns : wait_ns <= due - cache.now_ns);
    cache.now_ns += wait_ns;
    check_ages();
    if (cache.now_ns >= due || dirty_blocks() >= cache.scan_at)
        scan();
    check_ages();
}

int main(void)
{
    static u64 region[64];
    cache_begin();
    cache.leaves = subject->update.leaves;
    begin(subject, region, sizeof region, cache.buffers);
    for (u64 i = 0; i < STEPS; i++) {
        step();
        consistent(subject);
    }
    REACHED(true, "the end");
}
