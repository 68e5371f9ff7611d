/*
 * Policies that note each call, and answer as the test says.
 *
 * - Each kind of policy has one, named `told`. A call of one of its hooks is
 *   noted (rig.h) in the words that `struct told` shows below.
 * - Each kind also has its default policy, simplified and under its own name,
 *   which notes only that it starts and stops: "clook starts", "clook stops".
 *
 *   boot("sched=told");
 *   told.next = last_queued;
 *   submit("R0:10+2");
 *   check_notes("queued R10; next R1 W0 O0; leaves R10");
 */
#ifndef SLUICE_NATIVE_TOLD_H
#define SLUICE_NATIVE_TOLD_H

#include "tests/support/native/rig.h"

/* Their tables. A test may change them, before or after the boot, to add an
 * optional hook or to leave one out. */
extern struct policy told_update, told_write, told_sched, told_replace,
    told_prefetch, told_place;

extern struct told {
    bool quiet;                  /* note nothing */
    const char *wrong;           /* the answer of `check`: what is wrong */
    const struct queue *checked; /* the queue that `check` saw last */

    /* update: "next after 0", "look" (a scan), "dirtied 5", "leaves 5",
     * "wanted 5 hit" */
    u64 next_ns; /* NEVER_NS at first */
    void (*scan)(u64 now_ns);

    /* write: "decide 5 filled dirty=1 of 16 queued=0" */
    enum write_mode mode; /* WRITE_DELAYED at first */
    u64 answer;           /* of the hooks told_no_clean and told_most_dirty */

    /* sched: "queued R10", "leaves W12": a read of sector 10, a write of 12;
     * a candidate is O10. "next R1 W0 O2": how many reads, writes and
     * candidates are in the queue. */
    struct request *(*next)(struct queue *, u64 now_ns); /* NULL: the oldest */
    u64 again_ns; /* the answer of the hook told_again */

    /* replace: "insert 5", "insert 5 unwanted", "remove 5"; with the hooks
     * told_coming and told_evicted "coming 0:5", "evicted 5" */
    struct block *(*victim)(void); /* NULL: the first inserted */

    /* prefetch: "ahead 3+2 of 10" */
    struct readahead readahead;

    /* place: "place R10", "placed 10 at 12" */
    u64 (*place)(const struct queue *, const struct request *,
                 u64 now_ns); /* or NULL */
} told;

/* Hooks that the tables do not have at first; a test sets them. */
u64 told_again(const struct queue *, u64 now_ns);
u64 told_no_clean(u64 dirty, u64 buffers);
u64 told_most_dirty(u64 buffers);
void told_coming(u32 disk, u64 blkno);
void told_evicted(const struct block *);

/* For told.scan: it calls told_flush, and notes how many writes that started.
 */
extern u64 (*told_flush)(void);
void told_flushes(u64 now_ns);

#endif
