/*
 * Counters and gauges, gathered by the linker and read as /dev/stat:
 * `name value unit`, a line each. A counter only grows; a reader subtracts.
 *
 *   COUNTER(hits, "bio.hits", "blocks", "getblk found the block cached");
 *   count(&hits, 1);
 *   GAUGE(free_pages, "mem.free", "pages", "not in use", mem_free_pages);
 *
 * A counter of a device that few machines have is no row of the others: what
 * they print, and the time that it takes, stay as they were.
 *
 *   COUNTER_WITH(sent, "net.sent", "frames", "given to the device", &net.up);
 */
#pragma once

#include "kernel/base/types.h"

struct stat_row {
    const char *name, *unit, *about;
    u64 value;         /* a counter's */
    u64 (*read)(void); /* a gauge's; NULL for a counter */
    const bool *with;  /* the row is printed only if this holds; NULL: always */
};

#define STAT_ROW_(id)         \
    static struct stat_row id \
        __attribute__((used, section("stats"), aligned(8)))
#define STAT_FILE_(id)                  \
    ;                                   \
    static const char *const id##_file_ \
        __attribute__((used, section("stat_files"))) = __FILE__
#define COUNTER(id, name_, unit_, about_) \
    STAT_ROW_(id) = {                     \
        .name = name_, .unit = unit_, .about = about_} STAT_FILE_(id)
#define COUNTER_WITH(id, name_, unit_, about_, with_) \
    STAT_ROW_(id) = {.name = name_,                   \
                     .unit = unit_,                   \
                     .about = about_,                 \
                     .with = with_} STAT_FILE_(id)
#define GAUGE(id, name_, unit_, about_, read_) \
    STAT_ROW_(id) = {.name = name_,            \
                     .unit = unit_,            \
                     .about = about_,          \
                     .read = read_} STAT_FILE_(id)

/* The i-th row's name, and the source that it is from; NULL past the last. */
const char *stat_name(u32 i, const char **file);

/* A function that prints further rows, by text_printf (device.h):
 * STAT_SOURCE(print_counters); */
struct text;
typedef void stat_source_fn(struct text *);

#define STAT_SOURCE(fn)                           \
    static stat_source_fn *const fn##_stat_source \
        __attribute__((used, section("stat_sources"))) = fn

/* Add n to a counter. */
static inline void count(struct stat_row *c, u64 n)
{
    __atomic_fetch_add(&c->value, n, __ATOMIC_RELAXED);
}
