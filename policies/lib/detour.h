/*
 * Detours: writes on the way to a request. By the model of the drive, which
 * write can the arm do first, and how much later does the request begin for
 * it? For a drive that takes one command at a time.
 *
 * A scheduler calls detours_start() when it starts.
 */
#ifndef SLUICE_LIB_DETOUR_H
#define SLUICE_LIB_DETOUR_H

#include "kernel/policy/policy.h"

struct detour {
    enum direction dir; /* what to look among */
    u64 near_sector;    /* from here on, both ways */
    /* How much later, at most late_ns, the request may begin for the sake of
     * this write; NEVER_NS: it may not go. */
    u64 (*most_late_ns)(const struct request *write, u64 late_ns);
    u64 late_ns;
    /* The answer's: when the request begins after the write, and how much
     * later that is than without. */
    u64 begin_ns, price_ns;
};

/* The write to do before the request: of those looked at, one that makes it
 * least late, and of these the one that the arm is soonest at. NULL if none is
 * worth it, or there is no model. */
struct request *queue_detour(const struct queue *, const struct request *,
                             struct detour *);

/* Forget how late commands went. */
void detours_start(void);

/* Dispatch latency: how late commands of one disk go, the recent maximum plus
 * 25 %. For tests. */
struct lateness {
    u64 go_ns;  /* from the end of a look until an offer is dispatched */
    u64 ask_ns; /* from the end of a write until the next look */
    /* The offer that is to go, if it is the next command, and the request for
     * which one was found; NULL: there is nothing to measure. */
    const struct request *goes, *waits;
    u64 looked_ns; /* when the look was over */
    u64 commands;  /* of the queue, until then */
};
struct lateness *lateness_of(const struct queue *);

#endif
