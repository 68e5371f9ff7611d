/*
 * Yours. So far all data writes are delayed.
 */
#include "kernel/policy/write.h"

static enum write_mode own_decide(const struct write_info *w)
{
    (void)w;
    return WRITE_DELAYED;
}

static const struct policy own = {
    .kind = POLICY_WRITE,
    .name = "own",
    .about = "so far all data writes are delayed",
    .write = {.decide = own_decide},
};
POLICY(own);
