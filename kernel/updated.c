/*
 * The update daemon (updated.h): the mechanism of bdflush and /etc/update,
 * without the policy.
 *
 * - updated.asking, a sleep lock, is held while the policy answers or looks,
 *   so that a swap waits until it is done. updated.lock guards the wake-up.
 */
#include "kernel/updated.h"
#include "kernel/bio.h"
#include "kernel/clock.h"
#include "kernel/proc.h"
#include "kernel/registry.h"
#include "kernel/stat.h"

static struct {
    struct sleeplock asking;
    struct spinlock lock;
    bool changed; /* lock: another policy or tunable: ask again */
    u64 last_ns;  /* asking: when the policy last looked */
} updated;

COUNTER(looks, "updated.looks", "looks", "times the update policy looked");

u64 flush_all(void)
{
    return bflush_smooth(NULL, 0);
}

u64 flush_older(u64 age_ns)
{
    return bflush_smooth(NULL, age_ns);
}

static void ask_again(void)
{
    spin_lock(&updated.lock);
    updated.changed = true;
    wakeup(&updated);
    spin_unlock(&updated.lock);
}

static void swap(const struct policy *to)
{
    sleep_lock(&updated.asking);
    policy_switch(to);
    sleep_unlock(&updated.asking);
    ask_again();
}

/* Look if it is time to; returns when to wake. */
static u64 look_if_due(void)
{
    sleep_lock(&updated.asking);
    const struct update_hooks *hooks = &policy_in_use[POLICY_UPDATE]->update;
    u64 now_ns = clock_ns();
    u64 next_ns = hooks->next_ns(updated.last_ns);
    if (next_ns <= now_ns) {
        count(&looks, 1);
        updated.last_ns = now_ns;
        hooks->look(now_ns);
        next_ns = hooks->next_ns(now_ns);
    }
    sleep_unlock(&updated.asking);
    return next_ns;
}

static void daemon(void *arg)
{
    (void)arg;
    for (;;) {
        u64 next_ns = look_if_due();
        int timeout = 0;
        spin_lock(&updated.lock);
        while (!updated.changed && !timeout)
            timeout = sleep_until(&updated, &updated.lock,
                                  next_ns == NEVER_NS ? 0 : next_ns);
        updated.changed = false;
        spin_unlock(&updated.lock);
    }
}

void updated_init(void)
{
    sleep_lock_init(&updated.asking, "updated");
    updated.lock = SPINLOCK("updated", RANK_POLICY);
    policy_own(POLICY_UPDATE, swap);
    policy_tuned = ask_again;
    kthread("updated", daemon, NULL);
}
