/*
 * order: whatever block of metadata has changed, the answer is one of the modes.
 */
#include "tools/prove/harness/harness.h"
#include SUBJECT

#ifndef STEPS
#define STEPS 3
#endif

int main(void)
{
    begin(subject, NULL, 0, 0);
    for (u64 step = 0; step < STEPS; step++) {
        struct order_info info;
        ASSUME(info.disk < MAX_DISKS && info.dirty <= info.buffers);
        enum order_mode mode = subject->order.decide(&info);
        TELL("decide about block {} of disk {}, of owner {}: mode {}", info.blkno, info.disk,
             info.owner, mode);
        CLAIM(mode == ORDER_NOW || mode == ORDER_DELAYED,
              "the answer is one of the modes");
        consistent(subject);
    }
    REACHED(true, "the end");
}
