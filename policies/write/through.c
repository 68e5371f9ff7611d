/*
 * Through: a write is on the disk when the call returns.
 *
 * Source: write-through as in Mogul, "A Better Update Policy", USENIX Summer
 * 1994, section 2, but waited for.
 */
#include "kernel/policy/write.h"

static enum write_mode through_decide(const struct write_info *w)
{
    (void)w;
    return WRITE_THROUGH;
}

static const struct policy through = {
    .kind = POLICY_WRITE,
    .name = "through",
    .about = "write, and wait for the disk",
    .write = {.decide = through_decide},
};
POLICY(through);
