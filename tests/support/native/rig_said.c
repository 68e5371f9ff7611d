/*
 * Checks of what is printed, traced and counted (rig.h). What is said
 * collects in four texts, named notes, commands, console and trace; each check
 * compares one and empties it.
 */
#include "tests/support/native/rig.h"

#include <sys/wait.h>
#include <unistd.h>

#include "kernel/measure/hist.h"
#include "kernel/machine/machine.h"
#include "kernel/machine/lock.h"
#include "kernel/base/stat.h"
#include "kernel/measure/trace.h"

#define SAID_BYTES 65536

/* ---- what is said ---- */

static struct said {
    const char *name, *between;
    char text[SAID_BYTES];
    u64 length;
} said[] = {{"notes", "; ", "", 0},
            {"commands", " ", "", 0},
            {"console", "", "", 0},
            {"trace", "; ", "", 0}};

static struct said *said_named(const char *name)
{
    for (u32 i = 0; i < NELEM(said); i++)
        if (!strcmp(said[i].name, name))
            return &said[i];
    panic("rig: nothing is said as %s", name);
}

/* Append a line to one of the four texts, unless it is nearly full. */
void say_args(const char *which, const char *fmt, va_list args)
{
    struct said *s = said_named(which);
    if (s->length > SAID_BYTES - 512)
        return;
    char *at = s->text + s->length;
    int n = s->length ? sprintf(at, "%s", s->between) : 0;
    s->length += n + vsnprintf(at + n, 512 - n, fmt, args);
}

void say(const char *which, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say_args(which, fmt, args);
    va_end(args);
}

void note(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    say_args("notes", fmt, args);
    va_end(args);
}

/* Empty a text. */
void forget(const char *which)
{
    struct said *s = said_named(which);
    s->length = 0;
    s->text[0] = 0;
}

/* Expect this text since the last check, and empty it. */
void check_text(const char *which, const char *want, const char *file, u32 line)
{
    struct said *s = said_named(which);
    if (strcmp(s->text, want)) {
        printf("%s:%u: expected %s\n    %s\n  got\n    %s\n", file, line, which,
               want, s->text);
        exit(1);
    }
    forget(which);
}

/* The output of a child process that runs fn. */
static void in_child(void (*fn)(void), char *out, u64 n)
{
    int ends[2], status;
    if (pipe(ends))
        panic("rig: no pipe");
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        dup2(ends[1], 1);
        close(ends[0]);
        fn();
        exit(0);
    }
    close(ends[1]);
    u64 length = 0;
    for (ssize_t got; (got = read(ends[0], out + length, n - 1 - length)) > 0;)
        length += got;
    out[length] = 0;
    close(ends[0]);
    waitpid(child, &status, 0);
}

void check_panics_at(void (*fn)(void), const char *name, const char *why,
                     const char *file, u32 line)
{
    char out[4096];
    in_child(fn, out, sizeof out);
    bool panicked = !strncmp(out, "panic: ", 7) || !strncmp(out, "boot: ", 6);
    if (panicked && strstr(out, why))
        return;
    printf("%s:%u: expected %s to panic for \"%s\"; it said: %s\n", file, line,
           name, why, out);
    exit(1);
}

/* ---- the trace, as machine mode appends to it ---- */

bool trace_on = true;
/* Note a traced event. `rest` packs the disk, the event's kind and the
 * process. */
i64 machine_call(u64, u64 block, u64 argument, u64 rest, u64 call)
{
    static const char *const names[] = {
#define X(name, meaning) #name,
        TRACE_EVENTS(X)
#undef X
    };
    if (call != TRACE_APPEND)
        return 0;
    say("trace", "%s%s disk%lu %lu %u %lu", names[rest >> 32 & 0xffff],
        argument & TRACE_WRITE ? "-write" : "", rest >> 48, block, (u32)rest,
        argument & ~TRACE_WRITE);
    return 0;
}

/* ---- counters ---- */

extern struct stat_row __start_stats[], __stop_stats[];

/* The value of a counter or gauge. */
u64 stat_of(const char *name)
{
    for (struct stat_row *s = __start_stats; s < __stop_stats; s++)
        if (!strcmp(s->name, name))
            return s->read ? s->read() : s->value;
    panic("rig: there is no counter %s", name);
}

/* The value of this name in "NAME 3, OTHER 1"; 0 if it is not there. Counts
 * those that are in *found. */
static u64 wanted(const char *want, const char *name, u32 *found)
{
    u64 length = strlen(name);
    for (const char *at = want; *at; at += strspn(at, ", ")) {
        if (!strncmp(at, name, length) && at[length] == ' ') {
            ++*found;
            return strtoul(at + length, NULL, 10);
        }
        at += strcspn(at, ",");
    }
    return 0;
}

/* Expect the counters named in `want`, and 0 of all others with the prefix. */
void check_counters_at(const char *prefix, const char *want, const char *file,
                       u32 line)
{
    u32 found = 0, named = *want ? 1 : 0;
    for (const char *at = want; *at; at++)
        named += *at == ',';
    for (struct stat_row *s = __start_stats; s < __stop_stats; s++) {
        if (s->read || strncmp(s->name, prefix, strlen(prefix)))
            continue;
        u64 value = wanted(want, s->name + strlen(prefix), &found);
        if (s->value == value)
            continue;
        printf("%s:%u: expected %s = %lu, got %lu\n", file, line, s->name,
               value, s->value);
        exit(1);
    }
    if (found != named) {
        printf("%s:%u: \"%s\" names counters that are not there\n", file, line,
               want);
        exit(1);
    }
}

/* The unit of a histogram, by the histogram's name. */
static struct hist_unit *hist_named(const char *name, u32 unit)
{
    for (struct histogram *h = __start_histograms; h < __stop_histograms; h++)
        if (!strcmp(h->name, name))
            return &h->units[unit];
    panic("rig: there is no histogram %s", name);
}

/* Expect the values in a histogram, each as often as its bucket counts, and the
 * sum. */
void check_hist_at(const char *name, u32 unit, const char *want, u64 sum,
                   const char *file, u32 line)
{
    const struct hist_unit *u = hist_named(name, unit);
    char text[4096] = "";
    u64 n = 0;
    for (u32 i = 0; i < HIST_BUCKETS; i++)
        for (u32 j = 0; j < u->counts[i] && n < sizeof text - 32; j++)
            n += sprintf(text + n, n ? " %lu" : "%lu", hist_low(i));
    if (!strcmp(text, want) && u->sum == sum)
        return;
    printf("%s:%u: expected %s of \"%s\", sum %lu; got \"%s\", sum %lu\n", file,
           line, name, want, sum, text, u->sum);
    exit(1);
}
