/* Prefetching (prefetch.h). prefetch.lock guards the policy's answers and
 * its swap. */
#include "kernel/prefetch.h"
#include "kernel/lock.h"
#include "kernel/registry.h"

static struct spinlock prefetch_lock;

static void swap(const struct policy *to)
{
    spin_lock(&prefetch_lock);
    policy_switch(to);
    spin_unlock(&prefetch_lock);
}

void prefetch_init(void)
{
    prefetch_lock = SPINLOCK("prefetch", RANK_POLICY);
    policy_own(POLICY_PREFETCH, swap);
}

u64 prefetch_ahead(struct stream *s, const struct access *a, u64 *first)
{
    spin_lock(&prefetch_lock);
    const struct policy *p = policy_in_use[POLICY_PREFETCH];
    u64 n = p->prefetch.ahead(s, a, first);
    if (n && (*first >= a->file_blocks || n > a->file_blocks - *first)) {
        policy_switch(policy_fault(POLICY_PREFETCH,
                                   "ahead went past the end of the file"));
        n = 0;
    }
    spin_unlock(&prefetch_lock);
    s->next_block = a->block + a->nblocks;
    return n;
}
