/*
 * kernel/base/types.h as clang needs it. clang looks at `cleanup` before it
 * knows what __auto_type stands for, so the type is named here.
 */
#include_next "kernel/base/types.h"

#undef HOLD_AS_
#define HOLD_AS_(kind, lock, n)                      \
    __typeof__(kind##_take_(lock)) const held_##n##_ \
        __attribute__((unused, cleanup(kind##_give_))) = kind##_take_(lock)
