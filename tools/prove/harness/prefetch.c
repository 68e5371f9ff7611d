/*
 * prefetch: what is to be read ahead lies in the file, whatever one stream has
 * read before. PROOF_STEPS reads, of any blocks of a file of any length that a
 * disk can hold.
 */
#include "tools/prove/harness/harness.h"
#include SUBJECT
#include "tools/prove/harness/begin.h"

#define MOST_BLOCKS (1UL << 32)

static bool try_in_file(u64 first, u64 n, u64 blocks)
{
    return n <= blocks && first <= blocks - n;
}

/* The kernel's rule (prefetch.c): the n blocks from `first` on, and so on for
 * `times` ranges, each `step` blocks after the one before, are in the file. */
static bool try_is_good(const struct readahead *w, u64 blocks)
{
    u64 distance = w->step < 0 ? -(u64)w->step : (u64)w->step;
    if (!w->n)
        return true;
    if (!w->times || w->times > blocks || distance > blocks)
        return false;
    return try_in_file(w->first, w->n, blocks) &&
           try_in_file(w->first + w->step * (w->times - 1), w->n, blocks);
}

/* Report any read of a file to the policy, and check what it reads ahead. */
static void try_read(struct stream *s, u64 blocks)
{
    struct access a;
    struct readahead w = {.times = 1};
    ASSUME(a.file_blocks == blocks && try_in_file(a.block, a.nblocks, blocks));
    ASSUME(a.nblocks && a.found <= CACHED && a.hint <= HINT_RANDOM);
    ASSUME(a.block_bytes == 1024 || a.block_bytes == 4096);
    ASSUME(!subject->prefetch.takes_hints || a.hint != HINT_RANDOM);
    if (s->next_block && !(subject->prefetch.follows ?: goes_on)(s, &a))
        *s = (struct stream){0}; /* this read begins a stream */
    subject->prefetch.readahead(s, &a, &w);
    TELL("read from block {} on {} blocks of a file of {}; found {}, hint {}",
         a.block, a.nblocks, blocks, a.found, a.hint);
    TELL("  to be read ahead: from block {} on {} blocks, {} times, {} apart",
         w.first, w.n, w.times, w.step);
    CLAIM(try_is_good(&w, blocks), "what is read ahead lies in the file");
    REACHED(w.n, "something is read ahead");
    s->next_block = a.block + a.nblocks;
    s->used++;
    consistent(subject);
}

int main(void)
{
    struct stream stream = {0};
    u64 blocks = any_below(MOST_BLOCKS) + 1;
    begin(subject, NULL, 0, 0);
    for (u64 step = 0; step < PROOF_STEPS; step++)
        try_read(&stream, blocks);
    REACHED(true, "the end");
}
