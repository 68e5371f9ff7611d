/*
 * order: whatever block of metadata has changed, the answer is one of the
 * modes, and ORDER_LOGGED exactly if the policy uses journals.
 */
#include "tools/prove/harness/harness.h"
#include SUBJECT
#include "tools/prove/harness/begin.h"

int main(void)
{
    begin(subject, NULL, 0, 0);
    for (u64 step = 0; step < PROOF_STEPS; step++) {
        struct order_info info;
        ASSUME(info.disk < MAX_DISKS && info.dirty <= info.buffers);
        enum order_mode mode = subject->order.decide(&info);
        TELL("decide about block {} of disk {}, of owner {}: mode {}",
             info.blkno, info.disk, info.owner, mode);
        CLAIM(mode <= ORDER_LOGGED, "the answer is one of the modes");
        CLAIM((mode == ORDER_LOGGED) ==
                  (subject->order.commit_after_ns != NULL),
              "a block is logged exactly if the policy uses journals");
        if (subject->order.commit_after_ns)
            CLAIM(subject->order.commit_after_ns() < NEVER_NS,
                  "each transaction is committed some time");
        consistent(subject);
    }
    REACHED(true, "the end");
}
