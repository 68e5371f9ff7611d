/*
 * Where the arm of a drive would be, and when: questions of sched and place
 * policies to the model of the drive. They change nothing, but for
 * queue_seek_edge.
 */
#pragma once

#include "kernel/base/list.h"
#include "kernel/base/tree.h"

struct queue;
struct request;

/*
 * How a drive's arm comes to a request. Between the two times the platter turns
 * and the arm waits: the request might have come by so much later, and be done
 * as early. What the drive's cache holds is there at once.
 */
struct approach {
    u64 there_ns; /* the arm is at the track */
    u64 begin_ns; /* the first sector begins to pass */
};

/* The tracks of a part of a drive. All are 0 if there is no model of one, or if
 * its tracks are not alike. */
struct tracks {
    u32 sectors, heads, cyls; /* of a track, of a cylinder, of the part */
};

u64 clock_ns(void); /* the time now: it goes on while a policy thinks */

/* Return how the arm would come to r, if the drive got `first` (NULL: nothing)
 * at start_ns, and r gap_ns after that is done. Without a drive model both
 * times of the answer are NEVER_NS. */
struct approach queue_approach(const struct queue *, u64 start_ns,
                               const struct request *first, u64 gap_ns,
                               const struct request *r);

/* Return how the arm would come to these sectors for a write, if the drive got
 * that at start_ns. With a model only. */
struct approach queue_arrival(const struct queue *, u64 start_ns, u64 sector,
                              u32 nsectors);

/* Move the arm to the drive's first cylinder or its last, with nothing to
 * transfer. Returns when it is there, until which a command waits; 0 if no arm
 * can be moved: there is no model of one, or the drive has a command. */
u64 queue_seek_edge(struct queue *, bool last);
