/*
 * Update policies: when they look, and what they flush then.
 *
 * link: grade/native/test.c kernel/ghost.c kernel/queue.c policies
 */
#include "grade/native/test.h"

#define NS_PER_MS 1000000UL

TEST(pu_flushes_everything_every_interval)
{
    const struct policy *p = policy_named(POLICY_UPDATE, "pu");
    struct tunable *interval = tunable_named(p, "interval_ms");

    check_eq(p->update.next_ns(0), 30000 * NS_PER_MS);
    check_eq(p->update.next_ns(5), 30000 * NS_PER_MS + 5);
    interval->value = 10;
    check_eq(p->update.next_ns(NS_PER_MS), 11 * NS_PER_MS);
    p->update.look(11 * NS_PER_MS);
    check_eq(flushes, 1);
    check_eq(flushed_age_ns, 0);
    check_eq(p->counters[0].value, 1);
    check_eq(p->counters[1].value, FLUSHED_BLOCKS);
}

TEST(aipu_flushes_what_is_of_age_every_scan)
{
    const struct policy *p = policy_named(POLICY_UPDATE, "aipu");

    check_eq(p->update.next_ns(0), 1000 * NS_PER_MS);
    check_eq(p->update.next_ns(5), 1000 * NS_PER_MS + 5);
    p->update.look(1000 * NS_PER_MS);
    check_eq(flushes, 1);
    check_eq(flushed_age_ns, 30000 * NS_PER_MS);

    tunable_named(p, "scan_ms")->value = 30000;
    tunable_named(p, "age_ms")->value = 15;
    check_eq(p->update.next_ns(NS_PER_MS), 30001 * NS_PER_MS);
    p->update.look(30001 * NS_PER_MS);
    check_eq(flushes, 2);
    check_eq(flushed_age_ns, 15 * NS_PER_MS);
    check_eq(p->counters[0].value, 2);
    check_eq(p->counters[1].value, 2 * FLUSHED_BLOCKS);
    check_eq(p->counters[2].value, 0);
}

TEST(none_never_looks)
{
    const struct policy *p = policy_named(POLICY_UPDATE, "none");
    check_eq(p->update.next_ns(0), NEVER_NS);
    check_eq(p->update.next_ns(NEVER_NS / 2), NEVER_NS);
    p->update.look(1);
    check_eq(flushes, 0);
}

/* A day of looks, at every policy's extremes of tunables. */
static void run_a_day(const struct policy *p)
{
    const u64 day_ns = 24 * 3600 * 1000 * NS_PER_MS;
    u64 last_ns = 0;

    for (u32 looks = 0; looks < 100000; looks++) {
        u64 next_ns = p->update.next_ns(last_ns);
        if (next_ns >= day_ns)
            return;
        last_ns = MAX(last_ns, next_ns);
        p->update.look(last_ns);
    }
}

TEST(every_update_policy_bears_its_tunables_extremes)
{
    POLICY_EACH (p) {
        if ((*p)->kind != POLICY_UPDATE)
            continue;
        policy_start(*p);
        run_a_day(*p);
        for (struct tunable *t = (*p)->tunables; t && t->name; t++) {
            t->value = t->min;
            run_a_day(*p);
            t->value = t->max;
            run_a_day(*p);
            t->value = t->def;
        }
    }
}
