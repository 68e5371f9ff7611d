/*
 * When dirty blocks are written: this file asks the update policy. It has the
 * update daemon, which is the mechanism of bdflush and /etc/update without the
 * policy, and tells the policy of blocks that become dirty or clean.
 *
 * - updated.asking, a sleep lock, is held while a policy says when to scan, or
 *   looks, so that a swap waits until it is done. updated.lock guards the
 *   wake-up, and is taken inside bcache.lock.
 * - The policy hears of blocks with bcache.lock held. While it scans it
 *   changes its own records without a lock, so it is not checked meanwhile.
 */
#include "kernel/cache/bcache.h"
#include "kernel/cache/lost.h"
#include "kernel/policy/registry.h"

static struct {
    struct sleeplock asking;
    struct spinlock lock;
    const struct proc *daemon; /* set when it starts */
    bool changed;              /* lock: another policy or tunable: ask again */
    bool at_once;              /* lock: the limit of scan_at_dirty is reached */
    u64 last_ns;               /* asking: when the policy last scanned */
    u64 second_ns;             /* asking: when write_second is next */
    u64 scan_at_dirty;         /* bcache.lock: dirty blocks at which it scans */
} updated = {.lock = SPINLOCK("updated", RANK_POLICY),
             .scan_at_dirty = UNLIMITED};

COUNTER(looks, "updated.looks", "looks", "times the update policy looked");
COUNTER(started, "updated.written", "blocks", "whose writes looks started");

/* Return the CPU time that the update daemon has used, in ns. */
static u64 cpu_ns(void)
{
    const struct proc *daemon =
        updated.daemon; /* a program may run before it */
    return daemon ? daemon->system_ns : 0;
}
GAUGE(cpu, "updated.cpu", "ns", "the daemon has computed", cpu_ns);

/* ---- waking the daemon ---- */

/* Set *why, one of the reasons to wake, and wake the daemon. */
static void wake(bool *why)
{
    HOLD(spin, &updated.lock);
    *why = true;
    wakeup(&updated);
}

/* Have the daemon ask the policy anew when it wants to scan. */
void update_ask_again(void)
{
    wake(&updated.changed);
}

/* Have the daemon woken when n blocks are dirty. That happens once. */
void scan_at_dirty(u64 n)
{
    updated.scan_at_dirty = n;
}

/* ---- telling the policy. Caller holds bcache.lock. ---- */

/* Return the functions of the policy in use; NULL early in the boot. */
static const struct update_hooks *update(void)
{
    const struct policy *p = policy_in_use[POLICY_UPDATE];
    return p ? &p->update : NULL;
}

/* Let the policy check its own records, unless it is in the middle of a
 * scan. */
static void check_policy(void)
{
    if (update() && !bcache.scanning)
        policy_check(policy_in_use[POLICY_UPDATE]);
}

/* Notify the policy that b is dirty, and wake the daemon at the limit of
 * scan_at_dirty. */
static void tell_dirtied(struct buf *b)
{
    b->block.mark = 0;
    if (update() && update()->dirtied)
        update()->dirtied(&b->block, clock_ns());
    if (bcache.ndirty < updated.scan_at_dirty)
        return;
    updated.scan_at_dirty = UNLIMITED;
    wake(&updated.at_once);
}

/* Notify the policy that b has become dirty. */
void update_dirtied(struct buf *b)
{
    tell_dirtied(b);
    check_policy();
}

/* Notify the policy that b is about to be written or dropped. */
void update_leaves(struct buf *b)
{
    if (update() && update()->leaves)
        update()->leaves(&b->block);
}

/* ---- swaps ---- */

/* Put another policy to use, and show it all blocks that are dirty now. */
void update_switch(const struct policy *to)
{
    HOLD(spin, &bcache.lock);
    updated.scan_at_dirty = UNLIMITED;
    policy_switch(to);
    ITEM_EACH (struct buf, b, &bcache.pending, dirty)
        tell_dirtied(b);
    ITEM_EACH (struct buf, b, &bcache.delayed, dirty)
        tell_dirtied(b);
    check_policy();
}

/* Put another policy to use, after the end of a scan that is under way. */
static void swap(const struct policy *to)
{
    sleep_lock(&updated.asking);
    update_switch(to);
    sleep_unlock(&updated.asking);
    update_ask_again();
}

/* ---- scans ---- */

/* Begin a scan of the policy. Blocks whose last write is newer than this are
 * left. */
void scan_begins(void)
{
    HOLD(spin, &bcache.lock);
    bcache.scan_number = bcache.write_number;
    bcache.scan_started = 0;
    write_scan(true);
}

/* End the scan. Return how many writes it has started. */
u64 scan_ends(void)
{
    HOLD(spin, &bcache.lock);
    u64 n = bcache.scan_started;
    write_scan(false);
    check_policy();
    return n;
}

/* Have a policy scan; the writes that it starts are one burst. */
static void scan(void (*policy_scan)(u64 now_ns), u64 now_ns)
{
    scan_begins();
    policy_scan(now_ns);
    u64 n = scan_ends();
    count(&started, n);
    bio_burst(NULL, n);
}

/* Have the update policy scan, if it is time to. Returns when to wake. */
static u64 look_if_due(bool at_once)
{
    const struct update_hooks *hooks = update();
    u64 now_ns = clock_ns();
    u64 next_ns = hooks->next_ns(updated.last_ns);
    if (next_ns > now_ns && !at_once)
        return next_ns;
    count(&looks, 1);
    updated.last_ns = now_ns;
    scan(hooks->scan, now_ns);
    return hooks->next_ns(now_ns);
}

/* Have the write policy scan each second, if it wants that. Returns when to
 * wake. */
static u64 each_second(void)
{
    u64 now_ns = clock_ns();
    if (!write_wants_seconds())
        return NEVER_NS;
    if (now_ns >= updated.second_ns) {
        updated.second_ns = now_ns + NS_PER_S;
        scan(write_second, now_ns);
    }
    return updated.second_ns;
}

/* Try again what could not be written, if it is time to. Returns when to wake:
 * not at once, because for a policy a block in its pause may be due already. */
static u64 retry(u64 policy_ns)
{
    u64 retry_ns = bflush_retry();
    if (retry_ns == NEVER_NS)
        return policy_ns;
    return MAX(MIN(policy_ns, retry_ns), clock_ns() + RETRY_NS);
}

/* ---- the daemon ---- */

/* Sleep until then, or until something wakes the daemon. True if the limit set
 * by scan_at_dirty did. */
static bool rest(u64 until_ns)
{
    int timeout = 0;
    HOLD(spin, &updated.lock);
    while (!updated.changed && !updated.at_once && !timeout)
        timeout = sleep_until(&updated, &updated.lock,
                              until_ns == NEVER_NS ? 0 : until_ns);
    bool at_once = updated.at_once;
    updated.changed = updated.at_once = false;
    return at_once;
}

/* The update daemon's thread: scan when the policy wants to, retry failed
 * writes, and sleep until the next of both. */
void update_daemon(void *)
{
    updated.daemon = myproc();
    bool at_once = false;
    for (;;) {
        sleep_lock(&updated.asking);
        u64 second_ns = each_second(); /* first: blocks held back are older */
        u64 next_ns = look_if_due(at_once);
        sleep_unlock(&updated.asking);
        at_once = rest(retry(MIN(next_ns, second_ns)));
    }
}

void updated_init(void)
{
    sleep_lock_init(&updated.asking, "updated");
    policy_own(POLICY_UPDATE, (struct policy_owner){.swap = swap,
                                                    .tuned = update_ask_again,
                                                    .buffers = bio_buffers()});
}
