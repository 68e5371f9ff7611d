/*
 * None: only blocks that were asked for are read.
 */
#include "kernel/policy/prefetch.h"

static void none_readahead(struct stream *s, const struct access *a,
                           struct readahead *w)
{
    (void)s;
    (void)a;
    (void)w;
}

static const struct policy none = {
    .kind = POLICY_PREFETCH,
    .name = "none",
    .about = "read nothing ahead",
    .prefetch = {.readahead = none_readahead},
};
POLICY(none);
