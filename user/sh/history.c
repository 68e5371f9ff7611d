/* The lines typed before. */
#include "user/sh/sh.h"

struct history history;

void history_add(const char *line)
{
    struct history *h = &history;
    if (h->count > 0 && strcmp(h->line[h->count - 1], line) == 0)
        return;
    if (h->count == HISTORY_LINES) {
        free(h->line[0]);
        h->count--;
        memmove(h->line, h->line + 1, h->count * sizeof h->line[0]);
    }
    h->line[h->count++] = strdup(line);
}
