/*
 * Random numbers of several distributions, in integers.
 *
 * - Below n: the high half of the product of n and an output (Lemire, Fast
 *   random integer generation in an interval, 2019) without its rejection: no
 *   number's probability is off by more than 2^-64.
 * - Exponential: minus the logarithm of a uniform number in (0, 1), rounded
 *   down to ns; the logarithm is exact to 2^-40.
 * - Zipf: a table of cumulative weights, 2^40 for the first rank, searched by
 *   halving. A weight is off by less than 3 units up to theta 3, so that no
 *   probability is off by more than 2^-38.
 */
#include "user/lib.h"
#include "user/lib/fixed.h"
#include "user/lib/random.h"

/* A second in ns fits 64 bits with these places. */
#define MEAN_PLACES 30

#define LN2_Q64 0xb17217f7d1cf79abUL

/* Weights have 40 places: ZIPF_MAX of them add up to less than 2^63. */
#define WEIGHT_PLACES 40

struct zipf {
    u64 n;
    u64 *sum;  /* [r]: weights of ranks 0 to r */
    u32 *item; /* [r]: which item has that rank */
};

u64 random_stream(u64 seed, u64 job, u64 use)
{
    u64 state = seed;
    state = random_u64(&state) + job;
    state = random_u64(&state) + use;
    return random_u64(&state);
}

u64 random_below(u64 *state, u64 n)
{
    return (u128)random_u64(state) * n >> 64;
}

/* Return a random row, each as often as its weight says. */
const struct weighted *random_weighted(u64 *state, const struct weighted *w,
                                       u32 n)
{
    u64 all = 0;
    for (u32 i = 0; i < n; i++)
        all += w[i].weight;
    for (u64 left = random_below(state, all); left >= w->weight; w++)
        left -= w->weight;
    return w;
}

/* Minus the logarithm of a random number from (0, 1), times the mean. The
 * number is an output divided by 2^64, so 64 is subtracted from its logarithm
 * to base 2. Logarithms have Q binary places. */
u64 random_gap_ns(u64 *state, u64 rate_per_s)
{
    u64 minus_log2 = (64UL << Q) - log2_fixed(random_u64(state) | 1);
    u64 minus_ln = (u128)minus_log2 * LN2_Q64 >> 64;
    u64 mean_ns = (NS_PER_S << MEAN_PLACES) / rate_per_s;
    return (u128)minus_ln * mean_ns >> (Q + MEAN_PLACES);
}

/* Make a Zipf distribution over n items: rank r has the weight 1 / (r +
 * 1)^theta. sum has the sums of weights up to each rank; item is a random order
 * of the items. */
struct zipf *zipf_make(u64 n, u64 theta_thousandths, u64 seed)
{
    struct zipf *z = xmalloc(sizeof *z);
    u64 sum = 0;
    *z = (struct zipf){.n = n,
                       .sum = xmalloc(n * sizeof z->sum[0]),
                       .item = xmalloc(n * sizeof z->item[0])};
    for (u64 r = 0; r < n; r++) {
        u64 exponent = log2_fixed(r + 1) * theta_thousandths / 1000;
        sum += exp2_minus_fixed(exponent) >> (63 - WEIGHT_PLACES);
        z->sum[r] = sum;
        u64 other = random_below(&seed, r + 1);
        z->item[r] = z->item[other];
        z->item[other] = r;
    }
    return z;
}

/* Return a random item: the one at the first rank whose sum is above a random
 * number. */
u64 zipf_pick(const struct zipf *z, u64 *state)
{
    u64 x = random_below(state, z->sum[z->n - 1]);
    u64 low = 0, high = z->n - 1; /* the rank is in [low, high] */
    while (low < high) {
        u64 middle = (low + high) / 2;
        if (x < z->sum[middle])
            high = middle;
        else
            low = middle + 1;
    }
    return z->item[low];
}
