/*
 * None: nothing is read that was not asked for.
 */
#include "kernel/policy.h"

static u64 none_ahead(struct stream *s, const struct access *a, u64 *first)
{
    (void)s;
    (void)a;
    (void)first;
    return 0;
}

static const struct policy none = {
    .kind = POLICY_PREFETCH,
    .name = "none",
    .about = "read nothing ahead",
    .prefetch = {.ahead = none_ahead},
};
POLICY(none);
