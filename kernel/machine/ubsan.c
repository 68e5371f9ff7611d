/*
 * The handlers that the compiler's undefined-behaviour checks call in a debug
 * build (gcc 12, -fsanitize=undefined). Each panics with the kind of mistake
 * and its place. The first argument of every handler begins with the place; the
 * others are ignored. The handlers get their names by asm labels, because the
 * compiler knows them as builtins of other types.
 */
#ifdef DEBUG

#include "kernel/machine/panic.h"

struct place {
    const char *file;
    u32 line, column;
};

#define HANDLER(name, what)                                                   \
    void ubsan_##name(const struct place *at) __asm__(                        \
        "__ubsan_handle_" #name);                                             \
    void ubsan_##name(const struct place *at)                                 \
    {                                                                         \
        panic("ubsan: %s at %s:%u:%u", what, at->file, at->line, at->column); \
    }

HANDLER(type_mismatch_v1, "null or misaligned pointer")
HANDLER(add_overflow, "addition overflows")
HANDLER(sub_overflow, "subtraction overflows")
HANDLER(mul_overflow, "multiplication overflows")
HANDLER(negate_overflow, "negation overflows")
HANDLER(divrem_overflow, "division overflows or is by zero")
HANDLER(shift_out_of_bounds, "shift out of bounds")
HANDLER(out_of_bounds, "index out of bounds")
HANDLER(load_invalid_value, "value invalid for its type")
HANDLER(builtin_unreachable, "unreachable point reached")
HANDLER(missing_return, "end of a function without a return")
HANDLER(pointer_overflow, "pointer overflows")
HANDLER(vla_bound_not_positive, "array of no or negative length")
HANDLER(nonnull_arg, "null argument")
HANDLER(nonnull_return_v1, "null returned")
HANDLER(invalid_builtin, "zero given to a builtin")

#endif
