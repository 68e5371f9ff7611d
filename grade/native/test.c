/*
 * The main program of unit tests on the host (test.h), and with it all
 * policies and what they call.
 *
 * link: grade/native/cache_model.c kernel/detour.c kernel/ghost.c
 * link: kernel/marks.c kernel/queue.c policies
 */
#include "grade/native/test.h"
#include "kernel/queue.h"

extern const struct test *const __start_tests[];
extern const struct test *const __stop_tests[];

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

/* Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
 * OOPSLA 2014. */
u64 random_u64(u64 *state)
{
    u64 z = *state += 0x9e3779b97f4a7c15UL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9UL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebUL;
    return z ^ (z >> 31);
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

int main(int argc, char **argv)
{
    for (const struct test *const *t = __start_tests; t < __stop_tests; t++) {
        if (argc < 2)
            printf("%s\n", (*t)->name);
        else if (strcmp(argv[1], (*t)->name) == 0)
            return (*t)->run(), 0;
    }
    return argc < 2 ? 0 : 2;
}
