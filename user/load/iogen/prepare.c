/* Prepare a job before the start: its file and its random numbers. */
#include "user/load/iogen/iogen.h"

#define LAYOUT_CALL 65536UL

static u64 stream(const struct job *j, u64 use)
{
    return random_stream(j->seed, j->number, use);
}

void fill(const struct job *j, char *buf, u64 bytes)
{
    u64 state = stream(j, 4);
    for (u64 i = 0; i < bytes; i++)
        buf[i] = random_u64(&state);
}

/* Write the file to the disk, as long as the job needs it. */
static void lay_out(const struct job *j)
{
    static char buf[LAYOUT_CALL];
    struct stat st;
    if (fstat(j->fd, &st) < 0)
        die("%s", j->filename);
    u64 end = j->offset_bytes + j->size_bytes;
    if (st.st_size >= end)
        return;
    fill(j, buf, sizeof buf);
    for (u64 at = st.st_size, n; at < end; at += n) {
        n = MIN(end - at, LAYOUT_CALL);
        if (pwrite(j->fd, buf, n, at) != (i64)n)
            die("%s", j->filename);
    }
    if (fsync(j->fd) < 0)
        die("%s", j->filename);
}

/* Open the job's file, lay it out if the job wants that, and give each random
 * choice of the job (where, which, when, what part) a stream of its own. */
void prepare(struct job *j)
{
    bool writes = j->is & WRITES || j->layout;
    int flags = (writes ? O_RDWR : O_RDONLY) | (j->layout ? O_CREAT : 0);
    j->fd = open(j->filename, flags, 0644);
    if (j->fd < 0)
        die("%s: %s", j->name, j->filename);
    if (j->advice && advise(j->fd, 0, 0, advices[j->advice].is) < 0)
        die("%s: fadvise_hint=%s: %s", j->name, advices[j->advice].name,
            j->filename);
    if (j->layout)
        lay_out(j);
    if (j->rate_iops && j->arrival == FIXED) {
        j->count = j->rate_iops;
        j->period_ns = NS_PER_S;
    }
    if (j->is & ZIPF)
        j->zipf = zipf_make(j->blocks, j->theta_thousandths, stream(j, 3));
    if (!j->number_ios && !j->runtime_s && !j->until)
        j->number_ios = j->blocks;
    j->where = stream(j, 0);
    j->which = stream(j, 1);
    j->when = stream(j, 2);
    j->part = stream(j, 5);
}
