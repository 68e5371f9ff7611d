/*
 * /dev/stat: every counter and gauge, and the rows of further sources (the
 * policies' counters), as lines `name value unit`. Some gauges depend on the
 * compiler and on the machine; a gauge always takes the same room, so that
 * reading this text always costs the same.
 */
#include "kernel/base/stat.h"
#include "kernel/machine/device.h"
#include "kernel/measure/trace.h"

extern struct stat_row __start_stats[], __stop_stats[];
extern const char *const __start_stat_files[];
extern stat_source_fn *const __start_stat_sources[];
extern stat_source_fn *const __stop_stat_sources[];

/* Return the name of row i, and the file that defines it; NULL after the
 * last. */
const char *stat_name(u32 i, const char **file)
{
    if (i >= __stop_stats - __start_stats)
        return NULL;
    *file = __start_stat_files[i];
    return __start_stats[i].name;
}

/* Print all counters and gauges. Rows of devices that are not there are left
 * out. */
static void print_stats(struct text *t)
{
    trace(TRACE_counted, 0, 0, 0, 0);
    for (struct stat_row *s = __start_stats; s < __stop_stats; s++)
        if (s->with && !*s->with)
            continue;
        else if (s->read)
            text_printf(t, "%s %-14lu %s\n", s->name, s->read(), s->unit);
        else
            text_printf(t, "%s %lu %s\n", s->name, s->value, s->unit);
    for (stat_source_fn *const *print = __start_stat_sources;
         print < __stop_stat_sources; print++)
        (*print)(t);
}

static const struct device stat_device = {
    .id = 7, .name = "stat", .print = print_stats};
DEVICE(stat_device);
