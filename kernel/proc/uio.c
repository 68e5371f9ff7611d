/*
 * Moving bytes between the kernel and the memory that a transfer is about
 * (uio.h).
 *
 * - The uio is advanced only over bytes that have certainly been moved, so it
 *   tells the caller how much of a failed transfer took place.
 */
#include "kernel/proc/uio.h"
#include "kernel/machine/panic.h"
#include "kernel/proc/vm.h"

static char zeros[PAGE_SIZE]; /* never written */

void uio_advance(struct uio *u, u64 n)
{
    assert(n <= u->left);
    u->addr += n;
    u->left -= n;
    u->offset += n;
}

int uio_move(void *data, u64 n, struct uio *u)
{
    void *kernel = (void *)u->addr;
    assert(n <= u->left);
    if (u->user)
        TRY(u->write ? copyin(data, u->addr, n) : copyout(u->addr, data, n));
    else
        memcpy(u->write ? data : kernel, u->write ? kernel : data, n);
    uio_advance(u, n);
    return 0;
}

/* Fill the next n bytes with zeros. On an error u has not moved. */
int uio_zero(u64 n, struct uio *u)
{
    assert(!u->write);
    struct uio at = *u;
    while (n > 0) {
        u64 piece = MIN(n, PAGE_SIZE);
        TRY(uio_move(zeros, piece, &at));
        n -= piece;
    }
    *u = at;
    return 0;
}
