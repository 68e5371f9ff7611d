/* Histograms of the system and of disks (hist.h). Counts are atomic, so there
 * is no lock. */
#include "kernel/measure/hist.h"
#include "kernel/machine/mem.h"
#include "kernel/machine/panic.h"

/* Return the number of the highest bit set; RV64 without Zbb has no instruction
 * for it. */
static u32 highest_bit(u64 value)
{
    u32 bit = 0;
    for (u32 step = 32; step; step /= 2)
        if (value >> bit >> step)
            bit += step;
    return bit;
}

/* Return the bucket of a value. Values below 128 have one each. From there on
 * each power of two has 128 buckets, chosen by the 7 bits after the highest
 * one. */
u32 hist_bucket(u64 value)
{
    if (value < 128)
        return value;
    u32 power = highest_bit(value); /* at least 7 */
    return (power - 7) * 128 + (value >> (power - 7));
}

/* Return the lowest value of a bucket. Below 256 each value is a bucket; above
 * there are 128 to a power of two. */
u64 hist_low(u32 bucket)
{
    if (bucket < 256)
        return bucket;
    u32 power = bucket / 128 - 1;
    return (u64)(128 + bucket % 128) << power;
}

extern const char *const __start_histogram_files[];

/* Return the name of histogram i, and the file that defines it; NULL after the
 * last. */
const char *hist_name(u32 i, const char **file)
{
    if (i >= __stop_histograms - __start_histograms)
        return NULL;
    *file = __start_histogram_files[i];
    return __start_histograms[i].name;
}

/* Make the buckets of all histograms, of each disk if they are for disks. */
void hist_init(u32 disks)
{
    u32 of_disks = 0;
    HISTOGRAM_EACH (h) {
        h->nunits = h->of_disks ? disks : 1;
        h->units = mem_reserve(h->nunits * sizeof *h->units);
        if (!h->units)
            boot_fail("%s: no memory for the histogram", h->name);
        memset(h->units, 0, h->nunits * sizeof *h->units);
        if (h->of_disks)
            h->place = of_disks++;
    }
    prochist_init(of_disks);
}

static void add(struct hist_unit *u, u32 bucket, u64 value)
{
    __atomic_fetch_add(&u->sum, value, __ATOMIC_RELAXED);
    __atomic_fetch_add(&u->counts[bucket], 1, __ATOMIC_RELAXED);
}

void hist_add(struct histogram *h, u64 value)
{
    add(&h->units[0], hist_bucket(value), value);
}

/* Add a value of a request to its disk's histogram and to its process's. */
void hist_add_request(struct histogram *h, u32 disk, u32 pid, u64 value)
{
    u32 bucket = hist_bucket(value);
    if (disk < h->nunits)
        add(&h->units[disk], bucket, value);
    prochist_add(h, pid, bucket, value);
}

/* ---- as text ---- */

/* Return the sum of all buckets. A group that is NULL is empty. */
static u64 total(const u32 *const group[HIST_GROUPS])
{
    u64 n = 0;
    for (u32 i = 0; i < HIST_BUCKETS; i++)
        n += group[i / HIST_GROUP] ? group[i / HIST_GROUP][i % HIST_GROUP] : 0;
    return n;
}

/* Print the buckets of one group that are not empty. */
static void print_group(struct text *t, u32 first, const u32 *counts)
{
    for (u32 i = 0; i < HIST_GROUP; i++)
        if (counts[i])
            text_printf(t, "bucket %lu %lu %u\n", hist_low(first + i),
                        hist_low(first + i + 1), counts[i]);
}

/* Print one histogram as text. */
void hist_print(struct text *t, const char *name, const char *unit, u64 sum,
                const u32 *const group[HIST_GROUPS])
{
    text_printf(t, "hist %s %s %lu %lu\n", name, unit, total(group), sum);
    for (u32 i = 0; i < HIST_GROUPS; i++)
        if (group[i])
            print_group(t, i * HIST_GROUP, group[i]);
}

/* Print the histogram of the system (unit 0) or of one disk. */
static void print_unit(struct text *t, const struct histogram *h, u32 unit)
{
    const struct hist_unit *u = &h->units[unit];
    const u32 *group[HIST_GROUPS];
    char name[48];
    for (u32 i = 0; i < HIST_GROUPS; i++)
        group[i] = &u->counts[i * HIST_GROUP];
    if (h->of_disks)
        ksnprintf(name, sizeof name, "disk%u.%s", unit, h->name);
    else
        strlcpy(name, h->name, sizeof name);
    hist_print(t, name, h->unit, u->sum, group);
}

static void print_all(struct text *t)
{
    HISTOGRAM_EACH (h)
        for (u32 i = 0; i < h->nunits; i++)
            print_unit(t, h, i);
}

static const struct device hist_device = {
    .id = 9, .name = "hist", .print = print_all};
DEVICE(hist_device);
