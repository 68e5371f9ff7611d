/*
 * Delayed: a write only makes the block dirty. The block is written when the
 * update policy decides so, or when the cache has no clean buffer left.
 *
 * Source: Mogul, "A Better Update Policy", USENIX Summer 1994, section 2.
 */
#include "kernel/policy/write.h"

static enum write_mode delayed_decide(const struct write_info *w)
{
    (void)w;
    return WRITE_DELAYED;
}

static const struct policy delayed = {
    .kind = POLICY_WRITE,
    .name = "delayed",
    .about = "all data writes are delayed",
    .write = {.decide = delayed_decide},
};
POLICY(delayed);
