/*
 * sched: each answer is a queued request, and none is given only if one will
 * be. PROOF_STEPS times, requests arrive and one is dispatched. Then no more
 * arrive, and the queue drains. No request is overtaken by more than OVERTAKEN
 * others, if the policy promises that (bounds.toml).
 */
#include "tools/prove/harness/disk.h"
#include SUBJECT
#include "tools/prove/harness/begin.h"

enum { SECTORS = 3 };

static struct queue *const q = &disk_queue;
static u64 overtaken[REQUESTS];

static bool try_waits(void)
{
    return q->length[SET_READS] + q->length[SET_WRITES];
}

static void try_arrive(u64 i)
{
    struct request *r = requests[i];
    *r = (struct request){.sector = any_below(SECTORS),
                          .nsectors = 1,
                          .write = any_bool(),
                          .waited = any_bool(),
                          .candidate = any_bool(),
                          .again = any_bool(),
                          .pid = any_below(3),
                          .queued_ns = time_ns};
    ASSUME(r->write || (!r->candidate && r->waited));
    ASSUME(!r->candidate || !r->waited);
    /* A block has one buffer, so no two requests are for one. */
    for (u64 k = 0; k < REQUESTS; k++)
        ASSUME(!requests[k]->queue || requests[k]->sector != r->sector);
    r->arrival = q->arrivals++;
    r->queue = q;
    q->length[model_set_of(r)]++;
    overtaken[i] = 0;
    TELL("request {} arrives at {} ns: sector {}, write {}, candidate {}", i,
         time_ns, r->sector, r->write, r->candidate);
    if (subject->sched.queued)
        subject->sched.queued(q, r, time_ns);
}

/* A command for one request, which takes some time. */
static void try_dispatch(u64 i)
{
    struct request *r = requests[i];
    TELL("  request {} goes", i);
    if (subject->sched.leaves)
        subject->sched.leaves(q, r, time_ns);
    r->queue = NULL;
    q->length[model_set_of(r)]--;
    for (u64 k = 0; k < REQUESTS; k++)
        overtaken[k] += requests[k]->queue && !requests[k]->candidate;
    q->last = r;
    q->last_ns = time_ns;
    q->commands++;
    q->head_sector = r->sector + 1;
    time_ns += any_below(NS_PER_S);
    q->done_ns = q->turn_ns ? time_ns : 0;
}

static void try_ask(void)
{
    if (!try_waits() &&
        !(subject->sched.takes_candidates && q->length[SET_CANDIDATES]))
        return;
    struct request *r = subject->sched.next(q, time_ns);
    for (u64 i = 0; i < REQUESTS; i++)
        CLAIM(r != requests[i] || r->queue, "the answer is a queued request");
    CLAIM(!r || r == &model_a || r == &model_b || r == requests[REQUESTS - 1],
          "the answer is a request");
    CLAIM(r || !try_waits() || subject->sched.again_ns,
          "none goes, though nothing is in flight, only until a time");
    REACHED(r, "a request goes");
    for (u64 i = 0; i < REQUESTS; i++)
        if (r == requests[i])
            try_dispatch(i);
    if (r || !subject->sched.again_ns)
        return;
    u64 again_ns = subject->sched.again_ns(q, time_ns);
    CLAIM(again_ns != NEVER_NS || !try_waits(),
          "a queued request is asked about again");
    TELL("  none goes until {} ns", again_ns);
    if (again_ns != NEVER_NS)
        time_ns = MAX(time_ns, again_ns);
    CLAIM(subject->check == NULL,
          "harness: a scheduler has a check of its own");
}

int main(void)
{
    disk_begin(SECTORS);
    begin(subject, NULL, 0, 0);
    for (u64 step = 0; step < PROOF_STEPS; step++) {
        for (u64 i = 0; i < REQUESTS; i++)
            if (!requests[i]->queue && any_bool())
                try_arrive(i);
        try_ask();
        if (subject->sched.check)
            CLAIM(!subject->sched.check(q),
                  "the policy's own check finds nothing");
#ifdef OVERTAKEN
        for (u64 i = 0; i < REQUESTS; i++)
            CLAIM(overtaken[i] <= (OVERTAKEN),
                  "no request is overtaken more often than promised");
#endif
    }
    for (u64 turn = 0; turn < DRAIN; turn++)
        try_ask();
    CLAIM(!try_waits(), "what is queued goes, if nothing more comes");
    REACHED(true, "the end");
}
