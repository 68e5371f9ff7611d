/*
 * write: whatever is written, the answer is one of the modes, at least one
 * block may be dirty, and whoever makes room writes one block at least. Blocks
 * that each_second is shown are dealt with as the header says.
 */
#include "tools/prove/harness/cache.h"
#include SUBJECT
#include "tools/prove/harness/begin.h"

static void try_decide(void)
{
    struct write_info info;
    ASSUME(info.disk < MAX_DISKS && info.dirty <= info.buffers);
    ASSUME(info.buffers == cache.buffers && info.now_ns == cache.now_ns);
    enum write_mode mode = subject->write.decide(&info);
    TELL("decide with {} blocks dirty and {} requests queued: mode {}",
         info.dirty, info.queued, mode);
    CLAIM(mode <= WRITE_HELD_BACK, "the answer is one of the modes");
}

static void try_ask_limits(void)
{
    u64 buffers = cache.buffers, dirty = any_below(buffers) + 1;
    u64 n =
        subject->write.no_clean ? subject->write.no_clean(dirty, buffers) : 1;
    u64 most =
        subject->write.most_dirty ? subject->write.most_dirty(buffers) : 1;
    TELL("no_clean with {} blocks dirty of {} buffers: {}", dirty, buffers, n);
    TELL("most_dirty: {}", most);
    CLAIM(n >= 1 && n <= dirty,
          "who makes room writes from 1 block to all that is dirty");
    CLAIM(most >= 1, "one block at least may be dirty");
}

static void try_pass_second(void)
{
    cache.now_ns += NS_PER_S + any_below(NS_PER_S);
    TELL("each_second at {} ns", cache.now_ns);
    if (subject->write.each_second)
        subject->write.each_second(cache.now_ns);
}

int main(void)
{
    cache_begin();
    begin(subject, NULL, 0, cache.buffers);
    for (u64 step = 0; step < PROOF_STEPS; step++) {
        try_decide();
        try_ask_limits();
        cache_dirty_any(NULL);
        try_pass_second();
        consistent(subject);
    }
    REACHED(true, "the end");
}
