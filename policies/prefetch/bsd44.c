/*
 * The read-ahead of 4.4BSD: a read that goes on where the last one of its
 * stream ended has the blocks after it read ahead, one block at first.
 *
 * When the reader comes to the blocks that were read ahead last, twice as many
 * are read ahead after them, up to cluster_kb. So the drive has the next part
 * to read while the program uses this one. If a program says that it reads
 * sequentially, a whole cluster is read ahead at once.
 *
 * In 4.4BSD a call reads its blocks one by one, and the driver merges no
 * requests. So a file of 64 KB is read by four commands, of 1, 1, 2 and 4
 * blocks of 8 KB. With by_block=1 the kernel does the same. Otherwise it
 * requests all blocks of a call at once, and merges them with the blocks that
 * are read ahead.
 *
 * Source: McKusick, Bostic, Karels, Quarterman, "The Design and Implementation
 * of the 4.4BSD Operating System", clustering in section 8.2; Shriver, Small,
 * Smith 1999, section 2.
 */
#include "kernel/policy/prefetch.h"

enum { CLUSTER_KB, BY_BLOCK };

static struct tunable tunables[] = {
    {"cluster_kb", "KB", 64, 1, 1024, "most to read ahead at a time"},
    {"by_block", "0 or 1", 0, 0, 1, "a call's blocks are read one by one"},
    {0},
};

enum { FROM, TO }; /* words: start and end of the blocks read ahead last */

/* The size of the next read-ahead, in blocks, after one of `last` blocks. */
static u64 next_size(u64 last, const struct access *a)
{
    u64 most = MAX(1, tunables[CLUSTER_KB].value * 1024 / a->block_bytes);
    if (a->hint == HINT_SEQUENTIAL)
        return most;
    return last ? MIN(2 * last, most) : 1;
}

/* Once a sequential read reaches the blocks read ahead last, FROM to TO, ask
 * for more behind them. */
static void bsd44_readahead(struct stream *s, const struct access *a,
                            struct readahead *w)
{
    u64 end = a->block + a->nblocks;
    if (!goes_on(s, a) || end <= s->next_block || end <= s->word[FROM])
        return;
    u64 from = MAX(s->word[TO], end);
    u64 to = from + next_size(s->word[TO] - s->word[FROM], a);
    s->word[FROM] = from;
    s->word[TO] = to;
    if (from >= a->file_blocks)
        return;
    w->first = from;
    w->n = MIN(to, a->file_blocks) - from;
}

static bool bsd44_by_block(void)
{
    return tunables[BY_BLOCK].value;
}

static const struct policy bsd44 = {
    .kind = POLICY_PREFETCH,
    .name = "bsd44",
    .about = "ahead of sequential reads, growing to a cluster",
    .tunables = tunables,
    .prefetch = {.readahead = bsd44_readahead,
                 .takes_hints = true,
                 .by_block = bsd44_by_block},
};
POLICY(bsd44);
