/*
 * What is known of the policies in use, by their names and tunables: how old
 * they let a dirty block become, and what a time can be held against.
 *
 * A policy that is in no table here is searched all the same. Its blocks have
 * no bound of age, and if it counts units of time since the power-on, the
 * search of it does not come to an end by itself.
 */
#include "kernel/cache/lost.h"
#include "tools/search/machine.h"

#include <stdio.h>

extern const struct policy *const __start_policies[], *const __stop_policies[];

/* A block is found due when it has an age, and looked for at an interval: the
 * sum of some tunables, and of the grid on which the policy looks. */
static const struct promise {
    const char *policy, *tunables[2];
    u64 grid_ns;
} promises[] = {
    {"pu", {"interval_ms"}, 0},
    {"bflush", {"interval_ms"}, 0},
    {"ipu", {"age_ms"}, 0},
    {"aipu", {"scan_ms", "age_ms"}, 0},
    {"aipu_whole", {"scan_ms", "age_ms"}, 0},
    {"sprite", {"scan_ms", "age_ms"}, 0},
    {"ahlw", {"step_ms", "age_ms"}, 0},
    {"awol", {"step_ms", "age_ms"}, 0},
    {"hac", {"look_ms", "age_ms"}, 0},
    {"linux", {"writeback_ms", "expire_ms"}, 0},
    {"svr4", {"scan_ms", "autoup_s"}, 0},
    {"bsd_syncer", {"file_s"}, NS_PER_S}, /* each block here is a file's */
    {"ldcl", {"age_s"}, NS_PER_S},        /* it counts whole seconds of age */
};

/* Policies that count units of time since the power-on. */
static const struct calendar {
    const char *policy;
    u64 unit_ns, repeats_ns;
} calendars[] = {
    {"bsd_syncer", NS_PER_S, 64 * NS_PER_S},    /* its wheel has 64 slots */
    {"linux", 3 * NS_PER_S, 3 * NS_PER_S},      /* PERIOD_NS */
    {"sluice", 250 * NS_PER_MS, 64 * NS_PER_S}, /* policies/lib/pace.h */
};

static u64 tunable_ns(const struct tunable *t)
{
    if (!strcmp(t->unit, "ms"))
        return t->value * NS_PER_MS;
    return strcmp(t->unit, "s") ? 0 : t->value * NS_PER_S;
}

static u64 tunable_named_ns(const struct policy *p, const char *name)
{
    for (const struct tunable *t = p->tunables; t && t->name; t++)
        if (!strcmp(t->name, name))
            return tunable_ns(t);
    violated(0, "%s has no tunable %s: correct tools/search/limits.c", p->name,
             name);
}

static bool is_swapped_to(const struct policy *p)
{
    for (u32 i = 0; i < watch->ntasks; i++)
        for (const struct op *op = watch->ops[i]; op->what; op++)
            if (op->what == 'u' && !strcmp(strrchr(op->text, ':') + 1, p->name))
                return true;
    return false;
}

static bool is_used(const struct policy *p)
{
    return policy_in_use[p->kind] == p || is_swapped_to(p);
}

/* The age that an update policy promises; 0: none is known. */
static u64 promise_of(const struct policy *p)
{
    for (u32 i = 0; i < NELEM(promises); i++) {
        const struct promise *row = &promises[i];
        u64 sum_ns = row->grid_ns;
        if (strcmp(row->policy, p->name))
            continue;
        for (u32 k = 0; k < NELEM(row->tunables) && row->tunables[k]; k++)
            sum_ns += tunable_named_ns(p, row->tunables[k]);
        return sum_ns;
    }
    return 0;
}

/* The age that all update policies that are used promise together: a swap may
 * come just before the first would have written. 0: one promises none. */
static u64 promised_ns(void)
{
    u64 sum_ns = 0;
    for (const struct policy *const *p = __start_policies; p < __stop_policies;
         p++) {
        if ((*p)->kind != POLICY_UPDATE || !is_used(*p))
            continue;
        if (!promise_of(*p))
            return 0;
        sum_ns += promise_of(*p);
    }
    return sum_ns;
}

/* The longest that the kernel, or a policy that is used, holds a time against,
 * with the second that some of them add. */
static u64 longest_ns(void)
{
    u64 longest_ns = MAX(watch->age_most_ns, AHEAD_STALE_NS);
    if (watch->failures)
        longest_ns = MAX(longest_ns, RETRY_MOST_NS);
    for (const struct policy *const *p = __start_policies; p < __stop_policies;
         p++)
        for (const struct tunable *t = (*p)->tunables;
             is_used(*p) && t && t->name; t++)
            longest_ns = MAX(longest_ns, tunable_ns(t));
    return longest_ns + NS_PER_S;
}

static void set_calendars(void)
{
    for (const struct policy *const *p = __start_policies; p < __stop_policies;
         p++)
        for (u32 i = 0; i < NELEM(calendars); i++)
            if (is_used(*p) && !strcmp((*p)->name, calendars[i].policy))
                state_calendar(calendars[i].unit_ns, calendars[i].repeats_ns);
    if (watch->failures) /* set_failed rounds to it */
        state_calendar(0, RETRY_NS);
}

void limits_set(void)
{
    watch->age_most_ns = promised_ns();
    if (watch->age_most_ns)
        printf("promise a dirty block is at most %lu ms old\n",
               watch->age_most_ns / NS_PER_MS);
    else
        printf("promise no bound of age is known of update=%s\n",
               policy_in_use[POLICY_UPDATE]->name);
    state_age(longest_ns());
    set_calendars();
}
