/*
 * The rest of the machine that the kernel's cache and disks need, for unit
 * tests on the host: a clock, timers, processes, locks, memory and a device,
 * which the test controls. The sources under test are the kernel's own.
 *
 *   boot("nbuf=16 sched=told");
 *   struct buf *b = bread(disk_get(0), 5);
 *   check_commands("R0:10+2");
 *
 * - Time passes only in run_to_ns, and by clock_look_ns at each reading of the
 *   clock.
 * - The test is a process itself. While it sleeps the other processes run. When
 *   all processes sleep, the function rig.idle is called. At first that is
 *   end_oldest, which ends the oldest command, or goes on to the next timer. If
 *   rig.idle returns false, nothing can wake the test, and it fails.
 * - Spin locks must be taken by rising rank, as in a debug kernel, and a
 *   process that sleeps holds none.
 * - Each test runs in a process of the host of its own, so a test may change
 *   anything.
 */
#ifndef SLUICE_NATIVE_RIG_H
#define SLUICE_NATIVE_RIG_H

#include <stdarg.h>

#include "tests/support/native/test.h"
#include "kernel/disk/disk.h"

#define TEST_PID 7

extern struct rig {
    u32 disks;   /* 2 */
    u64 sectors; /* of each disk, 4,096; more for disks that are not used */
    u32 depth;   /* commands that a disk takes at a time, 8 */
    u32 max_segments; /* pieces of a command, 4 */
    u32 ring;         /* commands in flight before the device refuses, 512 */
    bool can_flush;   /* the device has a volatile cache; false */
    bool flush_fails; /* each flush ends with an error; false */
    bool live;        /* time is real; false */
    void (*unlocked)(void); /* called whenever no lock is held any more */
    bool (*idle)(void);     /* false: there is nothing to wait for */
    u64 kicks;              /* times that the device was notified of commands */
    u64 memory_pages;       /* of the machine, 1,024 */
    u64 reservations;       /* of memory that succeed; UNLIMITED: all */
    u64 released;           /* bytes of memory that were given back */
} rig;

/* Start the registry and the disks with these boot arguments. boot also starts
 * the cache, with blocks of 1,024 bytes, and placement. */
void boot_disks(const char *args);
void boot(const char *args);

void start_update_daemon(void);

/* ---- processes ---- */

struct task;

/* Start a process; it runs until it sleeps. */
struct task *start(u32 pid, void (*fn)(void *), void *arg);
bool has_ended(const struct task *);

/* The kernel thread of this name. */
struct proc *kernel_thread(const char *name);

/* Let all run until they sleep. */
void run_others(void);

/* Let time pass; timers fire, and sleeps end, at their times. */
void run_to_ns(u64 when_ns);

/* ---- the device ---- */

u32 in_flight(void);

/* End the i-th of the commands in flight, the oldest first. */
void end_command(u32 i);
void end_commands(void); /* all in flight, and those that they cause */
bool end_oldest(void);   /* rig.idle at first */
bool nothing_ends(void); /* a rig.idle for commands that the test ends */

/* Make the next `times` reads or writes that touch this sector fail. */
void fail_sector(u32 disk, u64 sector, bool write, u32 times);

/* The sector's contents. */
u8 *on_device(u32 disk, u64 sector);

/* Expect these commands since the last check: "R0:16+4=2 W1:20+2" is a read of
 * disk 0, 4 sectors from 16 on made of 2 requests, then a write. */
#define check_commands(want) check_text("commands", want, __FILE__, __LINE__)

/* ---- requests ---- */

/* Submit requests: "R0:16+2 W0:20+2" is a read of 2 sectors of disk 0 from
 * sector 16 on, then a write. The end of each is noted as "R16 done" or
 * "R16 failed". Returns the last request. */
struct io *submit(const char *requests);

/* Add a candidate write to disk 0, a write that the scheduler may choose or
 * leave. The call of its hook `reserve` is noted as "claim 16", and fails if
 * claims_fail is set. */
struct io *add_candidate_write(u64 sector, u32 nsectors);
extern bool claims_fail;

/* ---- what is said ---- */

/* Append to one of the texts that check_text compares. */
void say(const char *which, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void say_args(const char *which, const char *fmt, va_list args);

/* Note an event. The policies in told.h note each call. */
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Expect these notes since the last check, with "; " between them; this text on
 * the console; these trace events, as /dev/trace prints them without times. */
#define check_notes(want)   check_text("notes", want, __FILE__, __LINE__)
#define check_console(want) check_text("console", want, __FILE__, __LINE__)
#define check_trace(want)   check_text("trace", want, __FILE__, __LINE__)
void check_text(const char *which, const char *want, const char *file,
                u32 line);
void forget(const char *which);

/* Expect that fn panics or stops the boot, and says `why`. */
#define check_panics(fn, why) check_panics_at(fn, #fn, why, __FILE__, __LINE__)
void check_panics_at(void (*fn)(void), const char *name, const char *why,
                     const char *file, u32 line);

/* ---- counters ---- */

/* A counter or gauge of /dev/stat. */
u64 stat_of(const char *name);

/* Expect "NAME 3, OTHER 1" of the counters that begin with the prefix, and 0
 * of all others of it. Gauges are not looked at. */
#define check_counters(prefix, want) \
    check_counters_at(prefix, want, __FILE__, __LINE__)
void check_counters_at(const char *prefix, const char *want, const char *file,
                       u32 line);

/* Expect these values in a histogram, in rising order: "3 7 7"; of a value
 * from 256 on the least of its bucket. And their exact sum. */
#define check_hist(name, unit, want, sum) \
    check_hist_at(name, unit, want, sum, __FILE__, __LINE__)
void check_hist_at(const char *name, u32 unit, const char *want, u64 sum,
                   const char *file, u32 line);

#endif
