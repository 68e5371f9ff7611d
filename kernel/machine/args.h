/*
 * Boot arguments: `name=value` words, separated by spaces, from the device
 * tree (QEMU's -append). Every argument must be asked for by some layer:
 * args_check, called last in boot, refuses one that no layer asked for.
 */
#pragma once

#include "kernel/machine/panic.h"

void args_init(const char *text);

/* The text given for name, or NULL. */
const char *arg_text(const char *name);

/*
 * The number given for name, or the default. A value that is no number or
 * outside [min, max] stops the boot with a message that says so.
 */
u64 arg_number(const char *name, u64 def, u64 min, u64 max);

/* A host's address, such as 10.0.0.1, as a number. The argument is there. */
u32 arg_host(const char *name);

/* Call fn for every argument that was not asked for yet; fn returns true if it
 * took it. */
void args_each(bool (*fn)(const char *name, const char *value));

/* Stop the boot, naming it, if an argument was never asked for. */
void args_check(void);
