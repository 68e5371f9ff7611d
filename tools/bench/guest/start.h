/* Functions that both programs share which are process 1 of a Linux guest. */
#pragma once

#include "user/lib.h"

/* Load what /modules names, a path a line, in this order. */
void load_modules(void);

/* Mount a device, or what has none. It must succeed. */
void mount_type(const char *what, const char *where, const char *type);

/* If the result is below zero, say what failed, and switch the machine off. */
void must(i64 result, const char *what);

/* Have the disks written, and switch the machine off. */
void power_off(void) NORETURN;
