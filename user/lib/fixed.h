/* Arithmetic that C without floating point and without libgcc lacks (fixed.c).
 * Qn is a number with n binary places. */
#ifndef SLUICE_USER_FIXED_H
#define SLUICE_USER_FIXED_H

#include "kernel/base/types.h"

typedef unsigned __int128 u128;

#define Q 40 /* places of logarithms */

u32 highest_bit(u64 x); /* of x > 0: 0 to 63 */
u128 divide(u128 x, u64 by);
u64 square_root(u128 x);     /* rounded down */
u64 log2_fixed(u64 x);       /* of x > 0, in Q40: at most 2^-40 too small */
u64 exp2_minus_fixed(u64 x); /* x is in Q40; 2^-x in Q63, within 2^-57 */

#endif
