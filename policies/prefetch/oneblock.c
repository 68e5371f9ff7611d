/*
 * One block ahead: when a read goes on where the last one through the same
 * open file ended, the block after it is read too, without being waited for.
 *
 * A read goes on if it begins at the next block, or in the last one read, and
 * reaches a block not read before; so small reads ask once a block. A file
 * just opened is at its first block: reading from there goes on.
 *
 * Source: breada of the classical kernel: Bach, "The Design of the UNIX
 * Operating System", sections 3.4 and 5.2.
 */
#include "kernel/policy.h"

static struct policy_counter counters[] = {
    {"sequential", "reads", "that went on where the last one ended"},
    {"ahead", "blocks", "wanted ahead of what was asked for"},
    {0},
};

static u64 oneblock_ahead(struct stream *s, const struct access *a, u64 *first)
{
    u64 end = a->block + a->nblocks;
    if (a->block > s->next_block || a->block + 1 < s->next_block ||
        end <= s->next_block)
        return 0;
    counters[0].value++;
    if (end >= a->file_blocks)
        return 0;
    counters[1].value++;
    *first = end;
    return 1;
}

static const struct policy oneblock = {
    .kind = POLICY_PREFETCH,
    .name = "oneblock",
    .about = "one block ahead of a sequential read",
    .counters = counters,
    .prefetch = {.ahead = oneblock_ahead},
};
POLICY(oneblock);
