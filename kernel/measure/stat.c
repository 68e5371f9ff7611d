/*
 * /dev/stat: every counter and gauge, and the policies' counters, as
 * `name value unit` lines.
 */
#include "kernel/measure/stat.h"
#include "kernel/file/dev.h"
#include "kernel/policy/registry.h"
#include "kernel/measure/trace.h"

extern struct stat_row __start_stats[], __stop_stats[];

static void print_policy_counter(void *text, const char *policy,
                                 const struct policy_counter *c)
{
    text_printf(text, "%s.%s %lu %s\n", policy, c->name, c->value, c->unit);
}

static void print_stats(struct text *t)
{
    trace(TRACE_counted, 0, 0, 0, 0);
    for (struct stat_row *s = __start_stats; s < __stop_stats; s++)
        text_printf(t, "%s %lu %s\n", s->name, s->read ? s->read() : s->value,
                    s->unit);
    policy_counters_each(print_policy_counter, t);
}

static int stat_read(u32 unit, struct uio *uio)
{
    (void)unit;
    return text_read(uio, print_stats);
}

static const struct device stat_device = {
    .id = 7, .name = "stat", .read = stat_read};
DEVICE(stat_device);
