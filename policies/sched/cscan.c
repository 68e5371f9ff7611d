/*
 * C-SCAN, the circular scan: the head serves requests by rising sector; past
 * the last one it goes on to the end of the disk, returns to its beginning
 * without serving any, and sweeps again. C-LOOK (clook.c) spares both seeks.
 *
 * These seeks move the arm with nothing to transfer, as a SCSI drive's SEEK
 * does. They are not broken off: a request that arrives meanwhile belongs to
 * the next sweep, wherever it lies. The head of an idle disk stays where it is.
 * Where no arm can be moved (position.h), as with a drive that holds several
 * commands, the order is C-LOOK's.
 *
 * Source: Seaman, Lind and Wilson, "An Analysis of Auxiliary-Storage Activity",
 * IBM Systems Journal 5(3), 1966; named and compared with others by Teorey and
 * Pinkerton, "A Comparative Analysis of Disk Scheduling Policies", CACM 15(3),
 * 1972.
 */
#include "kernel/policy/sched.h"

enum { RETURNS, TRAVELLED };

static struct policy_counter counters[] = {
    {"returns", "sweeps", "times the head went to the end and back"},
    {"travelled", "ns", "of these seeks, in which nothing was served"},
    {0},
};

/* The words of a queue. */
enum {
    BACK_NS, /* when the head is back at the beginning */
    BACK,    /* true if the head has been sent there */
};

/* Send the head to the end and back. */
static void turn(struct queue *q, u64 now_ns)
{
    queue_seek_edge(q, true);
    q->word[BACK_NS] = queue_seek_edge(q, false);
    q->word[BACK] = true;
    counters[RETURNS].value++;
    counters[TRAVELLED].value +=
        q->word[BACK_NS] ? q->word[BACK_NS] - now_ns : 0;
}

/* Serve upwards. At the top the arm goes to the end and back to the beginning,
 * and nothing is served meanwhile. */
static struct request *cscan_next(struct queue *q, u64 now_ns)
{
    struct request *r = queue_at_or_after(q, BOTH, q->head_sector);
    if (!r && !q->word[BACK])
        turn(q, now_ns);
    if (now_ns < q->word[BACK_NS])
        return NULL;
    if (q->word[BACK])
        r = queue_at_or_after(q, BOTH, 0);
    q->word[BACK] = false;
    return r;
}

/* When the head is back: next waits for that. */
static u64 cscan_again_ns(const struct queue *q, u64 now_ns)
{
    (void)now_ns;
    return q->word[BACK_NS];
}

static const struct policy cscan = {
    .kind = POLICY_SCHED,
    .name = "cscan",
    .about =
        "circular scan: by rising sector to the end of the disk, then back",
    .counters = counters,
    .sched = {.next = cscan_next, .again_ns = cscan_again_ns},
};
POLICY(cscan);
