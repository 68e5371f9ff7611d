/* Assertions, and the end of a machine that breaks one. Where a file may panic,
 * it may print. */
#pragma once

#include "kernel/machine/print.h"

#define assert(cond)                                            \
    do {                                                        \
        if (!(cond))                                            \
            panic("%s: assertion failed: %s", __func__, #cond); \
    } while (0)

/* Checks worth their cost only while looking for a mistake. */
#ifdef DEBUG
#define CHECKED 1
#else
#define CHECKED 0
#endif
#define debug_assert(cond) assert(!CHECKED || (cond))

/* True if this hart is panicking. Does not return if another hart is. Every
 * hart calls this when it spins for a lock or takes an ipi, so a panic stops
 * all harts. */
bool panicking(void);

/* power.c: power off, by the test device (sifive,test1); status 0 to 255
 * becomes QEMU's exit status. Syncs nothing. */
void power_off(int status) __attribute__((noreturn));

/* Exit statuses of the kernel's own. */
#define STATUS_BOOT_FAIL 100
#define STATUS_PANIC     101

/* args.c: print "boot: " and the message, and power off with a failure
 * status. */
void boot_fail(const char *fmt, ...)
    __attribute__((noreturn, format(printf, 1, 2)));

/* Print "panic: " and the message, where it happened and the calls that led
 * there, and power off. From any context. */
void panic(const char *fmt, ...)
    __attribute__((noreturn, format(printf, 1, 2)));
