/*
 * sched: each answer is a queued request, and none is given only if one will
 * be. PROOF_STEPS times, some time passes, requests arrive, candidates are
 * withdrawn, and the scheduler is asked once. Then nothing more comes, and the
 * queue drains. No request is overtaken by more than OVERTAKEN others, if the
 * policy promises that (bounds.toml): with requests that share no sector, on
 * disks where each is where it says.
 */
#include "tools/prove/harness/disk.h"
#include SUBJECT
#include "tools/prove/harness/requests.h"

/* Dispatch a command for a request, which takes some time, and in which the
 * scheduler may be asked for the next. A candidate becomes a write first,
 * unless it is in use. */
static void try_dispatch(u64 i)
{
    struct request *r = requests[i];
    TELL("  request {} goes", i);
    if (r->candidate) {
        try_leave(i);
        if (any_bool())
            return;
        r->candidate = false;
        r->queued_ns = time_ns;
        try_enter(i);
    }
    try_leave(i);
    try_join(r);
    for (u64 k = 0; k < REQUESTS; k++)
        overtaken[k] += requests[k]->queue && !requests[k]->candidate;
    q->last = r;
    q->last_ns = time_ns;
    q->commands++;
#ifdef OVERTAKEN
    q->head_sector = r->sector + r->nsectors;
#else /* as the place policy says */
    q->head_sector = any_below(SECTORS + 1);
#endif
    q->done_ns = q->turn_ns ? time_ns + any_below(MOST_STEP_NS) : 0;
    time_ns = any_bool() ? MAX(time_ns, q->done_ns) : clock_ns();
}

/* Ask for the next request. Returns when to ask again if there is none. */
static u64 try_ask(void)
{
    if (!try_waits() &&
        !(subject->sched.takes_candidates && q->length[SET_CANDIDATES]))
        return NEVER_NS;
    bool busy = q->done_ns > time_ns;
    struct request *r = subject->sched.next(q, clock_ns());
    for (u64 i = 0; i < REQUESTS; i++)
        CLAIM(r != requests[i] || r->queue, "the answer is a queued request");
    CLAIM(!r || r == &model_a || r == &model_b || r == requests[REQUESTS - 1],
          "the answer is a request");
    CLAIM(r || !try_waits() || busy || subject->sched.again_ns,
          "none goes, though nothing is in flight, only until a time");
    REACHED(r, "a request goes");
    for (u64 i = 0; i < REQUESTS; i++)
        if (r == requests[i])
            try_dispatch(i);
    if (r)
        return NEVER_NS;
    if (busy)
        return q->done_ns;
    if (!subject->sched.again_ns)
        return NEVER_NS;
    u64 again_ns = subject->sched.again_ns(q, clock_ns());
    CLAIM(again_ns != NEVER_NS || !try_waits(),
          "a queued request is asked about again");
    TELL("  none goes until {} ns", again_ns);
    return again_ns;
}

static void try_step(void)
{
    time_ns += any_below(MOST_STEP_NS);
    for (u64 i = 0; i < REQUESTS; i++) {
        bool candidate = requests[i]->queue && requests[i]->candidate;
        requests[i]->again |= candidate && any_bool();
        if (candidate && any_bool())
            try_leave(i);
        else if (!requests[i]->queue && any_bool())
            try_arrive(i);
    }
    try_ask();
    if (subject->sched.check)
        CLAIM(!subject->sched.check(q), "the policy's own check finds nothing");
}

int main(void)
{
    disk_begin(SECTORS);
    begin(subject, NULL, 0, 0);
    CLAIM(!subject->check, "harness: a scheduler has a check of its own");
    for (u64 step = 0; step < PROOF_STEPS; step++) {
        try_step();
#ifdef OVERTAKEN
        for (u64 i = 0; i < REQUESTS; i++)
            CLAIM(overtaken[i] <= (OVERTAKEN),
                  "no request is overtaken more often than promised");
#endif
    }
    for (u64 turn = 0; turn < DRAIN; turn++) {
        u64 again_ns = try_ask();
        if (again_ns != NEVER_NS)
            time_ns = MAX(time_ns, again_ns);
    }
    CLAIM(!try_waits(), "what is queued goes, if nothing more comes");
    REACHED(true, "the end");
}
