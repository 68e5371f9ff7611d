/* The events of one disk of the twin (watch.h). */
#include "sluice/twin/watch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel/driver/driver.h"
#include "kernel/driver/ramdisk.h"
#include "kernel/machine/clock.h"
#include "kernel/machine/panic.h"
#include "kernel/machine/uart.h"

static const char *watch_path;
static u32 watched_number;
static const struct ramdisk *watched; /* since the kernel has opened it */
static void (*on_enquiry)(void);

static char *events;
static u64 used, room;

void watch_disk(u32 number, const char *path)
{
    watched_number = number;
    watch_path = path;
}

void watch_enquiry(void (*fn)(void))
{
    on_enquiry = fn;
}

/* ---- keeping ---- */

static void keep(const void *data, u64 bytes)
{
    if (used + bytes > room) {
        room = 2 * (used + bytes);
        events = realloc(events, room);
        if (!events)
            panic("twin: no memory for the events of a disk");
    }
    memcpy(events + used, data, bytes);
    used += bytes;
}

static void keep_head(enum watch_kind kind, u64 place, u64 bytes)
{
    keep((u64[]){kind, place, bytes, clock_ns()}, 4 * sizeof(u64));
}

int watch_end(void)
{
    if (!watch_path)
        return 0;
    int file = open(watch_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    for (u64 at = 0; at < used;) {
        i64 n = write(file, events + at, used - at);
        if (n <= 0)
            return -1;
        at += n;
    }
    return file < 0 || close(file) ? -1 : 0;
}

/* ---- in place of the kernel's own ---- */

#define WRAPPED(type, name, ...)     \
    type __real_##name(__VA_ARGS__); \
    type __wrap_##name(__VA_ARGS__); \
    type __wrap_##name(__VA_ARGS__)

WRAPPED(struct ramdisk *, ramdisk_open, u32 i,
        const struct device_client *client, void *arg,
        struct device_facts *facts)
{
    struct ramdisk *r = __real_ramdisk_open(i, client, arg, facts);
    if (watch_path && i == watched_number)
        watched = r;
    return r;
}

static void watch_write(u64 place, const struct span *first)
{
    u64 bytes = 0;
    for (const struct span *s = first; s; s = s->next)
        bytes += s->bytes;
    keep_head(WATCH_WRITE, place, bytes);
    for (const struct span *s = first; s; s = s->next)
        keep(s->data, s->bytes);
}

WRAPPED(void, ramdisk_do, struct ramdisk *r, enum command_kind kind, u64 sector,
        struct span *first)
{
    if (r == watched && kind == COMMAND_WRITE)
        watch_write(sector * SECTOR_BYTES, first);
    else if (r == watched && kind == COMMAND_FLUSH)
        keep_head(WATCH_FLUSH, 0, 0);
    __real_ramdisk_do(r, kind, sector, first);
}

WRAPPED(void, uart_put, const char *text, u64 n)
{
    if (watch_path) {
        keep_head(WATCH_TEXT, 0, n);
        keep(text, n);
    }
    __real_uart_put(text, n);
    if (on_enquiry && memchr(text, WATCH_ENQUIRY, n)) {
        void (*fn)(void) = on_enquiry;
        on_enquiry = NULL;
        used = 0;
        fn();
    }
}
