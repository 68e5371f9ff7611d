/* Streams of an open file (stream.h). */
#include "kernel/cache/stream.h"

static bool belongs(const struct stream *s, const struct access *a,
                    const struct prefetch_hooks *hooks)
{
    if (!s->used)
        return false;
    return hooks->follows ? hooks->follows(s, a) : goes_on(s, a);
}

/* The number of the stream to which the read belongs; of several, the one read
 * last. Without one, the stream not read for longest begins anew. */
static u32 choose(struct streams *f, const struct access *a,
                  const struct prefetch_hooks *hooks)
{
    u32 followed = STREAMS, oldest = 0;
    for (u32 i = 0; i < STREAMS; i++) {
        const struct stream *s = &f->stream[i];
        if (belongs(s, a, hooks) &&
            (followed == STREAMS || s->used > f->stream[followed].used))
            followed = i;
        if (s->used < f->stream[oldest].used)
            oldest = i;
    }
    if (followed < STREAMS)
        return followed;
    f->stream[oldest] = (struct stream){0};
    return oldest;
}

struct stream *stream_of(struct streams *f, const struct access *a,
                         const struct prefetch_hooks *hooks)
{
    if (!belongs(&f->stream[f->latest], a, hooks))
        f->latest = choose(f, a, hooks);
    f->stream[f->latest].used = ++f->reads;
    return &f->stream[f->latest];
}
