/*
 * The place kind answers: where on the disk does a request go?
 *
 * sched.h describes a disk's queue and its requests, position.h the questions
 * about the arm.
 */
#pragma once

#include "kernel/policy/position.h"

/* On a disk with a virtual log (q->logged), the kernel knows where each block
 * is and which places are free, and the policy says only where the next write
 * goes. r is a block, or 1 sector: that is the map's, written after a block. */

/* The first sector of a free slot that begins in [from, end); NO_SECTOR: there
 * is none, or the disk has no virtual log. */
u64 queue_free_from(const struct queue *, u64 from, u64 end);

/* How many places that begin in [from, end) hold something that can be moved.
 */
u64 queue_used(const struct queue *, u64 from, u64 end);

/* Places to be emptied: the sectors [first, end), at most CLEAN_SECTORS; first
 * == end: none now. Both are multiples of a place's eight sectors, whatever a
 * track has: the places that begin on a track may end on the next one. */
struct clean {
    u64 first, end;
    u64 again_ns; /* none: ask again then, if nothing comes; NEVER_NS at first
                   */
};
#define CLEAN_SECTORS 1024UL

/* The disk's lock is held. The order of the queue is by `sector`, wherever that
 * is on the disk. The hooks are not called for a raw request. */
struct place_hooks {
    /* (optional; without it: r->sector, and no virtual log) Return where on the
     * disk r would begin, if it were dispatched at now_ns. For a read, where
     * its data are; not asked on a disk with a virtual log, where any free slot
     * is right for a write. Called when r is dispatched, when a merge is
     * considered, and by queue_approach; so it must change nothing. Off the
     * disk, or a place that is not free, is a fault. */
    u64 (*place)(const struct queue *, const struct request *r, u64 now_ns);
    /* (optional) r is dispatched to r->physical, the last answer for it. */
    void (*placed)(const struct queue *, const struct request *r);
    /* (optional) No command is under way on a disk with a virtual log: say
     * which places are to be emptied. What they hold is read at once and moves
     * to where `place` says (r->moved). idle: nothing is queued either, and the
     * move gives way to what comes; else it comes before what is queued. If an
     * earlier move has given way, an answer first has that move ended. */
    void (*clean)(const struct queue *, u64 now_ns, bool idle, struct clean *);
    /* (optional) As a scheduler's. */
    const char *(*check)(const struct queue *);
    /* On a disk with a virtual log, any writes join in one command while the
     * place of the next one follows. */
    bool appends;
};

#include "kernel/policy/policy.h" /* the table, and POLICY() */
