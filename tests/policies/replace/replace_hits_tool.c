/*
 * How many uses of blocks a replace policy makes hits:
 *
 *   replace_hits_tool POLICY SIZE < TRACE
 *
 * TRACE has the number of a block for each use; the cache holds SIZE blocks
 * and is empty at first. Prints the hits.
 *
 * link: policies/lib/ghost.c policies/replace
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/policy/policy.h"

#define BLOCKS (1 << 20) /* that a trace may use */

extern const struct policy *const __start_policies[];
extern const struct policy *const __stop_policies[];

static struct block blocks[BLOCKS];
static bool cached[BLOCKS];

static void give_memory(struct policy_memory *m, u64 buffers)
{
    m->buffers = buffers;
    m->start = malloc(m->bytes(buffers));
}

/* Start the policy of that name with its default tunables, for a cache of that
 * size; NULL: there is none. */
static const struct policy *start(const char *name, u64 size)
{
    const struct policy *const *p = __start_policies;
    while (p < __stop_policies && strcmp((*p)->name, name))
        p++;
    if (p == __stop_policies)
        return NULL;
    for (struct tunable *t = (*p)->tunables; t && t->name; t++)
        t->value = t->def;
    if ((*p)->memory)
        give_memory((*p)->memory, size);
    if ((*p)->start)
        (*p)->start();
    return *p;
}

/* Evict the policy's victim, because this block is to be read. */
static void make_room(const struct replace_hooks *hooks, u64 blkno)
{
    if (hooks->coming)
        hooks->coming(0, blkno);
    struct block *b = hooks->victim();
    hooks->remove(b);
    if (hooks->evicted)
        hooks->evicted(b);
    cached[b->blkno] = false;
}

/* Use a block of a cache that has room or not; was it there? */
static bool use(const struct replace_hooks *hooks, u64 blkno, bool room)
{
    struct block *b = &blocks[blkno];
    bool hit = cached[blkno];
    static u64 uses;
    if (hit)
        hooks->remove(b);
    else if (!room)
        make_room(hooks, blkno);
    if (!hit)
        *b = (struct block){.blkno = blkno};
    cached[blkno] = true;
    b->used = ++uses;
    hooks->insert(b, true);
    return hit;
}

int main(int argc, char **argv)
{
    u64 size = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    const struct policy *p = size ? start(argv[1], size) : NULL;
    u64 blkno, uses = 0, hits = 0;
    if (!p) {
        fprintf(stderr, "usage: replace_hits_tool POLICY SIZE < TRACE\n");
        return 2;
    }
    while (scanf("%lu", &blkno) == 1) {
        if (blkno >= BLOCKS) {
            fprintf(stderr, "block %lu: only %d can be\n", blkno, BLOCKS);
            return 2;
        }
        hits += use(&p->replace, blkno, uses - hits < size);
        uses++;
    }
    printf("%lu\n", hits);
    return 0;
}
