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

static const struct policy *start(const char *name)
{
    const struct policy *const *p = __start_policies;
    while (p < __stop_policies && strcmp((*p)->name, name))
        p++;
    if (p == __stop_policies)
        return NULL;
    for (struct tunable *t = (*p)->tunables; t && t->name; t++)
        t->value = t->def;
    if ((*p)->start)
        (*p)->start();
    return *p;
}

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
    if (hit)
        hooks->remove(b);
    else if (!room)
        make_room(hooks, blkno);
    if (!hit)
        *b = (struct block){.blkno = blkno};
    cached[blkno] = true;
    hooks->insert(b, true);
    return hit;
}

int main(int argc, char **argv)
{
    const struct policy *p = argc == 3 ? start(argv[1]) : NULL;
    u64 size = p ? strtoul(argv[2], NULL, 10) : 0, blkno, uses = 0, hits = 0;
    if (!size) {
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
