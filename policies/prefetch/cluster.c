/*
 * Whole clusters: when a block must be read, the rest of its cluster is read
 * with it, whether the reader is sequential or not, because the head is there
 * already.
 *
 * A read that goes on where the last one of its stream ended also has the next
 * cluster read ahead. Clusters have cluster_kb and begin at multiples of their
 * size in the file.
 *
 * Source: Shriver, Small, Smith, "Why does file system prefetching work?"
 * (USENIX 1999), the first proposal of their conclusions.
 */
#include "kernel/policy/prefetch.h"

enum { CLUSTER_KB };

static struct tunable tunables[] = {
    {"cluster_kb", "KB", 64, 1, 1024, "of a cluster"},
    {0},
};

enum { TO }; /* word: the stream's clusters are read up to here */

/* The block before which reading ahead is to stop, by this read alone. */
static u64 wanted_end(const struct stream *s, const struct access *a)
{
    u64 blocks = MAX(1, tunables[CLUSTER_KB].value * 1024 / a->block_bytes);
    u64 end = a->block + a->nblocks;
    u64 cluster_end = (end + blocks - 1) / blocks * blocks;
    bool sequential = s->next_block;
    if (sequential || a->hint == HINT_SEQUENTIAL)
        return cluster_end + blocks;
    return a->found == MISSING ? cluster_end : 0;
}

/* Ask for what lies between the end of this read, or of what was read ahead,
 * and the end of a cluster. */
static void cluster_readahead(struct stream *s, const struct access *a,
                              struct readahead *w)
{
    if (a->found == MISSING)
        s->word[TO] = 0;
    u64 from = MAX(s->word[TO], a->block + a->nblocks);
    u64 to = MIN(wanted_end(s, a), a->file_blocks);
    if (from >= to)
        return;
    s->word[TO] = to;
    w->first = from;
    w->n = to - from;
}

static const struct policy cluster = {
    .kind = POLICY_PREFETCH,
    .name = "cluster",
    .about = "the rest of a block's cluster, and the next if sequential",
    .tunables = tunables,
    .prefetch = {.readahead = cluster_readahead, .takes_hints = true},
};
POLICY(cluster);
