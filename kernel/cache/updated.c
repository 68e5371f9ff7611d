/*
 * The update daemon (updated.h): the mechanism of bdflush and /etc/update,
 * without the policy.
 *
 * - updated.asking, a sleep lock, is held while the policy answers or looks,
 *   so that a swap waits until it is done. updated.lock guards the wake-up.
 */
#include "kernel/cache/updated.h"
#include "kernel/cache/bio.h"
#include "kernel/machine/clock.h"
#include "kernel/proc/proc.h"
#include "kernel/policy/registry.h"
#include "kernel/base/stat.h"

static struct {
    struct sleeplock asking;
    struct spinlock lock;
    const struct proc *daemon; /* set when it is made */
    bool changed;              /* lock: another policy or tunable: ask again */
    bool at_once;  /* lock: so much is dirty that it wanted to look */
    u64 last_ns;   /* asking: when the policy last looked */
    u64 second_ns; /* asking: when the write policy's each_second is next */
} updated;

COUNTER(looks, "updated.looks", "looks", "times the update policy looked");
COUNTER(started, "updated.written", "blocks", "whose writes looks started");

static u64 cpu_ns(void)
{
    return updated.daemon->system_ns;
}
GAUGE(cpu, "updated.cpu", "ns", "the daemon has computed", cpu_ns);

static void ask_again(void)
{
    spin_lock(&updated.lock);
    updated.changed = true;
    wakeup(&updated);
    spin_unlock(&updated.lock);
}

static void look_now(void)
{
    spin_lock(&updated.lock);
    updated.at_once = true;
    wakeup(&updated);
    spin_unlock(&updated.lock);
}

static void swap(const struct policy *to)
{
    sleep_lock(&updated.asking);
    bio_update_switch(to);
    sleep_unlock(&updated.asking);
    ask_again();
}

/* Have a policy look; what it starts is one burst. */
static void look(void (*policy_looks)(u64 now_ns), u64 now_ns)
{
    bio_look_begins();
    policy_looks(now_ns);
    u64 n = bio_look_ends();
    count(&started, n);
    bio_burst(NULL, n);
}

/* Have the update policy look, if it is time to. Returns when to wake. */
static u64 look_if_due(bool at_once)
{
    const struct update_hooks *hooks = &policy_in_use[POLICY_UPDATE]->update;
    u64 now_ns = clock_ns();
    u64 next_ns = hooks->next_ns(updated.last_ns);
    if (next_ns > now_ns && !at_once)
        return next_ns;
    count(&looks, 1);
    updated.last_ns = now_ns;
    look(hooks->look, now_ns);
    return hooks->next_ns(now_ns);
}

/* The same for the write policy, if it wants each second. */
static u64 each_second(void)
{
    const struct write_hooks *hooks = &policy_in_use[POLICY_WRITE]->write;
    u64 now_ns = clock_ns();
    if (!hooks->each_second)
        return NEVER_NS;
    if (now_ns >= updated.second_ns) {
        updated.second_ns = now_ns + NS_PER_S;
        look(hooks->each_second, now_ns);
    }
    return updated.second_ns;
}

/* Sleep until then, or until there is something new. Was that much that is
 * dirty? */
static bool rest(u64 until_ns)
{
    int timeout = 0;
    spin_lock(&updated.lock);
    while (!updated.changed && !updated.at_once && !timeout)
        timeout = sleep_until(&updated, &updated.lock,
                              until_ns == NEVER_NS ? 0 : until_ns);
    bool at_once = updated.at_once;
    updated.changed = updated.at_once = false;
    spin_unlock(&updated.lock);
    return at_once;
}

static void daemon(void *arg)
{
    (void)arg;
    bool at_once = false;
    for (;;) {
        sleep_lock(&updated.asking);
        u64 next_ns = look_if_due(at_once);
        u64 second_ns = each_second();
        sleep_unlock(&updated.asking);
        at_once = rest(MIN(next_ns, second_ns));
    }
}

void updated_init(void)
{
    sleep_lock_init(&updated.asking, "updated");
    updated.lock = SPINLOCK("updated", RANK_POLICY);
    policy_own(POLICY_UPDATE, swap);
    policy_tuned = ask_again;
    bio_look_now = look_now;
    updated.daemon = kthread("updated", daemon, NULL);
}
