/*
 * In place: a logical block lives where the file system put it, and is
 * updated there.
 */
#include "kernel/policy/policy.h"

static u64 inplace_physical(u32 disk, u64 blkno, bool write)
{
    (void)disk;
    (void)write;
    return blkno;
}

static const struct policy inplace = {
    .kind = POLICY_PLACE,
    .name = "inplace",
    .about = "update in place: logical is physical",
    .place = {.physical = inplace_physical},
};
POLICY(inplace);
