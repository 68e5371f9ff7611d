/* The destination of formatted text; the interface of format.c to stdio.c. */
#ifndef SLUICE_USER_SINK_H
#define SLUICE_USER_SINK_H

#include "user/lib.h"

struct sink {
    void (*put)(struct sink *, const char *text, size_t n);
};

void sink_format(struct sink *, const char *fmt, va_list);

/* Return the result of a printf function that wrote `total` bytes: this number,
 * or -1 and ERANGE if an int cannot hold it. */
int format_result(size_t total);

#endif
