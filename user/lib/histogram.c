/* Histograms: see histogram.h. */
#include "user/lib.h"
#include "user/lib/histogram.h"

/* The bucket follows from the value's highest 8 bits, 128 to 255, and from the
 * number of bits below them. */
static u32 bucket_of(u64 value)
{
    if (value < SUB_BUCKETS)
        return value;
    u32 shift = highest_bit(value) - 7;
    return shift * SUB_BUCKETS + (value >> shift);
}

static u64 bucket_low(u32 bucket)
{
    if (bucket < SUB_BUCKETS)
        return bucket;
    u32 shift = bucket / SUB_BUCKETS - 1;
    return (u64)(bucket % SUB_BUCKETS + SUB_BUCKETS) << shift;
}

void histogram_add(struct histogram *h, u64 value)
{
    h->min = h->count == 0 ? value : MIN(h->min, value);
    h->max = MAX(h->max, value);
    h->count++;
    h->sum += value;
    h->squares += (u128)value * value;
    h->bucket[bucket_of(value)]++;
}

/* Return the middle of the bucket in which the value of that rank lies; no more
 * than the largest value. The rank is rounded up. */
u64 histogram_quantile(const struct histogram *h, u64 of_1000)
{
    u64 rank = MAX(1, (h->count * of_1000 + 999) / 1000), seen = 0;
    for (u32 i = 0; i < BUCKETS; i++) {
        seen += h->bucket[i];
        if (seen >= rank)
            return MIN((bucket_low(i) + bucket_low(i + 1) - 1) / 2, h->max);
    }
    return 0;
}

void histogram_print_summary(const struct histogram *h)
{
    u64 n = MAX(h->count, 1);
    u128 spread = h->squares - divide((u128)h->sum * h->sum, n);
    printf("{\"min\":%lu,\"max\":%lu,\"mean\":%lu,\"std\":%lu}", h->min, h->max,
           h->sum / n, square_root(divide(spread, n)));
}

void histogram_print_buckets(const struct histogram *h)
{
    const char *separator = "";
    printf("[");
    for (u32 i = 0; i < BUCKETS; i++) {
        if (!h->bucket[i])
            continue;
        printf("%s[%lu,%lu]", separator, bucket_low(i), h->bucket[i]);
        separator = ",";
    }
    printf("]");
}
