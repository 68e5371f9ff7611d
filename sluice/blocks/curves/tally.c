/* Hits by the cache's size (curves.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/blocks/curves/curves.h"

void tally_init(struct tally *t, const u64 *size, u64 nsizes, u64 warmup)
{
    *t = (struct tally){.nsizes = nsizes, .warmup = warmup};
    t->size = memory(nsizes, sizeof *size);
    memcpy(t->size, size, nsizes * sizeof *size);
    t->hits = memory(nsizes + 1, sizeof *t->hits);
}

/* Return the smallest size, by number, in which a use at that depth is a hit;
 * nsizes: none. */
u64 tally_find(const struct tally *t, u64 depth)
{
    u64 low = 0, high = t->nsizes;
    if (!depth)
        return high;
    while (low < high) {
        u64 middle = (low + high) / 2;
        if (t->size[middle] < depth)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void tally_request(struct tally *t, const struct packed_request *r, u64 i)
{
    t->all.requests++;
    t->all.reads += !r->write;
    t->hits[i].requests++;
    t->hits[i].reads += !r->write;
}

static void print_hits(const struct hits *h)
{
    printf("{\"requests\":%.17g,\"reads\":%.17g,\"blocks\":%.17g,"
           "\"bytes\":%.17g}",
           h->requests, h->reads, h->blocks, h->bytes);
}

/* Print the counts for each size. If they are stacked, a size's hits include
 * those of all smaller ones. */
void tally_print(const struct tally *t, const char *name, bool stacked)
{
    struct hits sum = {0};
    printf(",\"%s\":{\"all\":", name);
    print_hits(&t->all);
    printf(",\"hits\":[");
    for (u64 i = 0; i < t->nsizes; i++) {
        const struct hits *h = &t->hits[i];
        if (!stacked)
            sum = (struct hits){0};
        sum.requests += h->requests;
        sum.reads += h->reads;
        sum.blocks += h->blocks;
        sum.bytes += h->bytes;
        printf(i ? "," : "");
        print_hits(&sum);
    }
    printf("]}");
}
