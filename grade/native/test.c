/*
 * What unit tests of policies on the host share (test.h): all policies and
 * what they call.
 *
 * link: grade/native/main.c grade/native/cache_model.c kernel/detour.c
 * link: kernel/ghost.c kernel/marks.c kernel/queue.c policies
 */
#include "grade/native/test.h"
#include "kernel/queue.h"

u64 clock_now_ns, clock_look_ns;
approach_fn *drive_approaches;

u64 clock_ns(void)
{
    return clock_now_ns += clock_look_ns;
}

struct approach queue_approach(const struct queue *q, u64 start_ns,
                               const struct request *first, u64 gap_ns,
                               const struct request *r)
{
    if (drive_approaches)
        return drive_approaches(q, start_ns, first, gap_ns, r);
    return (struct approach){NEVER_NS, NEVER_NS};
}

u64 drive_done_ns;

u64 queue_done_ns(const struct queue *q)
{
    (void)q;
    return drive_done_ns;
}

seek_edge_fn *drive_to_edge;

u64 queue_seek_edge(struct queue *q, bool last)
{
    (void)q;
    return drive_to_edge ? drive_to_edge(last) : 0;
}

void policy_start(const struct policy *p)
{
    for (struct tunable *t = p->tunables; t && t->name; t++)
        t->value = t->def;
    if (p->start)
        p->start();
}

const struct policy *policy_named(enum policy_kind kind, const char *name)
{
    POLICY_EACH (p)
        if ((*p)->kind == kind && strcmp((*p)->name, name) == 0) {
            policy_start(*p);
            return *p;
        }
    printf("no policy %s\n", name);
    exit(1);
}

struct tunable *tunable_named(const struct policy *p, const char *name)
{
    for (struct tunable *t = p->tunables; t && t->name; t++)
        if (strcmp(t->name, name) == 0)
            return t;
    printf("%s has no tunable %s\n", p->name, name);
    exit(1);
}
