/*
 * replace: the victim is one of the buffers that are evictable, and none is
 * chosen only if there is none. BUFFERS buffers, of which each of PROOF_STEPS
 * steps has one let go, used again, or chosen and given another block.
 */
#include "tools/prove/harness/harness.h"
#include SUBJECT
#include "tools/prove/harness/begin.h"

enum { BUFFERS = 2, NAMES = 3 };

/* Each an object of its own: CBMC takes an array of structures for one, and is
 * lost in it. For the same reason each loop over them has a branch for each. */
static struct block model_a, model_b;
static struct block *const buffers[] = {&model_a, &model_b};
static bool evictable[BUFFERS];
static u64 uses;

static void try_let_go(u64 i)
{
    bool reuse = any_bool();
    buffers[i]->first = any_bool();
    buffers[i]->used = ++uses;
    buffers[i]->dirtied_ns = subject->replace.takes_dirty ? any_below(2) : 0;
    TELL("insert buffer {}, which holds block {}; will be used again: {}", i,
         buffers[i]->blkno, reuse);
    subject->replace.insert(buffers[i], reuse);
    evictable[i] = true;
}

static void try_take(u64 i)
{
    TELL("remove buffer {}", i);
    subject->replace.remove(buffers[i]);
    evictable[i] = false;
}

/* The victim gets another block, unless it is dirty: then it is written. */
static void try_give(u64 i, u64 blkno)
{
    try_take(i);
    if (buffers[i]->dirtied_ns)
        return;
    if (subject->replace.evicted)
        subject->replace.evicted(buffers[i]);
    buffers[i]->word[0] = buffers[i]->word[1] = 0;
    buffers[i]->blkno = blkno;
}

/* Here the two members of a block's union lie side by side, so a policy that
 * uses both would not be seen to spoil them. */
static void try_links_by_one(const struct block *x)
{
    bool link = x->link.next || x->link.prev;
    bool node = x->node.up || x->node.left || x->node.right || x->node.key;
    CLAIM(!link || !node, "a policy uses link or node of a block, not both");
}

static void try_choose(void)
{
    u64 blkno = any_below(NAMES);
    ASSUME(blkno != model_a.blkno && blkno != model_b.blkno);
    ASSUME(evictable[0] || evictable[1]);
    TELL("block {} is coming", blkno);
    if (subject->replace.coming)
        subject->replace.coming(0, blkno);
    struct block *victim = subject->replace.victim();
    consistent(subject);
    TELL("victim: buffer {}", victim == &model_a   ? 0
                              : victim == &model_b ? 1
                                                   : 99);
    CLAIM(victim, "a victim is chosen while a buffer is evictable");
    CLAIM(victim == &model_a || victim == &model_b,
          "the victim is a buffer of the cache");
    for (u64 i = 0; i < BUFFERS; i++)
        if (victim == buffers[i]) {
            CLAIM(evictable[i], "the victim is evictable");
            REACHED(true, "a victim is chosen");
            try_give(i, blkno);
        }
}

int main(void)
{
    REGION;
    model_a.blkno = 0, model_b.blkno = 1;
    begin(subject, region, sizeof region, BUFFERS);
    for (u64 step = 0; step < PROOF_STEPS; step++) {
        u64 what = any_below(BUFFERS + 1);
        for (u64 i = 0; i < BUFFERS; i++)
            if (what == i)
                evictable[i] ? try_take(i) : try_let_go(i);
        if (what == BUFFERS)
            try_choose();
        try_links_by_one(&model_a);
    }
    REACHED(true, "the end");
}
