/* The kernel's functions for text, by those of the host. */
#include <stdarg.h>
#include <stdio.h>

#include "kernel/base/string.h"
#include "kernel/machine/print.h"

int kvsnprintf(char *out, size_t n, const char *fmt, va_list args)
{
    return vsnprintf(out, n, fmt, args);
}

int ksnprintf(char *out, size_t n, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int length = kvsnprintf(out, n, fmt, args);
    va_end(args);
    return length;
}

size_t strlcpy(char *to, const char *from, size_t n)
{
    return snprintf(to, n, "%s", from);
}
