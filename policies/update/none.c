/*
 * None: the update daemon writes nothing. A user program may call sync() or
 * smoothsync() instead, as /etc/update did; without one, nothing bounds the
 * age of a dirty block.
 *
 * Source: Mogul, "A Better Update Policy", USENIX Summer 1994, section 3 (the
 * update daemon as a user program).
 */
#include "kernel/policy/update.h"

static u64 none_next_ns(u64 last_ns)
{
    (void)last_ns;
    return NEVER_NS;
}

static void none_scan(u64 now_ns)
{
    (void)now_ns;
}

static const struct policy none = {
    .kind = POLICY_UPDATE,
    .name = "none",
    .about = "no update daemon: a user program decides",
    .update = {.next_ns = none_next_ns, .scan = none_scan},
};
POLICY(none);
