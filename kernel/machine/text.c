/*
 * Text made on reading (device.h).
 *
 * - Each read prints the whole text. Only the bytes in [from, to) are kept, in
 *   pages that are allocated as they fill; the others are counted. So a text
 *   may have any length, and no device keeps state between reads.
 * - A printing function may hold spin locks while it calls text_printf, but
 *   none inside RANK_MEM.
 */
#include "kernel/machine/device.h"
#include "kernel/base/abi.h"
#include "kernel/machine/mem.h"
#include "kernel/machine/panic.h"

/* Keep the piece of line[n] that lies in the page of the wanted part at
 * offset t->at; returns its length. */
static u64 text_keep(struct text *t, const char *line, u64 n)
{
    u64 place = t->at - t->from;
    char **page = &t->page[place / PAGE_SIZE];
    if (!*page)
        *page = page_alloc();
    if (!*page) {
        t->error = -ENOMEM;
        return n;
    }
    u64 piece = MIN(n, PAGE_SIZE - place % PAGE_SIZE);
    memcpy(*page + place % PAGE_SIZE, line, piece);
    return piece;
}

/* Add a line to the text. Bytes before t->from and after t->to are only
 * counted. */
static void text_put(struct text *t, const char *line, u64 n)
{
    u64 before = t->at < t->from ? MIN(n, t->from - t->at) : 0;
    t->at += before;
    line += before;
    n -= before;
    while (n > 0 && t->at < t->to && !t->error) {
        u64 piece = text_keep(t, line, MIN(n, t->to - t->at));
        t->at += piece;
        line += piece;
        n -= piece;
    }
    t->at += n;
}

/* Add formatted text, less than a page at a time. */
void text_printf(struct text *t, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    u64 n = kvsnprintf(t->line, PAGE_SIZE, fmt, args);
    va_end(args);
    assert(n < PAGE_SIZE);
    text_put(t, t->line, n);
}

/* Have `print` make the text. Return 0 or an error. */
int text_make(struct text *t, void (*print)(struct text *))
{
    t->line = page_alloc();
    if (!t->line)
        return -ENOMEM;
    print(t);
    page_free(t->line);
    return t->error;
}
