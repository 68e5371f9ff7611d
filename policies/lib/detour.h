/*
 * Detours: writes on the way to a request. The model of the drive
 * says which write the arm can do first, and how much later the request then
 * begins. For a drive that takes one command at a time.
 *
 * A scheduler calls detours_start() when it starts.
 */
#ifndef SLUICE_LIB_DETOUR_H
#define SLUICE_LIB_DETOUR_H

#include "kernel/policy/sched.h"

struct detour {
    enum direction dir; /* which candidates are looked at */
    u64 near_sector;    /* the search goes from here to both sides */
    /* How much later, at most late_ns, the request may begin for the sake of
     * this write; NEVER_NS: it may not go. */
    u64 (*most_late_ns)(const struct request *write, u64 late_ns);
    u64 late_ns;
    /* Set with the answer: when the request begins after the write, and how
     * much later that is than without it. */
    u64 begin_ns, price_ns;
};

/* The write to do before the request. Of the writes looked at, it delays the
 * request least; among equals the arm reaches it first. NULL if no write may go
 * first, or there is no model. */
struct request *queue_detour(const struct queue *, const struct request *,
                             struct detour *);

/* Forget the dispatch latencies measured so far. */
void detours_start(void);

/* Dispatch latency: how late commands of one disk go, the recent maximum plus
 * 25 %. For tests. */
struct lateness {
    u64 go_ns;  /* from the end of a search to the candidate's dispatch */
    u64 ask_ns; /* from the end of a write to the next search */
    /* The candidate that is expected to be the next command, and the request
     * for which a candidate was found; NULL: there is nothing to measure. */
    const struct request *goes, *waits;
    u64 looked_ns; /* when the search ended */
    u64 commands;  /* of the queue, until then */
};
struct lateness *lateness_of(const struct queue *);

#endif
