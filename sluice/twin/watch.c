/* The events of one disk of the twin (watch.h). */
#include "sluice/twin/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sluice/twin/pristine.h"
#include "kernel/driver/driver.h"
#include "kernel/driver/ramdisk.h"
#include "kernel/machine/clock.h"
#include "kernel/machine/panic.h"
#include "kernel/machine/uart.h"

static const char *watch_path;
static u32 watched_number;
static const struct ramdisk *watched;      /* since the kernel has opened it */
static const struct device_client *client; /* of the watched disk */
static void *client_arg;

/* The newest events; those before them are in the file. */
KEPT static char piece[64 << 10];
static u64 in_piece, in_file; /* bytes: of the piece, of the file */
static int file = -1;

void watch_disk(u32 number, const char *path)
{
    watched_number = number;
    watch_path = path;
}

/* ---- keeping ---- */

/* A panic would print, which is an event. */
static void lose_events(void)
{
    fprintf(stderr, "twin: the events of a disk: %s: %s\n", watch_path,
            strerror(errno));
    _exit(STATUS_PANIC);
}

/* The file is cut to its length at the end, not emptied at the beginning: so it
 * keeps the pages that an earlier trial has left. New ones cost more than the
 * copy. */
static void write_piece(void)
{
    if (file < 0)
        file = open(watch_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    for (u64 at = 0; at < in_piece;) {
        i64 n = pwrite(file, piece + at, in_piece - at, in_file);
        if (n <= 0)
            lose_events();
        at += n;
        in_file += n;
    }
    in_piece = 0;
}

static void keep(const char *data, u64 bytes)
{
    while (bytes) {
        u64 n = MIN(bytes, sizeof piece - in_piece);
        memcpy(piece + in_piece, data, n);
        in_piece += n;
        data += n;
        bytes -= n;
        if (in_piece == sizeof piece)
            write_piece();
    }
}

static void keep_head(enum watch_kind kind, u64 place, u64 bytes)
{
    u64 head[] = {kind, place, bytes, clock_ns()};
    keep((const char *)head, sizeof head);
}

int watch_end(void)
{
    if (!watch_path)
        return 0;
    write_piece();
    return ftruncate(file, in_file) || close(file) ? -1 : 0;
}

/* ---- faults of the disk ---- */

enum fault { FAIL_READ, FAIL_WRITE, FAIL_FLUSH, FLUSH_LIES, VANISHES, FAULTS };
static const char *const fault_names[FAULTS] = {"read", "write", "flush", "lie",
                                                "vanish"};
static const enum command_kind fault_of[] = {COMMAND_READ, COMMAND_WRITE,
                                             COMMAND_FLUSH, COMMAND_FLUSH};
static enum fault fault;
static u64 fault_after, fault_left; /* commands: before it, and with it */

/* Parse the text after WATCH_FAULT: KIND AFTER COUNT. */
static void set_fault(const char *line)
{
    char name[16];
    if (sscanf(line, "%15s %lu %lu", name, &fault_after, &fault_left) != 3)
        panic("twin: no fault of a disk: %s", line);
    for (fault = 0; strcmp(name, fault_names[fault]); fault++)
        if (fault + 1 == FAULTS)
            panic("twin: there is no fault %s", name);
}

/* True if the fault comes with this command of the watched disk. */
static bool fault_hits(enum command_kind kind)
{
    if (!fault_left || (fault != VANISHES && fault_of[fault] != kind))
        return false;
    if (fault_after > 1) {
        fault_after--;
        return false;
    }
    fault_left--;
    return true;
}

/* End a command with an error, in place of the RAM disk. */
static void fail_command(struct span *first)
{
    keep_head(WATCH_FAULTED, 0, 0);
    client->begin(client_arg);
    client->ended(client_arg, first, -EIO);
    client->end(client_arg);
}

/* A program's text may come in pieces. */
static void look_for_fault(const char *text, u64 n)
{
    static char line[64];
    static u32 length;
    for (u64 i = 0; i < n; i++) {
        if (text[i] == WATCH_FAULT) {
            length = 1;
        } else if (length && text[i] == '\n') {
            line[length] = 0;
            set_fault(line + 1);
            length = 0;
        } else if (length && length + 1 < sizeof line) {
            line[length++] = text[i];
        }
    }
}

/* ---- in place of the kernel's own ---- */

#define WRAPPED(type, name, ...)     \
    type __real_##name(__VA_ARGS__); \
    type __wrap_##name(__VA_ARGS__); \
    type __wrap_##name(__VA_ARGS__)

WRAPPED(struct ramdisk *, ramdisk_open, u32 i, const struct device_client *to,
        void *arg, struct device_facts *facts)
{
    struct ramdisk *r = __real_ramdisk_open(i, to, arg, facts);
    if (watch_path && i == watched_number) {
        watched = r;
        client = to;
        client_arg = arg;
    }
    return r;
}

/* Keep a write with its place and bytes. */
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
    bool hit = watched && r == watched && fault_hits(kind);
    if (hit && fault != FLUSH_LIES) {
        fail_command(first);
        return;
    }
    if (r == watched && kind == COMMAND_WRITE)
        watch_write(sector * SECTOR_BYTES, first);
    else if (r == watched && kind == COMMAND_FLUSH)
        keep_head(hit ? WATCH_FAULTED : WATCH_FLUSH, 0, 0);
    __real_ramdisk_do(r, kind, sector, first);
}

WRAPPED(void, uart_put, const char *text, u64 n)
{
    if (watch_path) {
        keep_head(WATCH_TEXT, 0, n);
        keep(text, n);
        look_for_fault(text, n);
    }
    __real_uart_put(text, n);
}
