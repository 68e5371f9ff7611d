/* Integer types and the few macros every file uses. Compiles natively too. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A bare compiler may lack it, as Debian's gcc 15 for riscv64-unknown-elf. */
#if __has_include(<stdint.h>)
#include <stdint.h>
#else
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINTPTR_TYPE__ uintptr_t;
#define INT32_MAX  __INT32_MAX__
#define UINT16_MAX __UINT16_MAX__
#define UINT32_MAX __UINT32_MAX__
#define UINT64_MAX __UINT64_MAX__
#endif

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t i32;
typedef int64_t i64;

#define NELEM(a) (sizeof(a) / sizeof((a)[0]))

/* The lesser and the greater. Each argument is evaluated once. */
#define MIN(a, b)                                        \
    ({                                                   \
        __typeof__(true ? (a) : (b)) a_ = (a), b_ = (b); \
        a_ < b_ ? a_ : b_;                               \
    })
#define MAX(a, b)                                        \
    ({                                                   \
        __typeof__(true ? (a) : (b)) a_ = (a), b_ = (b); \
        a_ > b_ ? a_ : b_;                               \
    })

/* Round x up or down to a multiple of n, a power of two: with another n this
 * divides by zero, and does not compile. */
#define ROUND_UP(x, n)   ROUND_DOWN((x) + (n)-1, n)
#define ROUND_DOWN(x, n) ((x) & ~((u64)(n) / !((n) & ((n)-1)) - 1))

/* Make the call. If it fails, end the function around this line with the call's
 * error. */
#define TRY(call)            \
    do {                     \
        int error_ = (call); \
        if (error_)          \
            return error_;   \
    } while (0)

/*
 * Hold a lock from here to the end of the block, however that is left:
 *
 *     HOLDER(spin, struct spinlock, spin_lock, spin_unlock)   once, in a header
 *     HOLD(spin, &lock);                 in a block; NULL: hold nothing
 */
#define HOLDER(kind, type, take, give)                 \
    static inline type *kind##_take_(type *lock)       \
    {                                                  \
        if (lock)                                      \
            take(lock);                                \
        return lock;                                   \
    }                                                  \
    static inline void kind##_give_(type *const *lock) \
    {                                                  \
        if (*lock)                                     \
            give(*lock);                               \
    }
#define HOLD(kind, lock)     HOLD_(kind, lock, __COUNTER__)
#define HOLD_(kind, lock, n) HOLD_AS_(kind, lock, n)
#define HOLD_AS_(kind, lock, n)                  \
    typeof(kind##_take_(NULL)) const held_##n##_ \
        __attribute__((cleanup(kind##_give_), unused)) = kind##_take_(lock)

/*
 * A pointer that gives back what it points to when it goes out of scope:
 *
 *     OWNER(inode, struct inode, iput)              once, in a header
 *     OWNED(inode) struct inode *ip = NULL;         in a block; NULL: nothing
 */
#define OWNER(kind, type, give)                 \
    static inline void kind##_owned_(type **at) \
    {                                           \
        if (*at)                                \
            give(*at);                          \
    }
#define OWNED(kind) __attribute__((cleanup(kind##_owned_)))

/* The structure of the given type whose member is at p. */
#define CONTAINER(p, type, member) \
    ((type *)((char *)(p)-offsetof(type, member)))

#define PAGE_SIZE 4096UL
