/* Streams of an open file (stream.h). */
#include "kernel/stream.h"

static bool belongs(const struct stream *s, const struct access *a,
                    const struct prefetch_hooks *hooks)
{
    if (!s->used)
        return false;
    return hooks->follows ? hooks->follows(s, a) : goes_on(s, a);
}

struct stream *stream_of(struct streams *f, const struct access *a,
                         const struct prefetch_hooks *hooks)
{
    struct stream *followed = NULL, *oldest = &f->stream[0];
    for (u32 i = 0; i < STREAMS; i++) {
        struct stream *s = &f->stream[i];
        if (belongs(s, a, hooks) && (!followed || s->used > followed->used))
            followed = s;
        if (s->used < oldest->used)
            oldest = s;
    }
    if (!followed) {
        followed = oldest;
        *followed = (struct stream){0};
    }
    followed->used = ++f->reads;
    return followed;
}
