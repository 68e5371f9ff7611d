/*
 * None: only blocks that were asked for are read.
 *
 * The blocks of a call are read by one command where they are neighbours.
 * With by_block=1 each block is read by its own command, and the next command
 * starts when it is done, as in the measurements of Shriver, Small, Smith 1999.
 */
#include "kernel/policy/prefetch.h"

enum { BY_BLOCK };

static struct tunable tunables[] = {
    {"by_block", "0 or 1", 0, 0, 1, "a call's blocks are read one by one"},
    {0},
};

static void none_readahead(struct stream *s, const struct access *a,
                           struct readahead *w)
{
    (void)s;
    (void)a;
    (void)w;
}

static bool none_by_block(void)
{
    return tunables[BY_BLOCK].value;
}

static const struct policy none = {
    .kind = POLICY_PREFETCH,
    .name = "none",
    .about = "read nothing ahead",
    .tunables = tunables,
    .prefetch = {.readahead = none_readahead, .by_block = none_by_block},
};
POLICY(none);
