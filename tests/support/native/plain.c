/*
 * What the cache and the disks call, where a test wants nothing of it: one
 * hart, whose interrupts do not matter, and no files of text.
 */
#include <stdlib.h>

#include "kernel/base/string.h"
#include "kernel/machine/args.h"
#include "kernel/machine/cpu.h"
#include "kernel/machine/device.h"
#include "kernel/machine/lock.h"
#include "kernel/machine/print.h"
#include "kernel/proc/proc.h"

/* Set the value of a decimal number; false: the text is not one. */
bool parse_u64(const char *text, u64 *value)
{
    char *end;
    *value = strtoul(text, &end, 10);
    return !*end && end != text;
}

/* No boot arguments. */
void args_each(bool (*fn)(const char *, const char *))
{
    (void)fn;
}

/* Print nothing. */
void text_printf(struct text *t, const char *fmt, ...)
{
    (void)t, (void)fmt;
}

void irq_push_off(void)
{
}

void irq_pop_off(void)
{
}

/* The only hart, which runs the current process. */
struct cpu *mycpu(void)
{
    static struct cpu cpu;
    cpu.pid = myproc()->pid;
    cpu.name = myproc()->name;
    return &cpu;
}
