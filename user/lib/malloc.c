/*
 * The heap: chunks side by side, each with its own size and that of the one
 * before it, so that a freed chunk joins its free neighbours at once.
 *
 * - Free chunks hang in bins by size: a bin for each size below SMALL, then
 *   four a power of two. A chunk from a larger bin always fits; in its own
 *   bin of a large size only the first few are tried, so that no list is
 *   walked to its end.
 * - The heap grows by sbrk in steps of GROW bytes. If other code moved the
 *   break meanwhile, a new run of chunks begins. Each run ends in a used chunk
 *   of size 0.
 */
#include "user/lib.h"

#define ALIGN 16
#define SMALL 1024
#define GROW  (64UL << 10)
#define TRIES 8
#define BINS  (SMALL / ALIGN + 4 * 54)
#define USED  1UL /* in chunk.size */

struct chunk {
    size_t before; /* size of the chunk before, 0: none */
    size_t size;   /* header included, a multiple of ALIGN; | USED */
    struct chunk *next, *prev; /* in its bin; the user's bytes while used */
};

#define HEADER    offsetof(struct chunk, next)
#define MIN_CHUNK sizeof(struct chunk)

static struct chunk *bins[BINS];
static struct chunk *last; /* the end of the newest run */

static size_t size_of(const struct chunk *c)
{
    return c->size & ~USED;
}

static struct chunk *after(struct chunk *c)
{
    return (struct chunk *)((char *)c + size_of(c));
}

/* Return the bin of chunks of that size: below SMALL one for each multiple of
 * ALIGN, above that four for each power of two. */
static u32 bin_of(size_t size)
{
    if (size < SMALL)
        return size / ALIGN;
    u32 bin = SMALL / ALIGN;
    size_t quarter = SMALL / 4; /* of the power of two the size is in */
    for (; size >= 8 * quarter; quarter *= 2)
        bin += 4;
    return bin + size / quarter - 4;
}

static void set_size(struct chunk *c, size_t size, size_t used)
{
    c->size = size | used;
    after(c)->before = size;
}

/* Put a free chunk first in its bin's list. */
static void bin_insert(struct chunk *c)
{
    struct chunk **bin = &bins[bin_of(c->size)];
    c->prev = NULL;
    c->next = *bin;
    if (c->next)
        c->next->prev = c;
    *bin = c;
}

/* Take a free chunk out of its bin's list. */
static void bin_remove(struct chunk *c)
{
    if (c->prev)
        c->prev->next = c->next;
    else
        bins[bin_of(c->size)] = c->next;
    if (c->next)
        c->next->prev = c->prev;
}

/* Free a chunk that is in no bin, and join it with its free neighbours. Returns
 * the joined chunk. */
static struct chunk *release(struct chunk *c)
{
    size_t size = size_of(c);
    struct chunk *next = after(c);
    if (!(next->size & USED)) {
        bin_remove(next);
        size += next->size;
    }
    struct chunk *before = (struct chunk *)((char *)c - c->before);
    if (c->before > 0 && !(before->size & USED)) {
        bin_remove(before);
        size += before->size;
        c = before;
    }
    set_size(c, size, 0);
    bin_insert(c);
    return c;
}

/* A free chunk of at least size bytes from new memory, or NULL. */
static struct chunk *grow(size_t size)
{
    /* A new run loses up to ALIGN bytes at its start, and its end is a header.
     */
    size_t bytes = ROUND_UP(size + HEADER + ALIGN, GROW);
    char *mem = sbrk(bytes);
    if (mem == (char *)-1)
        return NULL;
    struct chunk *c = last;
    if (!last || mem != (char *)last + HEADER) {
        mem += -(uintptr_t)mem % ALIGN;
        c = (struct chunk *)mem;
        c->before = 0;
        bytes = ROUND_DOWN(bytes - HEADER - ALIGN, ALIGN);
    }
    last = (struct chunk *)((char *)c + bytes);
    last->size = USED;
    set_size(c, bytes, USED);
    return release(c);
}

/* Return a free chunk that is large enough: one of its own bin, after a few
 * tries, or the first one of a higher bin, all of which are large enough; else
 * of new memory. */
static struct chunk *find(size_t size)
{
    u32 bin = bin_of(size);
    int tries = TRIES;
    for (struct chunk *c = bins[bin]; c && tries > 0; c = c->next, tries--) {
        if (c->size >= size)
            return c;
    }
    while (++bin < BINS) {
        if (bins[bin])
            return bins[bin];
    }
    return grow(size);
}

/* Cut a used chunk to `size` bytes, and free the rest. */
static void trim(struct chunk *c, size_t size)
{
    size_t rest = size_of(c) - size;
    if (rest < MIN_CHUNK)
        return;
    set_size(c, size, USED);
    struct chunk *r = after(c);
    set_size(r, rest, USED);
    release(r);
}

/* Return the size of a chunk for n bytes; 0 if n is too large. */
static size_t chunk_size(size_t n)
{
    if (n > LONG_MAX / 2) {
        errno = ENOMEM;
        return 0;
    }
    return MAX(ROUND_UP(n + HEADER, ALIGN), MIN_CHUNK);
}

static struct chunk *chunk_of(void *p)
{
    return (struct chunk *)((char *)p - HEADER);
}

/* Return n bytes, or NULL. The rest of the chunk becomes a free chunk. */
void *malloc(size_t n)
{
    size_t size = chunk_size(n);
    struct chunk *c = size ? find(size) : NULL;
    if (!c)
        return NULL;
    bin_remove(c);
    set_size(c, c->size, USED);
    trim(c, size);
    return &c->next;
}

void free(void *p)
{
    if (!p)
        return;
    struct chunk *c = chunk_of(p);
    if (!(c->size & USED) || after(c)->before != size_of(c))
        diex("free: not a chunk in use: %p", p);
    release(c);
}

void *calloc(size_t n, size_t size)
{
    if (size > 0 && n > LONG_MAX / size) {
        errno = ENOMEM;
        return NULL;
    }
    void *p = malloc(n * size);
    return p ? memset(p, 0, n * size) : NULL;
}

/* Change the size of a piece: in place if the chunk behind it is free and that
 * is enough, else by a copy. */
void *realloc(void *p, size_t n)
{
    if (!p)
        return malloc(n);
    size_t size = chunk_size(n);
    if (!size)
        return NULL;
    struct chunk *c = chunk_of(p);
    struct chunk *next = after(c);
    if (size_of(c) < size && !(next->size & USED) &&
        size_of(c) + next->size >= size) {
        bin_remove(next);
        set_size(c, size_of(c) + next->size, USED);
    }
    if (size_of(c) >= size) {
        trim(c, size);
        return p;
    }
    void *to = malloc(n);
    if (to) {
        memcpy(to, p, size_of(c) - HEADER);
        free(p);
    }
    return to;
}

void *xmalloc(size_t n)
{
    void *p = malloc(n);
    if (!p)
        die("%zu bytes", n);
    return p;
}

void *xrealloc(void *p, size_t n)
{
    p = realloc(p, n);
    if (!p)
        die("%zu bytes", n);
    return p;
}
