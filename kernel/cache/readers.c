/*
 * The sequential streams of each disk (stream.h).
 *
 * - A reader is a stream that has gone on less than READER_IDLE_NS ago, or
 *   whose file was opened then, and whose file has not been closed since. An
 *   open file counts before its first read, so that the drive's cache is
 *   divided, which empties it, before there is anything in it. The address of
 *   its struct stream identifies it; that is never dereferenced.
 * - Nothing is counted for a disk whose drive does not adapt.
 */
#include "kernel/cache/stream.h"
#include "kernel/disk/disk.h"

#define READER_IDLE_NS NS_PER_S

struct reader {
    const struct stream *stream;
    u64 read_ns; /* last; 0: this row is free */
};

static struct spinlock readers_lock = SPINLOCK("readers", RANK_POLICY);
static struct reader readers[MAX_DISKS][MAX_SEGMENTS]; /* readers_lock */

/* Return the reader's row, or the row that was used longest ago. */
static struct reader *reader_of(const struct disk *d, const struct stream *s)
{
    struct reader *row = readers[d->id], *oldest = row;
    for (u32 i = 0; i < MAX_SEGMENTS; i++) {
        if (row[i].stream == s)
            return &row[i];
        if (row[i].read_ns < oldest->read_ns)
            oldest = &row[i];
    }
    return oldest;
}

/* Count the disk's readers, of which this is one. */
static u32 count_readers(const struct disk *d, const struct stream *s)
{
    u64 now_ns = clock_ns();
    u32 n = 0;
    HOLD(spin, &readers_lock);
    *reader_of(d, s) = (struct reader){s, now_ns};
    for (u32 i = 0; i < MAX_SEGMENTS; i++) {
        const struct reader *r = &readers[d->id][i];
        n += r->read_ns && now_ns - r->read_ns < READER_IDLE_NS;
    }
    return n;
}

/* The stream goes on: divide the drive's cache by the number of readers. */
void readers_go_on(struct disk *d, const struct stream *s)
{
    if (d->adapts)
        disk_streams(d, count_readers(d, s));
}

/* The file is closed: its streams are no readers any more. */
void readers_end(const struct disk *d, const struct streams *f)
{
    if (!d->adapts)
        return;
    HOLD(spin, &readers_lock);
    for (u32 i = 0; i < MAX_SEGMENTS; i++) {
        const struct stream *s = readers[d->id][i].stream;
        if (s >= f->stream && s < f->stream + STREAMS)
            readers[d->id][i] = (struct reader){0};
    }
}
