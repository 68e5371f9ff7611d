/*
 * A disk's queue as policies of the kinds sched and place see it: REQUESTS
 * requests, each queued or not, and the questions of sched.h and position.h.
 *
 * - Which request is first, last or oldest is exact: as in kernel/disk/queue.c,
 *   of equal sectors a read goes first, and of one set the older.
 * - What only the model of a drive knows has any value that position.h allows.
 */
#pragma once

#include "tools/prove/harness/harness.h"

#ifndef REQUESTS
#define REQUESTS 2
#endif
#define MOST_NS      (1UL << 45) /* times are below: ten hours */
#define TURN_NS      (16 * NS_PER_MS)
#define MOST_STEP_NS (1UL << 36) /* a command, or a wait: a minute */

static struct request model_a, model_b, model_c;
static struct request *const requests[] = {&model_a, &model_b, &model_c};
static struct queue disk_queue;
static u64 time_ns;

static enum queue_set model_set_of(const struct request *r)
{
    return r->candidate ? SET_CANDIDATES : r->write ? SET_WRITES : SET_READS;
}

static bool model_is_in(const struct request *r, enum direction dir)
{
    return r->queue && dir & 1 << model_set_of(r);
}

/* The request at an address that a policy keeps as a number, of which CBMC
 * would take any object for possible. For the simpler sources of bounds.toml.
 */
static inline struct request *request_of(u64 address)
{
    CLAIM(!address || address == (u64)&model_a || address == (u64)&model_b,
          "a word of the policy is a request or 0");
    return address == (u64)&model_a   ? &model_a
           : address == (u64)&model_b ? &model_b
                                      : NULL;
}

/* True if x comes before y in the order of sectors. */
static bool model_is_lower(const struct request *x, const struct request *y)
{
    if (x->sector != y->sector)
        return x->sector < y->sector;
    return model_set_of(x) != model_set_of(y)
               ? model_set_of(x) < model_set_of(y)
               : x->arrival < y->arrival;
}

struct request *queue_at_or_after(const struct queue *q, enum direction dir,
                                  u64 sector)
{
    struct request *best = NULL;
    for (u64 i = 0; i < REQUESTS; i++) {
        struct request *r = requests[i];
        if (model_is_in(r, dir) && r->sector >= sector &&
            (!best || model_is_lower(r, best)))
            best = r;
    }
    return best;
}

struct request *queue_circular(const struct queue *q, enum direction dir,
                               u64 sector)
{
    struct request *r = queue_at_or_after(q, dir, sector);
    return r ? r : queue_at_or_after(q, dir, 0);
}

struct request *queue_before(const struct queue *q, enum direction dir,
                             u64 sector)
{
    struct request *best = NULL;
    for (u64 i = 0; i < REQUESTS; i++) {
        struct request *r = requests[i];
        if (model_is_in(r, dir) && r->sector < sector &&
            (!best || model_is_lower(best, r)))
            best = r;
    }
    return best;
}

struct request *queue_oldest(const struct queue *q, enum direction dir)
{
    struct request *best = NULL;
    for (u64 i = 0; i < REQUESTS; i++)
        if (model_is_in(requests[i], dir) &&
            (!best || requests[i]->arrival < best->arrival))
            best = requests[i];
    return best;
}

/* The time goes on while a policy thinks. */
u64 clock_ns(void)
{
    return time_ns += any_below(NS_PER_MS);
}

static struct approach model_any_approach(u64 start_ns)
{
    u64 there_ns = start_ns + any_below(MOST_STEP_NS);
    if (!disk_queue.turn_ns)
        return (struct approach){NEVER_NS, NEVER_NS};
    return (struct approach){there_ns, there_ns + any_below(MOST_STEP_NS)};
}

struct approach queue_approach(const struct queue *q, u64 start_ns,
                               const struct request *first, u64 gap_ns,
                               const struct request *r)
{
    return model_any_approach(start_ns + gap_ns);
}

u64 queue_seek_edge(struct queue *q, bool last)
{
    return disk_queue.turn_ns && any_bool() ? time_ns + any_below(NS_PER_S) : 0;
}

/* The queue is the last disk's: an array of them that is too short is seen. */
bool disk_state(u32 disk, struct disk_state *s)
{
    *s = (struct disk_state){.modelled = disk == disk_queue.disk
                                             ? disk_queue.turn_ns != 0
                                             : any_bool()};
    return disk <= disk_queue.disk;
}

/* Make a disk of nsectors sectors, with a model of its drive or without. */
static void disk_begin(u64 nsectors)
{
    time_ns = any_below(MOST_NS) + 1;
    disk_queue.disk = MAX_DISKS - 1;
    disk_queue.nsectors = nsectors;
    disk_queue.head_sector = any_below(nsectors);
    disk_queue.turn_ns = any_bool() ? TURN_NS : 0;
}
