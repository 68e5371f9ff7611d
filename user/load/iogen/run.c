/* Make the I/Os of a job: compute when the next I/O is due, and its block. */
#include "user/load/iogen/iogen.h"

#define LOOK_NS (100 * NS_PER_MS) /* how soon a sleeper sees until's end */

struct histogram response, fsyncs;

/* True if all processes of the job have ended: each sets its file's offset,
 * which is 0 until then. */
static bool has_ended(const struct job *first)
{
    for (const struct job *j = first; j < first + first->numjobs; j++)
        if (lseek(j->fd, 0, SEEK_CUR) == 0)
            return false;
    return true;
}

static bool is_open_loop(const struct job *j)
{
    return j->rate_iops || j->is & MOGUL;
}

/* Set due_ns, the time when the next I/O is due: with a count, evenly so many
 * in a period; with a rate, after a random gap; else when the last one has
 * ended, and after each thinktime_blocks a thinktime later. */
static void schedule(struct job *j)
{
    u64 k = j->issued;
    if (j->count)
        j->due_ns = j->start_ns + k / j->count * j->period_ns +
                    k % j->count * j->period_ns / j->count;
    else if (j->rate_iops)
        j->due_ns += random_gap_ns(&j->when, j->rate_iops);
    else if (k > 0)
        j->due_ns = j->end_ns + (k % j->thinktime_blocks == 0) *
                                    j->thinktime_us * NS_PER_US;
}

/* Sleep until the next I/O is due. Returns the time, or 0 to end the job. */
static u64 wait_until_due(const struct job *j)
{
    u64 limit_ns = j->runtime_s ? j->start_ns + j->runtime_s * NS_PER_S : ~0UL;
    u64 nap_ns = j->watched ? LOOK_NS : LONG_MAX;
    while (!j->watched || !has_ended(j->watched)) {
        u64 now_ns = gettime(CLOCK_VIRTUAL);
        if (MAX(now_ns, j->due_ns) >= limit_ns)
            return 0;
        if (now_ns >= j->due_ns)
            return now_ns;
        sleep(MIN(j->due_ns - now_ns, nap_ns));
    }
    return 0;
}

/* Return the kind of choice of the next block. */
static u32 kind_of(const struct job *j)
{
    static const u32 kinds[] = {0, RANDOM, ZIPF};
    if (j->is & VARY)
        return kinds[j->issued / j->vary_ios % NELEM(kinds)];
    return j->is;
}

/* Return the next block of a sequential job. The streams take turns, each in a
 * part of the file. In its part a stream reads every step-th block, which is a
 * round; the next round begins a block later. `done`: reads of this stream. */
static u64 next_in_order(const struct job *j)
{
    u64 part = j->blocks / j->streams, round = part / j->step;
    u64 done = j->issued / j->streams;
    u64 block = done % round * j->step + done / round % j->step;
    return j->issued % j->streams * part + block;
}

/* Return the next block of the job: by a Zipf distribution, at random, or in
 * order. */
static u64 choose_block(struct job *j)
{
    u32 kind = kind_of(j);
    if (kind & ZIPF)
        return zipf_pick(j->zipf, &j->where);
    if (kind & RANDOM)
        return random_below(&j->where, j->blocks);
    return next_in_order(j);
}

static bool choose_write(struct job *j)
{
    if (j->is & MIXED)
        return random_below(&j->which, 100) >= j->rwmixread_percent;
    return j->is & WRITES;
}

/* Count a failed I/O, which returned n, and report the first. */
static void failed(struct job *j, const char *what, u64 block, i64 n)
{
    if (j->errors++ == 0)
        warnx("%s: %s of block %lu: %s", j->name, what, block,
              n < 0 ? strerror(errno) : "not whole");
}

/* Keep the record of a request for the log, if there is one. */
static void remember(struct job *j, const struct record *r)
{
    if (!j->log_path)
        return;
    if (response.count == j->record_room) {
        j->record_room *= 2;
        j->record = xrealloc(j->record, j->record_room * sizeof *r);
    }
    j->record[response.count] = *r;
}

/* Call fsync after each fsync_every writes, and time it. */
static void fsync_if_due(struct job *j, u64 block)
{
    if (!j->fsync_every || j->writes % j->fsync_every != 0)
        return;
    u64 from_ns = gettime(CLOCK_VIRTUAL);
    if (fsync(j->fd) < 0)
        failed(j, "fsync", block, -1);
    j->end_ns = gettime(CLOCK_VIRTUAL);
    histogram_add(&fsyncs, j->end_ns - from_ns);
}

/* Return how many bytes of its block the next write writes. */
static u64 choose_bytes(struct job *j)
{
    bool partial =
        j->partial_percent && random_below(&j->part, 100) < j->partial_percent;
    return partial ? j->bs_bytes - SECTOR : j->bs_bytes;
}

/* Read or write a block, and note its response time: from when it was due, in
 * an open loop, else from now. */
static void do_io(struct job *j, u64 now_ns, u64 block, bool write)
{
    u64 at = j->offset_bytes + block * j->bs_bytes;
    u64 bytes = write ? choose_bytes(j) : j->bs_bytes;
    i64 n = write ? pwrite(j->fd, j->buf, bytes, at)
                  : pread(j->fd, j->buf, bytes, at);
    j->end_ns = gettime(CLOCK_VIRTUAL);
    j->issued++;
    if (n != (i64)bytes) {
        failed(j, write ? "write" : "read", block, n);
        return;
    }
    u64 start_ns = is_open_loop(j) ? j->due_ns : now_ns;
    struct record r = {start_ns, j->end_ns - start_ns, block, write};
    remember(j, &r);
    histogram_add(&response, r.response_ns);
    j->late_ns = MAX(j->late_ns, now_ns - start_ns);
    if (!write) {
        j->reads++;
        return;
    }
    j->writes++;
    fsync_if_due(j, block);
}

/* Do the job's I/Os until their number or its time is over. Then move the
 * file's offset to 1, by which other jobs see that this process has ended. */
void run_job(struct job *j)
{
    j->due_ns = j->end_ns = j->start_ns;
    while (!j->number_ios || j->issued < j->number_ios) {
        u64 block = choose_block(j);
        bool write = choose_write(j);
        schedule(j);
        u64 now_ns = wait_until_due(j);
        if (!now_ns)
            break;
        do_io(j, now_ns, block, write);
    }
    lseek(j->fd, 1, SEEK_SET);
}
