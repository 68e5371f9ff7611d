/*
 * Marks: a high and a low limit of how many blocks are dirty, which adapt to
 * the load (marks.c). This is also the update policy of adaptive high and low
 * watermarks (AHLW), for policies/update/ahlw.c and its variants: as soon as
 * more than `high` blocks are dirty, the oldest are written until only `low`
 * are dirty. Every step_ms the marks adapt, and blocks that have been dirty
 * for age_ms are written.
 */
#ifndef SLUICE_LIB_MARKS_H
#define SLUICE_LIB_MARKS_H

#include "kernel/policy/update.h"

struct marks {
    u64 high, low; /* blocks; the rest is marks.c's */
    u64 exact_high, exact_low;
    u64 steps;
    u64 dirtied, cleaned; /* in the last step */
    u64 all_dirtied, all_cleaned;
};

/* Begin with these marks. */
void marks_start(struct marks *, u64 high, u64 low);

/* Adapt the marks to the rates during a step of time that has passed. Then 1 <=
 * high <= MAX(1, most), and low <= high. All steps have the same length. */
void marks_step(struct marks *, const struct cache_state *, u64 most);

/* ---- the policy; its hooks call the functions below ---- */

/* The first rows of the policy's tunables and of its counters. */
enum {
    STEP_MS,
    AGE_MS,
    HIGH_PERCENT, /* of the cache: the high mark at first */
    LOW_PERCENT,  /* of the high mark: the low one at first */
    MOST_PERCENT, /* of the cache: the high mark never exceeds it */
    WATERMARK_TUNABLES,
};
enum {
    STEPS,
    HIGH_SUM, /* high marks of all steps */
    LOW_SUM,
    DUE, /* blocks written because of their age */
    ABOVE_HIGH,
    WRITTEN, /* blocks written because of that */
    WATERMARK_COUNTERS,
};

struct watermarks {
    struct marks marks;
    u64 stepped_ns; /* when the last step was */
    const struct tunable *tunables;
    struct policy_counter *counters;
    /* The most that the high mark may be; asked at each step. */
    u64 (*most)(u64 buffers);
};

void watermarks_start(struct watermarks *);
const char *watermarks_refuse(const struct watermarks *);
const char *watermarks_check(const struct watermarks *);

/* The kernel calls this at the start and after each scan, so it also tells the
 * kernel the high mark. */
u64 watermarks_next_ns(const struct watermarks *);

void watermarks_scan(struct watermarks *, u64 now_ns);

/* Defines NAME_next_ns, NAME_scan, NAME_refuses and NAME_check, the hooks of a
 * policy's file over its static `watermarks`. */
#define WATERMARKS_HOOKS(name)                  \
    static u64 name##_next_ns(u64 last_ns)      \
    {                                           \
        (void)last_ns;                          \
        return watermarks_next_ns(&watermarks); \
    }                                           \
    static void name##_scan(u64 now_ns)         \
    {                                           \
        watermarks_scan(&watermarks, now_ns);   \
    }                                           \
    static const char *name##_refuses(void)     \
    {                                           \
        return watermarks_refuse(&watermarks);  \
    }                                           \
    static const char *name##_check(void)       \
    {                                           \
        return watermarks_check(&watermarks);   \
    }

#endif
