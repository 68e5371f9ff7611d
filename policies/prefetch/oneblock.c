/*
 * One block ahead: when a read goes on where the last one of its stream ended,
 * the block after it is read too, without being waited for.
 *
 * A read goes on if it begins at the next block, or in the last block read,
 * and reaches a block not read before. So small reads ask once for each block.
 * A new stream stands at the file's first block: a read from there goes on.
 *
 * Source: breada of the classical kernel: Bach, "The Design of the UNIX
 * Operating System", sections 3.4 and 5.2.
 */
#include "kernel/policy/prefetch.h"

enum { SEQUENTIAL, AHEAD };

static struct policy_counter counters[] = {
    {"sequential", "reads", "that went on where the last one ended"},
    {"ahead", "blocks", "wanted ahead of what was asked for"},
    {0},
};

/* Read the block behind a read that goes on, unless the stream is that far or
 * the file ends. */
static void oneblock_readahead(struct stream *s, const struct access *a,
                               struct readahead *w)
{
    u64 end = a->block + a->nblocks;
    if (!goes_on(s, a) || end <= s->next_block)
        return;
    counters[SEQUENTIAL].value++;
    if (end >= a->file_blocks)
        return;
    counters[AHEAD].value++;
    w->first = end;
    w->n = 1;
}

static const struct policy oneblock = {
    .kind = POLICY_PREFETCH,
    .name = "oneblock",
    .about = "one block ahead of a sequential read",
    .counters = counters,
    .prefetch = {.readahead = oneblock_readahead},
};
POLICY(oneblock);
