/*
 * Async, asynchronous writes: a write that reaches the end of its block starts
 * at once and is not waited for. A block that is filled only in part is
 * delayed, because the next write is likely to fill it.
 *
 * Source: the default of 4.3BSD (Leffler et al., section 7.4); Mogul, "A
 * Better Update Policy", USENIX Summer 1994, section 2.
 */
#include "kernel/policy/write.h"

static enum write_mode async_decide(const struct write_info *w)
{
    return w->filled ? WRITE_ASYNC : WRITE_DELAYED;
}

static const struct policy async = {
    .kind = POLICY_WRITE,
    .name = "async",
    .about = "filled blocks start at once, partly filled ones are delayed",
    .write = {.decide = async_decide},
};
POLICY(async);
