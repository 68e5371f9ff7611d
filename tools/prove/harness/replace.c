/*
 * replace: the victim is one of the buffers that are evictable, and none is
 * chosen only if there is none. BLOCKS buffers, of which each step has one
 * inserted, used again, or chosen and given another block.
 */
#include "tools/prove/harness/harness.h"
#include SUBJECT

#ifndef BLOCKS
#define BLOCKS 2
#endif
#ifndef STEPS
#define STEPS 4
#endif
enum { NAMES = 3 };

/* Each an object of its own: CBMC takes an array of structures for one, and is
 * lost in it. For the same reason each loop over them has a branch for each. */
static struct block a, b, c;
static struct block *const buffers[] = {&a, &b, &c};
static bool evictable[BLOCKS];
static u64 used;
#ifdef SLUICE_LIB_GHOST_H
static struct ghost region[80];
#else
static u64 region[1024];
#endif

static void insert(u64 i)
{
    bool reuse = any_bool();
    buffers[i]->first = any_bool();
    buffers[i]->used = ++used;
    buffers[i]->dirtied_ns = subject->replace.takes_dirty ? any_below(2) : 0;
    TELL("insert buffer {}, which holds block {}; will be used again: {}", i, buffers[i]->blkno,
         reuse);
    subject->replace.insert(buffers[i], reuse);
    evictable[i] = true;
}

static void use(u64 i)
{
    TELL("remove buffer {}, as it is used", i);
    subject->replace.remove(buffers[i]);
    evictable[i] = false;
}

static void evict(u64 i)
{
    subject->replace.remove(buffers[i]);
    evictable[i] = false;
    if (buffers[i]->dirtied_ns) /* it is written, and keeps its block */
        return;
    if (subject->replace.evicted)
        subject->replace.evicted(buffers[i]);
    buffers[i]->word[0] = buffers[i]->word[1] = 0;
    buffers[i]->blkno = any_below(NAMES);
    for (u64 other = 0; other < BLOCKS; other++)
        ASSUME(other == i || buffers[other]->blkno != buffers[i]->blkno);
}

static void choose(void)
{
    bool some = false;
    if (subject->replace.coming && any_bool())
        subject->replace.coming(0, any_below(NAMES));
    struct block *victim = subject->replace.victim();
    u64 chosen = BLOCKS;
    for (u64 i = 0; i < BLOCKS; i++) {
        some = some || evictable[i];
        if (victim == buffers[i])
            chosen = i;
    }
    TELL("victim: buffer {}", chosen);
    CLAIM(victim || !some, "a victim is chosen while a buffer is evictable");
    CLAIM(!victim || chosen < BLOCKS, "the victim is a buffer of the cache");
    for (u64 i = 0; i < BLOCKS; i++)
        CLAIM(victim != buffers[i] || evictable[i], "the victim is evictable");
    REACHED(victim, "a victim is chosen");
    for (u64 i = 0; i < BLOCKS; i++)
        if (victim == buffers[i])
            evict(i);
}

int main(void)
{
    for (u64 i = 0; i < BLOCKS; i++)
        buffers[i]->blkno = i;
    begin(subject, region, sizeof region, BLOCKS);
    for (u64 step = 0; step < STEPS; step++) {
        u64 what = any_below(BLOCKS + 1);
        for (u64 i = 0; i < BLOCKS; i++)
            if (what == i)
                evictable[i] ? use(i) : insert(i);
        if (what == BLOCKS)
            choose();
        consistent(subject);
    }
}
