/*
 * Hints: only what programs announce is read ahead.
 *
 * If a program says that it reads a file sequentially, window_kb are kept
 * ahead of the reader; when half of that is used up, the window is filled
 * again. If it says that it will need blocks, or will not need them again, the
 * kernel itself reads or evicts them.
 *
 * Source: Patterson, Gibson, Ginting, Stodolsky, Zelenka, "Informed
 * prefetching and caching" (SOSP 1995): disclosure by hints; the hints are
 * those of posix_fadvise.
 */
#include "kernel/policy/prefetch.h"

enum { WINDOW_KB };

static struct tunable tunables[] = {
    {"window_kb", "KB", 128, 4, 4096, "kept ahead of a sequential reader"},
    {0},
};

enum { TO }; /* word: read ahead up to here */

/* Fill the window behind a read again when at most half of it is read ahead. */
static void hints_readahead(struct stream *s, const struct access *a,
                            struct readahead *w)
{
    if (a->hint != HINT_SEQUENTIAL)
        return;
    u64 window = MAX(2, tunables[WINDOW_KB].value * 1024 / a->block_bytes);
    u64 end = a->block + a->nblocks;
    u64 from = a->found == MISSING ? end : MAX(s->word[TO], end);
    u64 to = MIN(end + window, a->file_blocks);
    if (from >= to || from > end + window / 2)
        return;
    s->word[TO] = to;
    w->first = from;
    w->n = to - from;
}

static const struct policy hints = {
    .kind = POLICY_PREFETCH,
    .name = "hints",
    .about = "what programs say they will read",
    .tunables = tunables,
    .prefetch = {.readahead = hints_readahead, .takes_hints = true},
};
POLICY(hints);
