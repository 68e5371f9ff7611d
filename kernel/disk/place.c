/* Placement (place.h). place.lock guards the policy's answers and its swap. */
#include "kernel/disk/place.h"
#include "kernel/disk/disk.h"
#include "kernel/policy/registry.h"

static struct spinlock place_lock;

static void swap(const struct policy *to)
{
    spin_lock(&place_lock);
    policy_switch(to);
    spin_unlock(&place_lock);
}

void place_init(void)
{
    place_lock = SPINLOCK("place", RANK_POLICY);
    policy_own(POLICY_PLACE, (struct policy_owner){.swap = swap});
}

u64 place_physical(struct disk *d, u64 blkno, u32 block_bytes, bool write)
{
    u64 blocks = d->nsectors / (block_bytes / SECTOR_BYTES);
    spin_lock(&place_lock);
    const struct policy *p = policy_in_use[POLICY_PLACE];
    u64 physical = p->place.physical(d->id, blkno, write);
    policy_check(p);
    if (physical >= blocks) {
        policy_switch(policy_fault(POLICY_PLACE,
                                   "physical returned a block off the disk"));
        p = policy_in_use[POLICY_PLACE];
        physical = p->place.physical(d->id, blkno, write);
    }
    spin_unlock(&place_lock);
    return physical;
}
