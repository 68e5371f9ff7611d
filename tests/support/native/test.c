/*
 * What unit tests of policies on the host share (test.h): all policies, and
 * what they call, in its simplest form. There is no drive unless a test sets
 * drive_approaches or drive_to_edge.
 *
 * link: tests/support/native/main.c tests/support/native/cache_model.c
 * link: tests/support/native/random.c tests/support/native/script.c
 * link: kernel/disk/queue.c policies
 */
#include "tests/support/native/test.h"

#include <sys/mman.h>

#include "kernel/disk/queue.h"

u64 clock_now_ns, clock_look_ns;
approach_fn *drive_approaches;

u64 clock_ns(void)
{
    return clock_now_ns += clock_look_ns;
}

/* When the arm would be at a request and the transfer begin; NEVER_NS: there is
 * no model. */
struct approach queue_approach(const struct queue *q, u64 start_ns,
                               const struct request *first, u64 gap_ns,
                               const struct request *r)
{
    if (drive_approaches)
        return drive_approaches(q, start_ns, first, gap_ns, r);
    return (struct approach){NEVER_NS, NEVER_NS};
}

seek_edge_fn *drive_to_edge;

/* No free sector is known. */
u64 queue_free_from(const struct queue *q, u64 from, u64 end)
{
    (void)q;
    (void)from;
    (void)end;
    return NO_SECTOR;
}

/* Nothing is in use. */
u64 queue_used(const struct queue *q, u64 from, u64 end)
{
    (void)q, (void)from, (void)end;
    return 0;
}

/* As queue_approach, for sectors; there is no model. */
struct approach queue_arrival(const struct queue *q, u64 start_ns, u64 sector,
                              u32 nsectors)
{
    (void)q;
    (void)start_ns;
    (void)sector;
    (void)nsectors;
    return (struct approach){NEVER_NS, NEVER_NS};
}

/* Move the arm to the first or last track, by the drive of the test. */
u64 queue_seek_edge(struct queue *q, bool last)
{
    (void)q;
    return drive_to_edge ? drive_to_edge(last) : 0;
}

u64 cache_buffers = 1000;

/* Fresh memory is not zeroed, so that missing initialisation shows. */
static void give_memory(struct policy_memory *m)
{
    u64 bytes = m->bytes(cache_buffers);
    free(m->start);
    m->start = memset(malloc(bytes), 0xa5, bytes);
    m->buffers = cache_buffers;
}

/* Start a policy with its tunables at their defaults. */
void policy_start(const struct policy *p)
{
    if (p->memory)
        give_memory(p->memory);
    for (struct tunable *t = p->tunables; t && t->name; t++)
        t->value = t->def;
    if (p->start)
        p->start();
}

/* The policy of a kind and name, started. */
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

/* A policy's tunable; the test ends if there is none. */
struct tunable *tunable_named(const struct policy *p, const char *name)
{
    for (struct tunable *t = p->tunables; t && t->name; t++)
        if (strcmp(t->name, name) == 0)
            return t;
    printf("%s has no tunable %s\n", p->name, name);
    exit(1);
}

/* ---- counters that no test asks for ---- */

#define MOST_COUNTERS 1000

/* Those that a test found moved, in the order of POLICY_EACH; shared by all
 * tests of a run. NULL: nobody wants to know. */
static bool *moved;

/* A counter's value. That it was found moved is remembered for print_unmoved.
 */
u64 counter_of(const struct policy *of, const char *name)
{
    u32 i = 0;
    POLICY_EACH (p)
        for (struct policy_counter *c = (*p)->counters; c && c->name;
             c++, i++) {
            if (*p != of || strcmp(c->name, name) != 0)
                continue;
            if (moved)
                moved[i] |= c->value != 0;
            return c->value;
        }
    printf("%s has no counter %s\n", of->name, name);
    exit(1);
}

/* Begin to remember which counters are found moved, in memory that the tests'
 * processes share. */
void watch_counters(void)
{
    moved = mmap(NULL, MOST_COUNTERS, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    check(moved != MAP_FAILED);
}

/* Print the counters that no test has found moved. */
void print_unmoved(void)
{
    static const char *const kinds[] = {"update",   "write", "sched", "replace",
                                        "prefetch", "place", "order"};
    u32 i = 0;
    POLICY_EACH (p)
        for (struct policy_counter *c = (*p)->counters; c && c->name; c++, i++)
            if (!moved[i])
                printf("%s/%s.%s\n", kinds[(*p)->kind], (*p)->name, c->name);
}
