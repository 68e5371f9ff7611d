/* XDR (RFC 4506): numbers are big-endian words, and all things are padded to
 * whole words. See internal.h. */
#include "kernel/nfs/internal.h"

#define PADDED(n) (((u64)(n) + 3) / 4 * 4)

/* Pass n bytes and their padding. Return where they begin, or NULL past the
 * end: x is bad from then on, and all that follows fails too. */
u8 *xdr_skip(struct xdr *x, u32 n)
{
    u8 *at = x->at;
    if (x->bad || PADDED(n) > (u64)(x->end - x->at)) {
        x->bad = true;
        return NULL;
    }
    x->at += PADDED(n);
    return at;
}

/* Take a word; 0 if x is bad. */
u32 xdr_u32(struct xdr *x)
{
    const u8 *p = xdr_skip(x, 4);
    return p ? (u32)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3] : 0;
}

u64 xdr_u64(struct xdr *x)
{
    u64 high = xdr_u32(x);
    return high << 32 | xdr_u32(x);
}

/* Take a truth value. A word other than 0 and 1 makes x bad. */
bool xdr_bool(struct xdr *x)
{
    u32 word = xdr_u32(x);
    x->bad |= word > 1;
    return !x->bad && word;
}

/* Take bytes with their length in *n. More than `most` makes x bad. */
u8 *xdr_bytes(struct xdr *x, u32 *n, u32 most)
{
    *n = xdr_u32(x);
    x->bad |= *n > most;
    return xdr_skip(x, *n);
}

/* Put a word, its highest byte first. */
void xdr_put(struct xdr *x, u32 word)
{
    u8 *p = xdr_skip(x, 4);
    for (u32 i = 0; p && i < 4; i++)
        p[i] = word >> (24 - 8 * i);
}

void xdr_put64(struct xdr *x, u64 v)
{
    xdr_put(x, v >> 32);
    xdr_put(x, v);
}

/* Leave room for n bytes, and zero the padding after them. */
void xdr_pad(struct xdr *x, u32 n)
{
    u8 *p = xdr_skip(x, n);
    if (p)
        memset(p + n, 0, PADDED(n) - n);
}

/* Put n bytes with their length. */
void xdr_put_bytes(struct xdr *x, const void *bytes, u32 n)
{
    xdr_put(x, n);
    u8 *at = x->at;
    xdr_pad(x, n);
    if (!x->bad)
        memcpy(at, bytes, n);
}

void xdr_put_text(struct xdr *x, const char *text)
{
    xdr_put_bytes(x, text, strlen(text));
}
