/*
 * iogen: the load generator, in fio's words where fio has one.
 *
 *   iogen rw=randread filename=/data bs=8k nr=10000 seed=7
 *   iogen bs=4k name=w rw=mogul filename=/w cache_blocks=1228 until=r --
 *         name=r rw=randread filename=/data nr=10000
 *
 * - Words are NAME=VALUE; -h lists them all (options.c). `--` begins the
 *   next job, which is a process of its own and has a name=. Words before the
 *   first name= of the first job hold for all jobs. With numjobs= a job is
 *   several processes, and each does all that the words say.
 * - With layout=1 a file that is missing or short is written first; then its
 *   blocks may be cached.
 * - A wrong word is reported, and iogen ends with status 2 before any I/O. I/Os
 *   that fail are counted, and the first failure is reported; then the status
 *   is 1.
 * - All jobs start at one time. A job ends at its number_ios, runtime_s or
 *   until, whichever comes first; with none of them, after size / bs I/Os.
 *   Sequential jobs begin again at the start; random ones may choose a block
 *   again. With streams= or step=, blocks that are left over at the end of the
 *   file are not chosen.
 * - A job has one I/O at a time. With rate_iops or rw=mogul it is an open
 *   loop: I/Os have scheduled times. An I/O that is late, because the one
 *   before is not done, starts as soon as it can; none is left out. Its
 *   response time counts from the scheduled time, and so includes the wait.
 *   Otherwise the job is a closed loop: the time counts from the call, and the
 *   job sleeps for thinktime_us after each thinktime_blocks I/Os.
 * - rw=vary is sequential for vary_ios I/Os, random for as many, then of
 *   unequal blocks as zipf, and so on.
 * - An fsync is timed by itself. It can make the next I/O of an open loop late.
 * - Mogul's writer ("A Better Update Policy", 1994, section 4.1) writes
 *   share_percent of cache_blocks, rounded down, each period_s: sequentially
 *   and evenly spaced. A block is scheduled again a minute later or more.
 * - A partial write (partial_percent) leaves its block short of the end, as a
 *   program's last piece does, so write=async delays it. `bytes` counts it
 *   whole.
 * - The same words give the same I/Os. Three generators draw the blocks, the
 *   choice of reads or writes, and the arrivals (user/lib/random.c, streams
 *   0 to 2 of the seed and the process's number), so that one option does not
 *   change what another draws. Stream 3 shuffles Zipf's blocks, and stream 4
 *   draws the data that is written; stream 5 draws the partial writes.
 *
 * When all have ended each process prints, in order, with output=text its
 * numbers of I/Os and its times for people, otherwise a line `iogen {JSON}`:
 *   job, pid, rw, filename, bs, seed; ios (done), reads, writes (of them),
 *   bytes, errors, fsyncs; start_ns (since power-on), elapsed_ns (from there to
 *   the end of the last I/O); late_ns (the most an I/O started after its
 *   scheduled time); response_ns and fsync_ns: {min, max, mean, std};
 *   histogram of response times: [[low_ns, count], ...] (histogram.h).
 * A log has a line for each I/O done: start_ns, response_ns, block, r or w,
 * where block counts bs from offset. It is kept in memory until all have ended.
 */
#include "user/load/iogen/iogen.h"

#define USAGE "iogen -h | NAME=VALUE... [-- NAME=VALUE...]..."

/* A job closes its writing end of one pipe when it is ready, and of another
 * when it has ended. So a read of the pipe returns when all jobs have closed
 * it. In between, the parent writes the time of the start once for each job. */
static int ready_pipe[2], start_pipe[2], end_pipe[2];

static void wait_for_all(const int fds[2])
{
    char byte;
    close(fds[1]);
    read(fds[0], &byte, 1);
}

static void make_pipe(int fds[2])
{
    if (pipe(fds) < 0)
        die("pipe");
}

/* Return memory that begins at a page, because a raw disk makes a request for
 * each page. */
static char *whole_pages(u64 bytes)
{
    u64 at = (u64)xmalloc(bytes + PAGE_SIZE);
    return (char *)(at - at % PAGE_SIZE + PAGE_SIZE);
}

static void child(struct job *j) NORETURN;
/* Be the process of a job: prepare, wait for the start, run, wait until all
 * jobs have ended, and print the result. */
static void child(struct job *j)
{
    close(start_pipe[1]);
    j->buf = whole_pages(j->bs_bytes);
    fill(j, j->buf, j->bs_bytes);
    if (j->log_path) {
        j->record_room = j->number_ios ? MIN(j->number_ios, 1UL << 20) : 65536;
        j->record = xmalloc(j->record_room * sizeof j->record[0]);
    }
    close(ready_pipe[1]);
    if (read_all(start_pipe[0], &j->start_ns, sizeof j->start_ns) !=
        sizeof j->start_ns)
        diex("%s: not started", j->name);
    run_job(j);
    wait_for_all(end_pipe);
    print_result(j);
    if (j->log_path)
        write_log(j);
    exit(j->errors ? 1 : 0);
}

/* Start a process whose standard output goes to the parent. */
static void start(struct job *j)
{
    int output[2];
    make_pipe(output);
    j->pid = fork();
    if (j->pid < 0)
        die("fork");
    if (j->pid == 0) {
        dup2(output[1], 1);
        close(output[0]);
        close(output[1]);
        child(j);
    }
    close(output[1]);
    j->result_fd = output[0];
}

/* Print the job's output. Returns whether the job has failed. */
static bool finish(const struct job *j)
{
    static char buf[BUFSIZ];
    int status = 1;
    i64 n;
    while ((n = read(j->result_fd, buf, sizeof buf)) > 0)
        fwrite(buf, 1, n, stdout);
    fflush(stdout);
    if (wait(j->pid, &status, 0) < 0)
        die("wait");
    return status != 0;
}

int main(int argc, char **argv)
{
    bool any_failed = false;
    if (argc == 2 && strcmp(argv[1], "-h") == 0) {
        printf("usage: %s\n", USAGE);
        options_help();
        return 0;
    }
    if (argc < 2)
        usage_exit(USAGE);
    parse(argv + 1, argc - 1);
    check_all();
    for (int i = 0; i < job_count; i++)
        prepare(&jobs[i]);
    make_pipe(ready_pipe);
    make_pipe(start_pipe);
    make_pipe(end_pipe);
    for (int i = 0; i < job_count; i++)
        start(&jobs[i]);
    close(end_pipe[1]);
    wait_for_all(ready_pipe);
    u64 start_ns = gettime(CLOCK_VIRTUAL);
    for (int i = 0; i < job_count; i++)
        if (write(start_pipe[1], &start_ns, sizeof start_ns) < 0)
            die("start");
    for (int i = 0; i < job_count; i++)
        any_failed |= finish(&jobs[i]);
    return any_failed;
}
