/*
 * Fixed-point arithmetic by squares and square roots.
 *
 * - The first binary place of the logarithm of m in [1, 2) is 1 if m * m is at
 *   least 2. The next places are those of the logarithm of m * m, or of m * m /
 *   2 if m * m is at least 2. (Knuth, The Art of Computer Programming 1,
 *   section 1.2.2, has this for base 10.)
 * - 2^-x is the product of 2^-(2^-k) for each place k that is set in x; each
 *   of these is the square root of the one before.
 * - Division is long division, one binary place at a time.
 */
#include "user/lib/fixed.h"

#define PLACE_127 ((u128)1 << 127)

/* Return the number of the highest bit that is set; x is not 0. Halves the
 * range of 64 bits each time. */
u32 highest_bit(u64 x)
{
    u32 bit = 0;
    for (u32 half = 32; half > 0; half /= 2)
        if (x >> half) {
            x >>= half;
            bit += half;
        }
    return bit;
}

/* Long division: take down one bit of x at a time, and subtract when it fits.
 */
u128 divide(u128 x, u64 by)
{
    u128 rest = 0, result = 0;
    for (u32 i = 0; i < 128; i++) {
        rest = rest << 1 | x >> 127;
        x <<= 1;
        bool fits = rest >= by;
        if (fits)
            rest -= by;
        result = result << 1 | fits;
    }
    return result;
}

/* The root's bits from the highest on. `root` is kept shifted left by twice the
 * place of the next bit, so that root + bit is what setting it would subtract
 * from x. */
u64 square_root(u128 x)
{
    u128 root = 0;
    for (u128 bit = PLACE_127 >> 1; bit; bit >>= 2) {
        bool set = x >= root + bit;
        if (set)
            x -= root + bit;
        root = (root >> 1) + (set ? bit : 0);
    }
    return root;
}

/* The first binary places are those of the highest bit's number; each further
 * one is found by squaring, see the head. m is in [1, 2), with 63 places. */
u64 log2_fixed(u64 x)
{
    u32 whole = highest_bit(x);
    u64 m = x << (63 - whole); /* Q63 */
    u64 result = whole;
    for (u32 i = 0; i < Q; i++) {
        u128 square = (u128)m * m;
        bool reaches_2 = square >= PLACE_127;
        m = square >> (63 + reaches_2);
        result = result << 1 | reaches_2;
    }
    return result;
}

/* Multiply the factors of the places that are set in x's fraction, then halve
 * the product as often as its whole part says. */
u64 exp2_minus_fixed(u64 x)
{
    static u64 factor[1 + Q]; /* 2^-(2^-k) in Q64 */
    if (!factor[0]) {
        factor[0] = 1UL << 63;
        for (u32 k = 1; k <= Q; k++)
            factor[k] = square_root((u128)factor[k - 1] << 64);
    }
    u64 result = 1UL << 63;
    for (u32 k = 1; k <= Q; k++)
        if (x >> (Q - k) & 1)
            result = (u128)result * factor[k] >> 64;
    u64 halvings = x >> Q;
    return halvings < 64 ? result >> halvings : 0;
}
