/* Measurements of requests, by slices of time (slices.h). */
#include "sluice/blocks/slices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/blocks/hart.h"
#include "kernel/machine/panic.h"
#include "kernel/measure/hist.h"

#define KINDS 2 /* reads, writes */

static struct {
    struct times *times; /* KINDS for each slice */
    u64 room;            /* slices */
} slices;

/* Count a request. Short times have a bucket each, longer ones share them. */
void times_add(struct times *t, u64 ns, u64 bytes, u64 hit_bytes)
{
    if (!t->bucket)
        t->bucket = host_memory(HIST_BUCKETS * sizeof(u64));
    t->min = t->count ? MIN(t->min, ns) : ns;
    t->max = MAX(t->max, ns);
    t->count++;
    t->bytes += bytes;
    t->hits += bytes == hit_bytes;
    t->hit_bytes += hit_bytes;
    t->sum += ns;
    t->squares += (unsigned __int128)ns * ns;
    t->bucket[ns < HIST_GROUP ? ns : hist_bucket(ns)]++;
}

/* Make the array long enough for this slice, at least twice as long as it was,
 * and clear what is new. */
static void make_room(u64 slice)
{
    u64 room = MAX(2 * slices.room, slice + 1);
    slices.times = realloc(slices.times, room * KINDS * sizeof *slices.times);
    if (!slices.times)
        panic("slices: no memory is left");
    memset(slices.times + slices.room * KINDS, 0,
           (room - slices.room) * KINDS * sizeof *slices.times);
    slices.room = room;
}

void slices_add(u64 slice, bool write, u64 ns, u64 bytes, u64 hit_bytes)
{
    if (slice >= slices.room)
        make_room(slice);
    times_add(&slices.times[slice * KINDS + write], ns, bytes, hit_bytes);
}

static bool put(FILE *f, const u64 *numbers, u64 n)
{
    return fwrite(numbers, sizeof *numbers, n, f) == n;
}

/* Write a record: ten numbers, then for each bucket in use its highest value
 * and its count. */
static bool write_times(FILE *f, u64 slice, u64 kind, const struct times *t)
{
    u64 used = 0;
    for (u32 i = 0; i < HIST_BUCKETS; i++)
        used += t->bucket[i] != 0;
    u64 head[] = {slice,  kind,    t->count,     t->bytes,    t->min,
                  t->max, t->hits, t->hit_bytes, (u64)t->sum, used};
    if (!put(f, head, sizeof head / sizeof head[0]))
        return false;
    for (u32 i = 0; i < HIST_BUCKETS; i++) {
        u64 pair[] = {hist_low(i + 1) - 1, t->bucket[i]};
        if (t->bucket[i] && !put(f, pair, 2))
            return false;
    }
    return true;
}

bool slices_write(const char *path)
{
    FILE *f = fopen(path, "wb");
    bool good = f;
    for (u64 i = 0; good && i < slices.room * KINDS; i++)
        if (slices.times[i].count)
            good = write_times(f, i / KINDS, i % KINDS, &slices.times[i]);
    return f && !fclose(f) && good;
}
