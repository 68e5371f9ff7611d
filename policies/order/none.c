/*
 * None: metadata is delayed as file data is, and the update policy writes it in
 * any order, as ext2 of Linux does. Only fsync and sync write it at once.
 *
 * Nothing waits when names are made or removed. A power cut may leave a name
 * without its inode, a block that two files have, or a rename with both names
 * or with neither: e2fsck then asks questions (-y answers them), and may put
 * files into lost+found. An fsync of a file that has a new name writes the
 * metadata that is delayed, so that the name is on the disk, too (Linux writes
 * only the directories that lead to the name).
 *
 * Card, Ts'o and Tweedie describe it ("Design and Implementation of the Second
 * Extended Filesystem", First Dutch International Symposium on Linux, 1994).
 */
#include "kernel/policy/order.h"

static enum order_mode none_decide(const struct order_info *i)
{
    (void)i;
    return ORDER_DELAYED;
}

static const struct policy none = {
    .kind = POLICY_ORDER,
    .name = "none",
    .about = "metadata is delayed like data; only fsync and sync write it",
    .order = {.decide = none_decide},
};
POLICY(none);
