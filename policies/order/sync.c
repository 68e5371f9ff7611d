/*
 * Sync: each step of a change of metadata is on the disk before the next one.
 *
 * After a power cut at any instant, e2fsck -p repairs the disk without a
 * question, and a rename has happened wholly or not at all. A new or removed
 * name costs two writes or more, and the caller waits for each.
 *
 * Pointers to data are delayed. Only one that fills a hole whose zeros an fsync
 * has confirmed reaches the disk later than its block; no caller waits for that
 * (kernel/depend).
 *
 * These are the rules of 4.2BSD (McKusick, Joy, Leffler, Fabry, "A Fast File
 * System for UNIX", ACM TOCS 2(3), 1984), as Ganger and Patt state them
 * ("Metadata Update Performance in File Systems", OSDI 1994, section 2).
 */
#include "kernel/policy/order.h"

static enum order_mode sync_decide(const struct order_info *i)
{
    (void)i;
    return ORDER_NOW;
}

static const struct policy sync = {
    .kind = POLICY_ORDER,
    .name = "sync",
    .about = "metadata is written step by step, and each step is waited for",
    .order = {.decide = sync_decide},
};
POLICY(sync);
