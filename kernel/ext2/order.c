/*
 * How metadata reaches the disk: this file asks the order policy, and carries
 * out its answer.
 *
 * - Under a policy that delays, a power cut may leave what e2fsck must be asked
 *   about. A rename then leaves no record (fs_intend): its steps may reach the
 *   disk in any order, and the record speaks of one.
 * - A swap, which waits for a rename under way, is followed by a write of all
 *   that is dirty: from then on the new policy's promise holds. A step that was
 *   answered by the old policy, and delayed after that write, finds that the
 *   policy has changed, and writes what is dirty itself.
 * - After a wrong answer the default takes over. The step goes to the disk at
 *   once, and so does all that the policy has delayed.
 */
#include "kernel/ext2/internal.h"
#include "kernel/policy/registry.h"

static struct {
    struct spinlock lock;
    u64 changes; /* lock: of the policy in use */
} order = {.lock = SPINLOCK("order policy", RANK_POLICY)};

/* The answer was wrong. Caller holds the lock. */
static void fault(const struct order_info *info)
{
    const struct policy *to = policy_fault(POLICY_ORDER, info->disk,
                                           info->blkno, "decide: no such mode");
    if (!to)
        return;
    policy_switch(to);
    order.changes++;
}

/* What to do with a block. *changes: of the policy, when it was asked. */
static enum order_mode ask(struct fs *fs, u64 blkno, u64 owner, u64 *changes)
{
    struct order_info info = {.disk = fs->disk->id,
                              .blkno = blkno,
                              .owner = owner,
                              .dirty = bio_dirty(),
                              .buffers = bio_buffers(),
                              .now_ns = clock_ns()};
    HOLD(spin, &order.lock);
    const struct policy *p = policy_in_use[POLICY_ORDER];
    *changes = order.changes;
    enum order_mode mode = p->order.decide(&info);
    policy_check(p);
    if (mode <= ORDER_DELAYED)
        return mode;
    fault(&info);
    return ORDER_NOW;
}

static bool has_changed(u64 changes)
{
    HOLD(spin, &order.lock);
    return order.changes != changes;
}

int write_stable(struct fs *fs, struct buf *b)
{
    if (bwrite_stable(b) < 0 || disk_order(fs->disk) < 0)
        return fs_error(fs, "could not write what must be on the disk");
    return 0;
}

int order_settle(struct fs *fs)
{
    if (!__atomic_load_n(&fs->delays, __ATOMIC_RELAXED))
        return 0;
    if (bflush(fs->disk) < 0 || disk_order(fs->disk) < 0)
        return fs_error(fs, "could not write what must be on the disk");
    return 0;
}

int write_now(struct fs *fs, struct buf *b, u64 owner)
{
    u64 changes;
    if (ask(fs, b->block.blkno, owner, &changes) == ORDER_NOW) {
        TRY(write_stable(fs, b));
    } else {
        __atomic_store_n(&fs->delays, true, __ATOMIC_RELAXED);
        bdwrite(b, owner);
    }
    return has_changed(changes) ? order_settle(fs) : 0;
}

bool order_delays(struct fs *fs, u64 blkno)
{
    u64 changes;
    return ask(fs, blkno, 0, &changes) == ORDER_DELAYED;
}

static void change_over(const struct policy *to)
{
    HOLD(sleep, &tree_lock);
    HOLD(spin, &order.lock);
    policy_switch(to);
    order.changes++;
}

static void swap(const struct policy *to)
{
    change_over(to);
    each_mount(order_settle); /* prints what it cannot do */
}

void order_init(void)
{
    policy_own(POLICY_ORDER,
               (struct policy_owner){.swap = swap, .buffers = bio_buffers()});
}
