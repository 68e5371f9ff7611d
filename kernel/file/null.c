/*
 * /dev/null and /dev/zero. Both discard all that is written. A read of null is
 * at the end of the file at once, a read of zero never.
 */
#include "kernel/file/dev.h"

/* Take all bytes that are written, and keep none. */
static int discard(u32, struct uio *u)
{
    uio_advance(u, u->left);
    return 0;
}

static int null_read(u32, struct uio *)
{
    return 0;
}

/* Give zeros by the page, so that what fits is moved before a bad address is
 * met. */
static int zero_read(u32, struct uio *u)
{
    int error = 0;
    while (u->left > 0 && !error)
        error = uio_zero(MIN(u->left, PAGE_SIZE), u);
    return error;
}

static const struct device null = {
    .id = 2, .name = "null", .read = null_read, .write = discard};
DEVICE(null);

static const struct device zero = {
    .id = 3, .name = "zero", .read = zero_read, .write = discard};
DEVICE(zero);
