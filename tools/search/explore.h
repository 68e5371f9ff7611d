/*
 * What the parts of the search share: the choices of what may come next, and
 * what has been found so far.
 */
#pragma once

#include <signal.h>

#include "tools/search/machine.h"

enum kind { RUN, END, FAIL, FIRE, WAIT, LACK, KINDS };
/* what: the process or command; pause: for RUN, the release at which it pauses.
 */
struct choice {
    u8 kind, what, pause;
};

struct node {
    u32 before;
    struct choice by;
    u16 depth;
};

#define CHOICES_MOST 256
#define DEPTH_MOST   4000
#define NONE         UINT32_MAX
#define KEPT_MOST    (256UL << 20) /* bytes of snapshots */

/* The search that is made, in memory that no state holds. */
extern struct search {
    u64 *seen; /* a table of hashes, 0: free */
    u64 seen_room;
    struct node *found;
    u32 nfound, states_most;
    struct level {
        u32 state;
        struct snapshot snapshot;
    } levels[DEPTH_MOST + 2];
    u32 nlevels;
    struct snapshot *kept; /* of states not gone on from yet, while there is */
    u64 kept_bytes;        /* room for them */
    const struct snapshot *from; /* of the state being gone on from */
    u64 steps, taken[KINDS], pauses, dead_ends, quiet;
    u64 started_ns, limit_ns;
    u32 depth, begun; /* the state being gone on from */
    volatile sig_atomic_t interrupted, stuck, stepping; /* in step() */
    volatile u64 seen_steps;
    u64 told_ns;       /* when progress was last printed */
    bool prints_words; /* --words: replay, and print what the hash counts */
} * search;

extern const char letters[]; /* of the kinds, in a path */

/* choices.c. At most CHOICES_MOST; returns how many. */
u32 list_choices(struct choice *);
/* Take a step, and make the checks. False: something is wrong, and watch->what
 * says. */
bool step(struct choice);

/* explore.c. Visit all states. Returns the status of the program: 0: nothing is
 * wrong, or the search was stopped; 1: a violation, which has been printed. */
int explore(void);
void print_result(const char *how, const char *why);
u64 host_ns(void); /* of a clock that only goes on */

/* story.c. Take the steps of a path, and tell each. Returns as explore does; 2:
 * the path is not possible. */
int replay(const char *path);

/* signals.c. Make a step that does not end, or faults, a violation from now on,
 * and have ^C end the search. */
void catch_all(void);

/* Say on the standard error what is wrong with the command. Returns 2. */
int wrong(const char *what, const char *why);
