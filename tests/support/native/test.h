/*
 * Unit tests of policies on the host.
 *
 *   TEST(fcfs_serves_in_order_of_arrival) { ... check_eq(got, want); }
 *
 * - A program of tests prints their names when run without arguments, and
 *   with a name runs that one; a failed check says where and ends it with 1.
 * - With --all, it runs each in a process of its own, between the lines
 *   "@ NAME" and "@ STATUS". Behind all, a program with policies prints the
 *   counters, KIND/NAME.COUNTER, that no test has asked counter_of for and
 *   found moved.
 * - TEST_ROWS makes a test of each row of a table: its name is the row's first
 *   member, and it is listed and run as any other.
 * - policy_named finds a policy of those linked in, and starts it with its
 *   tunables at their defaults. What policies call is the kernel's own
 *   queue.c and policies/lib, and for update and write policies cache_model.h.
 */
#ifndef SLUICE_NATIVE_TEST_H
#define SLUICE_NATIVE_TEST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/policy/policy.h"

struct test {
    const char *name;
    void (*run)(void);
    /* Of a table: instead of `run`, what runs a row; and the rows. */
    void (*run_row)(const void *row);
    const void *rows;
    u64 nrows, row_bytes;
};

#define TEST(id)                                             \
    static void id(void);                                    \
    static const struct test id##_row = {#id, .run = id};    \
    static const struct test *const id##_test                \
        __attribute__((used, section("tests"))) = &id##_row; \
    static void id(void)

#define TEST_ROWS(id, type, table)                                           \
    static void id(const type *);                                            \
    static void id##_from_row(const void *row)                               \
    {                                                                        \
        id(row);                                                             \
    }                                                                        \
    static const struct test id##_row = {#id,   NULL,         id##_from_row, \
                                         table, NELEM(table), sizeof(type)}; \
    static const struct test *const id##_test                                \
        __attribute__((used, section("tests"))) = &id##_row;                 \
    static void id(const type *row)

/* The current step of a script (script.h), for the messages below; else "". */
extern const char *test_step;

#define check(cond)                                                         \
    do {                                                                    \
        if (!(cond)) {                                                      \
            printf("%s:%d: %sexpected %s\n", __FILE__, __LINE__, test_step, \
                   #cond);                                                  \
            exit(1);                                                        \
        }                                                                   \
    } while (0)

#define check_eq(got, want)                                           \
    do {                                                              \
        u64 got_ = (got), want_ = (want);                             \
        if (got_ != want_) {                                          \
            printf("%s:%d: %sexpected %s = %lu, got %lu\n", __FILE__, \
                   __LINE__, test_step, #got, want_, got_);           \
            exit(1);                                                  \
        }                                                             \
    } while (0)

extern const struct policy *const __start_policies[];
extern const struct policy *const __stop_policies[];

#define POLICY_EACH(p)                                     \
    for (const struct policy *const *p = __start_policies; \
         p < __stop_policies; p++)

/* A program with policies calls these for --all, before the tests and after. */
void watch_counters(void);
void print_unmoved(void);

/* How many buffers a cache has, for which a policy that starts has memory: 1000
 * at first. Under a cache_model.h it is the model's. */
extern u64 cache_buffers;

void policy_start(const struct policy *);
const struct policy *policy_named(enum policy_kind, const char *name);
struct tunable *tunable_named(const struct policy *, const char *name);

/* A counter's value. */
u64 counter_of(const struct policy *, const char *name);

u64 random_u64(u64 *state); /* splitmix64 */

/* The time, and by how much each look at the clock moves it. */
extern u64 clock_now_ns, clock_look_ns;

/* The drive that queue_approach asks; NULL, as at first: there is no model. */
typedef struct approach approach_fn(const struct queue *, u64 start_ns,
                                    const struct request *first, u64 gap_ns,
                                    const struct request *);
extern approach_fn *drive_approaches;

/* The drive whose arm queue_seek_edge moves; NULL, as at first: none. */
typedef u64 seek_edge_fn(bool last);
extern seek_edge_fn *drive_to_edge;

#endif
