/*
 * In place: a block stays where the file system put it, and is updated there.
 * That is what the kernel does without a hook.
 */
#include "kernel/policy/place.h"

static const struct policy inplace = {
    .kind = POLICY_PLACE,
    .name = "inplace",
    .about = "update in place: logical is physical",
};
POLICY(inplace);
