/*
 * Where a transfer's bytes go to or come from: kernel or user memory.
 * The classical uio, with one piece.
 */
#pragma once

#include "kernel/base/types.h"

struct uio {
    u64 addr;   /* of the next byte: a user address, or a kernel pointer */
    u64 left;   /* bytes still wanted */
    u64 offset; /* in the file, of the next byte */
    bool user;  /* addr is in the current process's user memory */
    bool write; /* bytes go from addr to the file */
};

/*
 * Move n <= left bytes between `data` and the uio, in its direction, and
 * advance addr, left and offset. Returns 0, or -EFAULT (then nothing is
 * advanced, though some bytes may have been moved).
 * No spin lock may be held: user memory may have to be allocated or copied.
 */
int uio_move(void *data, u64 n, struct uio *);

/* uio_move with zeros as data, for reads. */
int uio_zero(u64 n, struct uio *);

/* Count n <= left bytes as moved. */
void uio_advance(struct uio *, u64 n);

/* Return the result of a transfer of `wanted` bytes: the number moved, or if
 * that is 0 the error (0 if there was none). */
static inline i64 uio_result(const struct uio *u, u64 wanted, int error)
{
    return u->left < wanted ? (i64)(wanted - u->left) : error;
}
