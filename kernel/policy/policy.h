/*
 * The boundary between the kernel's mechanism and the policies: everything that
 * a policy may know.
 *
 * - Mechanism owns the set, policy owns the order. The kernel keeps all
 *   buffers, requests and locks; a policy only answers questions. It takes no
 *   lock, touches no kernel list and gets the time as an argument.
 *   So a policy can be swapped under load.
 * - A wrong answer is caught, printed and counted (`policy fault: sched/mine:
 *   next returned a request that is not queued`). Then the kind's default takes
 *   over; under check=1 the kernel panics; under faults=answer it answers this
 *   one question itself. A pointer that leads nowhere is not caught.
 * - A policy includes the header of its kind (update.h, write.h, sched.h,
 *   replace.h, prefetch.h, place.h or order.h), which includes this one, and,
 *   if it wants what policies share, headers of policies/lib. It compiles
 *   natively.
 *
 * A policy's file has, in this order: the algorithm and its source, as a
 * comment; enum { INTERVAL_MS, ... }, which names the rows of tunables[] that
 * follow; the same for counters[]; state; hooks; a table of hooks, and POLICY.
 * A row is reached by its name, as tunables[INTERVAL_MS].value.
 *
 * Above each table of hooks stands which lock the kernel holds when it calls
 * them. A hook that does not say so may not sleep.
 */
#pragma once

#include "kernel/policy/update.h"
#include "kernel/policy/write.h"
#include "kernel/policy/sched.h"
#include "kernel/policy/replace.h"
#include "kernel/policy/prefetch.h"
#include "kernel/policy/place.h"
#include "kernel/policy/order.h"

/* The kinds of policies. Each has a header, which opens with its question. */
enum policy_kind {
    POLICY_UPDATE,
    POLICY_WRITE,
    POLICY_SCHED,
    POLICY_REPLACE,
    POLICY_PREFETCH,
    POLICY_PLACE,
    POLICY_ORDER,
    POLICY_KINDS
};

/* A number that the user may change: `set pu.interval_ms 1000`. */
struct tunable {
    const char *name, *unit;
    u64 def, min, max; /* default and range, both ends included */
    const char *about; /* one sentence */
    u64 value;         /* now; the registry sets it to def */
};

/* Memory of a policy, of a size that follows the cache's. It is there from
 * start to stop, contiguous, page aligned and not cleared; another policy of
 * the kind may have it afterwards. So a sched or place policy has none: the old
 * and the new one are in use at once during a swap. */
struct policy_memory {
    /* How many bytes it takes for a cache of so many buffers, at most, whatever
     * the tunables are. If there is not that much, the policy is not put to
     * use. */
    u64 (*bytes)(u64 buffers);
    /* Set before each start. */
    void *start;
    u64 buffers;
};

/* A number that the policy counts up; shown in /dev/stat as `name.counter`. A
 * sched or place policy counts all disks in one number, each under its own
 * lock: with several disks and harts a step may be missed. With one hart, as
 * all experiments have, none is. */
struct policy_counter {
    const char *name, *unit, *about;
    u64 value;
};

struct policy {
    enum policy_kind kind;
    const char *name, *about;        /* a word, a line */
    struct tunable *tunables;        /* NULL, or ends with a row of zeros */
    struct policy_counter *counters; /* NULL, or ends with a row of zeros */
    struct policy_memory *memory;    /* NULL, or what it needs while in use */
    /* (optional) Before the first question and after the last. After start, the
     * hooks dirtied, insert and queued are called for all that there is. */
    void (*start)(void);
    void (*stop)(void);
    /* (optional) Why it cannot do its work on this machine with its tunables
     * as they are, or NULL. For a reason the policy is not put to use or, if it
     * is in use, the tunable not set. Asked before start, too. No lock. */
    const char *(*refuses)(void);
    /* (optional) Under check=1: what is wrong with what the policy keeps, which
     * is a panic, or NULL. Called after each answer, under the same lock; of an
     * update policy after dirtied and scan, under the cache's lock. During a
     * scan, update and write policies are not checked. A sched or place
     * policy, which is asked about one disk at a time, has the hook check
     * instead. */
    const char *(*check)(void);
    union {
        struct update_hooks update;
        struct write_hooks write;
        struct sched_hooks sched;
        struct replace_hooks replace;
        struct prefetch_hooks prefetch;
        struct place_hooks place;
        struct order_hooks order;
    };
};

/* Register a policy: the linker gathers these, and the files they are from. */
#define POLICY(p)                                        \
    static const struct policy *const p##_registered     \
        __attribute__((used, section("policies"))) = &p; \
    static const char *const p##_file                    \
        __attribute__((used, section("policy_files"))) = __FILE__
