/*
 * The program `curve`: what hits in caches of any size, by one pass over a
 * trace, and what the best possible cache would hit.
 *
 *   curve [-w N] [-s RATE] [-n BLOCKS] [-k SALT] [-o] [-m MISSES] [-d FOLDER]
 *         REQUESTS SIZE...
 *
 * - REQUESTS is a file in the form of sluice/trace/packed.py; a SIZE is a
 * number of blocks of 4 KiB, and sizes rise.
 * - Without -s, -n and -o, it prints LRU's hits, exact. -s, -n: from a sample
 *   with this rate, or of so many blocks; -k: another sample.
 * - -o: the hits of Belady's optimum instead. -m: MISSES gets the reads that
 *   miss there, at the one size. -d: where it may keep 8 bytes for each use.
 * - -w: the first N requests fill the cache and do not count.
 *
 * Prints one line of JSON.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sluice/blocks/curves/curves.h"
#include "sluice/blocks/usage.h"

static struct {
    u64 warmup, most, salt;
    double rate;
    bool optimum;
    const char *misses, *scratch;
} options = {.rate = 1, .scratch = "/tmp"};

void fail(const char *fmt, ...)
{
    va_list list;
    va_start(list, fmt);
    fprintf(stderr, "curve: ");
    vfprintf(stderr, fmt, list);
    fprintf(stderr, "\n");
    va_end(list);
    exit(1);
}

void *memory(u64 count, u64 bytes)
{
    void *found = calloc(count, bytes);
    if (!found)
        fail("no memory is left");
    return found;
}

/* ---- the exact curve of LRU ---- */

struct depths {
    struct stack stack;
    u64 *size; /* of each block of a request: the place of its size */
    u64 room;
};

/* Count a request by the depths of its blocks when it came. */
static void count_request(struct depths *d, struct tally *t,
                          const struct packed_request *r)
{
    u64 deepest = 0;
    for (u64 block = first_block(r); block < end_block(r); block++) {
        u64 i = tally_find(t, stack_depth(&d->stack, block));
        t->hits[i].bytes += (double)block_bytes(r, block);
        deepest = i > deepest ? i : deepest;
    }
    t->all.bytes += r->bytes;
    tally_request(t, r, deepest);
}

/* Count each block's use at its depth in the LRU stack: it is a hit in every
 * cache that is at least so large. Returns how many different blocks there
 * are. */
u64 lru_curve(struct tally *t, u64 nrequests)
{
    struct depths d = {0};
    stack_init(&d.stack);
    for (u64 number = 0; number < nrequests; number++) {
        const struct packed_request *r = request_at(number);
        bool counts = number >= t->warmup;
        if (counts)
            count_request(&d, t, r);
        for (u64 block = first_block(r); block < end_block(r); block++) {
            u64 depth = stack_use(&d.stack, block);
            if (!counts)
                continue;
            t->hits[tally_find(t, depth)].blocks++;
            t->all.blocks++;
        }
    }
    return d.stack.at.used;
}

/* ---- the command line ---- */

static u64 number_of(const char *text, const char *what)
{
    char *end;
    u64 n = strtoul(text, &end, 10);
    if (*end || end == text || *text == '-')
        fail("%s %s: must be a whole number", what, text);
    return n;
}

static double rate_of(const char *text)
{
    char *end;
    double rate = strtod(text, &end);
    if (*end || end == text || !(rate > 0 && rate <= 1))
        fail("-s %s: must be above 0, and 1 at most", text);
    return rate;
}

/* Take the options of the command line into `options`, and check which fit
 * together. */
static void read_options(int argc, char **argv)
{
    int option;
    while ((option = getopt(argc, argv, "d:k:m:n:os:w:")) >= 0) {
        if (option == 'd')
            options.scratch = optarg;
        else if (option == 'k')
            options.salt = number_of(optarg, "-k");
        else if (option == 'm')
            options.misses = optarg;
        else if (option == 'n')
            options.most = number_of(optarg, "-n");
        else if (option == 'o')
            options.optimum = true;
        else if (option == 's')
            options.rate = rate_of(optarg);
        else if (option == 'w')
            options.warmup = number_of(optarg, "-w");
        else
            exit(1);
    }
    if (argc - optind < 2)
        fail("REQUESTS and a SIZE are needed");
    if (options.misses && argc - optind != 2)
        fail("-m: needs one size");
}

/* Return the cache sizes, in blocks, which must rise. The caller frees them. */
static u64 *read_sizes(char **word, u64 n)
{
    u64 *size = memory(n, sizeof *size);
    for (u64 i = 0; i < n; i++) {
        size[i] = number_of(word[i], "size");
        if (!size[i] || (i && size[i] <= size[i - 1]))
            fail("size %s: sizes must be above 0, and rise", word[i]);
    }
    return size;
}

static void print_sampled(struct tally *tally, u64 nrequests)
{
    struct sampled s = sampled_curve(tally, nrequests, options.rate,
                                     options.most, options.salt);
    printf(",\"rate\":%.17g,\"error\":%.17g", s.rate, s.error);
}

static void print_end(void)
{
    printf(",\"cpu_s\":%.3f,\"memory_kb\":%lu}\n", usage_cpu_s(),
           usage_memory_kb());
}

int main(int argc, char **argv)
{
    read_options(argc, argv);
    u64 nsizes = argc - optind - 1;
    u64 *size = read_sizes(argv + optind + 1, nsizes);
    u64 nrequests = requests_open(argv[optind]);
    struct tally tally;
    tally_init(&tally, size, nsizes, options.warmup);
    printf("{\"requests\":%lu", nrequests);
    if (options.optimum)
        optimum_curve(&tally, nrequests, options.scratch, options.misses);
    else if (options.rate < 1 || options.most)
        print_sampled(&tally, nrequests);
    else
        printf(",\"blocks\":%lu", lru_curve(&tally, nrequests));
    tally_print(&tally, "hits", !options.optimum);
    print_end();
    return 0;
}
