/*
 * None: only blocks that were asked for are read.
 */
#include "kernel/policy/policy.h"

static void none_ahead(struct stream *s, const struct access *a, struct wish *w)
{
    (void)s;
    (void)a;
    (void)w;
}

static const struct policy none = {
    .kind = POLICY_PREFETCH,
    .name = "none",
    .about = "read nothing ahead",
    .prefetch = {.ahead = none_ahead},
};
POLICY(none);
