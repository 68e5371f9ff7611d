/*
 * Text made on reading: a function prints the whole text by text_printf, and
 * the part that was asked for is kept. The text may have any length; one
 * text_printf prints less than a page.
 */
#pragma once

#include "kernel/base/types.h"

#define TEXT_PAGES 64 /* most that one read keeps */

struct text {
    u64 at;                 /* offset of the next byte printed */
    u64 from, to;           /* the part wanted */
    u64 until;              /* what the device's `end` said at the opening */
    char *page[TEXT_PAGES]; /* it goes here; allocated as needed */
    char *line;             /* a page to format in */
    int error;              /* -ENOMEM */
};

/* Print everything and keep [t->from, t->to), at most TEXT_PAGES pages. The
 * caller frees the pages. 0 or -ENOMEM. */
int text_make(struct text *t, void (*print)(struct text *));

void text_printf(struct text *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
