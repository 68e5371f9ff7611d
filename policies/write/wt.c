/*
 * WT, write-through as the papers have it: every write starts at once, whether
 * it fills its block or not, and is not waited for.
 *
 * So the update policy finds nothing to do, and a block that is written twice
 * goes to the disk twice. (The policy `through` also waits for the disk.)
 *
 * Source: Carson and Setia, "Analysis of the Periodic Update Write Policy for
 * Disk Cache", 1992; Mogul, "A Better Update Policy", USENIX Summer 1994.
 */
#include "kernel/policy/write.h"

static enum write_mode wt_decide(const struct write_info *w)
{
    (void)w;
    return WRITE_ASYNC;
}

static const struct policy wt = {
    .kind = POLICY_WRITE,
    .name = "wt",
    .about = "every write starts at once and is not waited for",
    .write = {.decide = wt_decide},
};
POLICY(wt);
