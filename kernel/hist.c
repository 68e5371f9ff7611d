/* Histograms (hist.h). Counts are atomic; nothing is locked. */
#include "kernel/hist.h"
#include "kernel/args.h"
#include "kernel/dev.h"
#include "kernel/mem.h"
#include "kernel/string.h"

extern struct histogram __start_histograms[], __stop_histograms[];

/* The place of the highest bit; RV64 without Zbb has no instruction for it. */
static u32 highest_bit(u64 value)
{
    u32 place = 0;
    for (u32 step = 32; step; step /= 2) {
        if (value >> step) {
            value >>= step;
            place += step;
        }
    }
    return place;
}

u32 hist_bucket(u64 value)
{
    if (value < 128)
        return value;
    u32 power = highest_bit(value); /* at least 7 */
    return (power - 7) * 128 + (value >> (power - 7));
}

u64 hist_low(u32 bucket)
{
    if (bucket < 256)
        return bucket;
    u32 power = bucket / 128 - 1;
    return (u64)(128 + bucket % 128) << power;
}

void hist_init(struct histogram *h, u32 nunits)
{
    u64 bytes = nunits * sizeof(struct hist_unit);
    h->units = mem_reserve(bytes);
    if (!h->units)
        boot_fail("%s: no memory for the histogram", h->name);
    memset(h->units, 0, bytes);
    h->nunits = nunits;
}

void hist_add(struct histogram *h, u32 unit, u64 value)
{
    struct hist_unit *u = &h->units[unit];
    __atomic_fetch_add(&u->sum, value, __ATOMIC_RELAXED);
    __atomic_fetch_add(&u->counts[hist_bucket(value)], 1, __ATOMIC_RELAXED);
}

static u64 total(const struct hist_unit *u)
{
    u64 n = 0;
    for (u32 i = 0; i < HIST_BUCKETS; i++)
        n += u->counts[i];
    return n;
}

static void print_unit(struct text *t, const struct histogram *h, u32 unit)
{
    const struct hist_unit *u = &h->units[unit];
    text_printf(t, "hist ");
    text_printf(t, h->name, unit);
    text_printf(t, " %s %lu %lu\n", h->unit, total(u), u->sum);
    for (u32 i = 0; i < HIST_BUCKETS; i++) {
        if (u->counts[i])
            text_printf(t, "bucket %lu %lu %u\n", hist_low(i), hist_low(i + 1),
                        u->counts[i]);
    }
}

static void print_all(struct text *t)
{
    for (struct histogram *h = __start_histograms; h < __stop_histograms; h++) {
        for (u32 i = 0; i < h->nunits; i++)
            print_unit(t, h, i);
    }
}

static int hist_read(u32 unit, struct uio *uio)
{
    (void)unit;
    return text_read(uio, print_all);
}

static const struct device hist_device = {
    .id = 9, .name = "hist", .read = hist_read};
DEVICE(hist_device);
