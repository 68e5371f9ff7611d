/*
 * iogen: the load generator, in fio's words where fio has one.
 *
 *   iogen rw=randread filename=/data bs=8k nr=10000 seed=7
 *   iogen bs=4k name=w rw=mogul filename=/w cache_blocks=1228 until=r --
 *         name=r rw=randread filename=/data nr=10000
 *
 * - Words are NAME=VALUE; the table below has them all (-h). `--` begins the
 *   next job, which is a process of its own and has a name=. Words before the
 *   first name= of the first job hold for all jobs. With numjobs= a job is
 *   several processes, and each does all that the words say.
 * - With layout=1 a file that is missing or short is written first; then its
 *   blocks may be cached.
 * - A wrong word is reported, and iogen ends with status 2 before any I/O. I/Os
 *   that fail are counted, and the first is reported; then the status is 1.
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
 * - The same words give the same I/Os. Three generators draw the blocks, the
 *   choice of reads or writes, and the arrivals (user/lib/random.c, streams
 *   0 to 2 of the seed and the process's number), so that one option does not
 *   change what another draws. Stream 3 shuffles Zipf's blocks, and stream 4
 *   draws the data that is written.
 *
 * When all have ended each process prints a line, `iogen {JSON}`, in order:
 *   job, pid, rw, filename, bs, seed; ios (done), reads, writes (of them),
 *   bytes, errors, fsyncs; start_ns (since power-on), elapsed_ns (from there to
 *   the end of the last I/O); late_ns (the most an I/O started after its
 *   scheduled time); response_ns and fsync_ns: {min, max, mean, std};
 *   histogram of response times: [[low_ns, count], ...] (histogram.h).
 * A log has a line for each I/O done: start_ns, response_ns, block, r or w,
 * where block counts bs from offset. It is kept in memory until all have ended.
 */
#include "user/lib.h"
#include "user/lib/histogram.h"
#include "user/lib/json.h"
#include "user/lib/random.h"
#include "user/lib/settings.h"

#define JOBS_MAX    32 /* processes */
#define MINUTE_S    60
#define LOOK_NS     (100 * NS_PER_MS) /* how soon a sleeper sees until's end */
#define SECTOR      512
#define LAYOUT_CALL 65536UL
#define JOBNUM      "$jobnum" /* a process's number among those of its job */

/* Properties of the values of rw=. An option may need some of them. */
enum {
    WRITES = 1,
    MIXED = 2,
    RANDOM = 4,
    ZIPF = 8,
    MOGUL = 16,
    PACED = 32,
    VARY = 64,
    SEQUENTIAL = 128,
};

static const struct choice modes[] = {
    {"read", PACED | SEQUENTIAL},
    {"write", PACED | SEQUENTIAL | WRITES},
    {"rw", PACED | SEQUENTIAL | WRITES | MIXED},
    {"randread", PACED | RANDOM},
    {"randwrite", PACED | RANDOM | WRITES},
    {"randrw", PACED | RANDOM | WRITES | MIXED},
    {"zipf", PACED | ZIPF},
    {"zipfwrite", PACED | ZIPF | WRITES},
    {"zipfrw", PACED | ZIPF | WRITES | MIXED},
    {"vary", PACED | VARY | ZIPF},
    {"varywrite", PACED | VARY | ZIPF | WRITES},
    {"mogul", MOGUL | WRITES},
    {NULL, 0},
};

enum { FIXED, POISSON };
static const struct choice arrivals[] = {
    {"fixed", FIXED}, {"poisson", POISSON}, {NULL, 0}};

static const struct choice advices[] = {{"none", ADVICE_NORMAL},
                                        {"random", ADVICE_RANDOM},
                                        {"sequential", ADVICE_SEQUENTIAL},
                                        {NULL, 0}};

struct record {
    u64 start_ns, response_ns, block;
    bool write;
};

struct job {
    /* options */
    const char *name, *filename, *log_path, *until;
    u64 mode, bs_bytes, offset_bytes, size_bytes, layout;
    u64 number_ios, runtime_s, rate_iops, arrival, seed;
    u64 thinktime_us, thinktime_blocks, vary_ios;
    u64 rwmixread_percent, theta_thousandths, fsync_every;
    u64 share_percent, cache_blocks, period_s, numjobs;
    u64 streams, step, advice;
    u64 given; /* a bit for each row of the table */

    /* what follows from them */
    u32 number; /* of the process */
    u32 first;  /* of the job's processes */
    u32 is;
    u64 blocks;                /* it chooses from */
    u64 count, period_ns;      /* count I/Os are scheduled each period, or 0 */
    const struct job *watched; /* until's first process, or NULL */
    struct zipf *zipf;
    int fd; /* its offset is 1 when the job has ended: I/O leaves it alone */
    int result_fd, pid; /* its output, for the parent */

    /* the run */
    char *buf;
    u64 where, which, when;       /* generators */
    u64 start_ns, due_ns, end_ns; /* all, the next I/O, the last I/O */
    u64 issued, reads, writes, errors, late_ns;
    struct record *record;
    u64 record_room;
};

static struct job jobs[JOBS_MAX]; /* a process each */
static int job_count;
static struct histogram response, fsyncs; /* a process's own */

/* ---- options ---- */

#define ROW(name_, type_, field_, unit_, about_, ...)                        \
    {                                                                        \
        .name = name_, .type = type_, .field = offsetof(struct job, field_), \
        .unit = unit_, .about = about_, ##__VA_ARGS__                        \
    }
static const struct setting rows[] = {
    ROW("name", TEXT, name, "WORD",
        "name of the job; it begins the words of this job"),
    ROW("rw", CHOICE, mode, "MODE",
        "kind of I/O; rw: mixed; zipf: random, some blocks more often",
        .choices = modes, .needed = true),
    ROW("numjobs", NUMBER, numjobs, "PROCESSES",
        "processes that do the job at once, under its name", .standard = "1",
        .min = 1, .max = JOBS_MAX, .only = PACED),
    ROW("filename", TEXT, filename, "PATH",
        "a file, or a disk such as /dev/disk1; $jobnum: 0 to numjobs - 1",
        .needed = true),
    ROW("bs", SIZE, bs_bytes, "BYTES",
        "size of an I/O; blocks begin at multiples of it after offset",
        .standard = "4k", .min = 1, .max = 1 << 20),
    ROW("offset", SIZE, offset_bytes, "BYTES",
        "start of the part of the file that is used", .standard = "0",
        .max = 1UL << 42),
    ROW("size", SIZE, size_bytes, "BYTES",
        "size of that part; if not given, to the end of the file", .min = 1,
        .max = 1UL << 42),
    ROW("layout", NUMBER, layout, "0|1",
        "1: first make the file, or make it longer (needs size)",
        .standard = "0", .max = 1),
    ROW("number_ios", NUMBER, number_ios, "IOS", "end after this many I/Os",
        .alias = "nr", .min = 1, .max = 1UL << 40),
    ROW("runtime_s", NUMBER, runtime_s, "S", "start no I/O after this time",
        .min = 1, .max = 1000000),
    ROW("until", TEXT, until, "NAME",
        "end when the job of this name has ended"),
    ROW("rate_iops", NUMBER, rate_iops, "IOPS",
        "open loop: I/Os scheduled each second", .min = 1, .max = 1000000,
        .only = PACED),
    ROW("arrival", CHOICE, arrival, "KIND",
        "with rate_iops: evenly spaced, or with exponential gaps",
        .standard = "fixed", .choices = arrivals, .only = PACED),
    ROW("thinktime_us", NUMBER, thinktime_us, "US",
        "closed loop: sleep between two I/Os", .standard = "0",
        .max = 1000000000, .only = PACED),
    ROW("thinktime_blocks", NUMBER, thinktime_blocks, "IOS",
        "I/Os without a sleep between them", .standard = "1", .min = 1,
        .max = 1UL << 40, .only = PACED),
    ROW("vary_ios", NUMBER, vary_ios, "IOS",
        "I/Os of one kind before the next kind", .standard = "1000", .min = 1,
        .max = 1UL << 40, .only = VARY),
    ROW("streams", NUMBER, streams, "STREAMS",
        "sequential: parts of the file read in turn, each in order",
        .standard = "1", .min = 1, .max = 1024, .only = SEQUENTIAL),
    ROW("step", NUMBER, step, "BLOCKS",
        "sequential: distance of two blocks; then those between them",
        .standard = "1", .min = 1, .max = 1UL << 32, .only = SEQUENTIAL),
    ROW("fadvise_hint", CHOICE, advice, "HINT",
        "hint to the system about how the file is read", .standard = "none",
        .choices = advices),
    ROW("seed", NUMBER, seed, "NUMBER", "seed of all random numbers",
        .standard = "1", .max = ~0UL),
    ROW("rwmixread", NUMBER, rwmixread_percent, "PERCENT",
        "share of I/Os that are reads", .standard = "50", .max = 100,
        .only = MIXED),
    ROW("theta", DECIMAL, theta_thousandths, "NUMBER",
        "a block of rank r has popularity r^-theta; three decimals",
        .standard = "1", .max = 3000, .only = ZIPF),
    ROW("fsync", NUMBER, fsync_every, "WRITES",
        "fsync after this many writes; 0: never", .standard = "0",
        .max = 1UL << 40, .only = WRITES),
    ROW("share_percent", NUMBER, share_percent, "PERCENT",
        "share of the cache that is written each period", .standard = "50",
        .min = 1, .max = 100, .only = MOGUL),
    ROW("cache_blocks", NUMBER, cache_blocks, "BLOCKS",
        "size of the cache (nbuf)", .min = 1, .max = 1 << 30, .only = MOGUL,
        .needed = true),
    ROW("period_s", NUMBER, period_s, "S", "time between two rounds",
        .standard = "30", .min = 1, .max = 3600, .only = MOGUL),
    ROW("log", TEXT, log_path, "PATH",
        "at the end, write a line for each I/O to this file"),
};

static const struct settings table = {rows, NELEM(rows), modes};

#define USAGE "iogen -h | NAME=VALUE... [-- NAME=VALUE...]..."

static int words_before(char **word, int n, const char *start)
{
    int i = 0;
    while (i < n && strncmp(word[i], start, strlen(start)) != 0)
        i++;
    return i;
}

static int segment_length(char **word, int n)
{
    int i = 0;
    while (i < n && strcmp(word[i], "--") != 0)
        i++;
    return i;
}

/* The name, or NULL, with each $jobnum in it replaced. */
static const char *numbered(const char *name, u64 jobnum)
{
    const char *dollar = name ? strstr(name, JOBNUM) : NULL;
    if (!dollar)
        return name;
    u64 room = strlen(name) + 1; /* a number is shorter than the word */
    char *path = xmalloc(room);
    snprintf(path, room, "%.*s%lu%s", (int)(dollar - name), name, jobnum,
             dollar + strlen(JOBNUM));
    return numbered(path, jobnum);
}

/* Add a job's processes, which differ in their number. */
static void add_job(const struct job *base, char **word, int n)
{
    struct job job = *base;
    job.given |= settings_apply(&table, &job, word, n);
    job.first = job_count;
    if (job_count + job.numjobs > JOBS_MAX)
        refuse("more than %d processes", JOBS_MAX);
    for (u64 i = 0; i < job.numjobs; i++) {
        jobs[job_count] = job;
        jobs[job_count].filename = numbered(job.filename, i);
        jobs[job_count].number = job_count;
        job_count++;
    }
}

/* The words of the command line become jobs. */
static void parse(char **word, int n)
{
    struct job base = {0};
    settings_default(&table, &base);
    int length = segment_length(word, n);
    int common = words_before(word, length, "name=");
    if (length == n)
        base.name = "job1";
    base.given = settings_apply(&table, &base, word, common);
    if (common < length || length == n)
        add_job(&base, word + common, length - common);
    while (length < n) {
        word += length + 1;
        n -= length + 1;
        length = segment_length(word, n);
        add_job(&base, word, length);
    }
}

/* ---- checks: is what was asked for possible? ---- */

static bool has(const struct job *j, const void *field)
{
    for (u32 i = 0; i < NELEM(rows); i++)
        if ((const char *)j + rows[i].field == field)
            return j->given >> i & 1;
    return false;
}

static void check_options(const struct job *j)
{
    settings_check(&table, j->given, &modes[j->mode], j->name);
    if (j->rate_iops && j->thinktime_us)
        refuse("%s: thinktime_us=%lu: not with rate_iops=", j->name,
               j->thinktime_us);
    if (has(j, &j->thinktime_blocks) && !j->thinktime_us)
        refuse("%s: thinktime_blocks=%lu: only with thinktime_us=", j->name,
               j->thinktime_blocks);
    if (has(j, &j->arrival) && !j->rate_iops)
        refuse("%s: arrival=%s: only with rate_iops=", j->name,
               arrivals[j->arrival].name);
    if (j->layout && !j->size_bytes)
        refuse("%s: layout=1: only with size=", j->name);
    if (j->log_path && j->numjobs > 1)
        refuse("%s: log=%s: only with numjobs=1", j->name, j->log_path);
}

static struct job *job_named(const char *name)
{
    for (int i = 0; i < job_count; i++)
        if (strcmp(jobs[i].name, name) == 0)
            return &jobs[i];
    return NULL;
}

/* The job that ends this one must have an end of its own. */
static void check_names(struct job *j)
{
    if (job_named(j->name) != &jobs[j->first])
        refuse("name=%s: another job has it", j->name);
    for (struct job *other = jobs; other < j; other++)
        if (j->log_path && other->log_path &&
            strcmp(j->log_path, other->log_path) == 0)
            refuse("%s: log=%s: job %s has it", j->name, j->log_path,
                   other->name);
    if (!j->until)
        return;
    j->watched = job_named(j->until);
    if (!j->watched)
        refuse("%s: until=%s: no such job", j->name, j->until);
    if (j->watched->until)
        refuse("%s: until=%s: that job has an until= itself", j->name,
               j->until);
}

/* It is to dirty the cache, whose blocks are those of the root disk. */
static void check_mogul(struct job *j, bool device)
{
    struct stat root;
    if (stat("/", &root) < 0)
        die("/");
    j->count = j->share_percent * j->cache_blocks / 100;
    j->period_ns = j->period_s * NS_PER_S;
    if (j->count == 0)
        refuse("%s: cache_blocks=%lu: its share is no block", j->name,
               j->cache_blocks);
    if (device)
        refuse("%s: filename=%s: rw=mogul needs a file", j->name, j->filename);
    if (j->bs_bytes != root.st_blksize || j->offset_bytes % j->bs_bytes != 0)
        refuse("%s: bs=%lu: for rw=mogul the cache's blocks of %u bytes, and "
               "offset= a multiple",
               j->name, j->bs_bytes, root.st_blksize);
    u64 needed = (j->count * MINUTE_S + j->period_s - 1) / j->period_s;
    if (j->blocks < needed)
        refuse("%s: size=%lu: %lu blocks; rw=mogul writes %lu a minute, none "
               "twice",
               j->name, j->size_bytes, j->blocks, needed);
}

static void check_device(const struct job *j)
{
    if ((j->bs_bytes | j->offset_bytes) % SECTOR != 0)
        refuse("%s: bs=%lu: %s has sectors of %d bytes", j->name, j->bs_bytes,
               j->filename, SECTOR);
    if (j->layout || j->fsync_every)
        refuse("%s: filename=%s: fsync= and layout= need a file", j->name,
               j->filename);
}

/* Is the file there, and large enough? Settles size and blocks. */
static void check_file(struct job *j)
{
    struct stat st = {0};
    bool found = stat(j->filename, &st) == 0;
    if (!found && !(j->layout && errno == ENOENT))
        refuse("%s: filename=%s: %s", j->name, j->filename, strerror(errno));
    if (found && !S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode))
        refuse("%s: filename=%s: is not a file or disk", j->name, j->filename);
    bool device = S_ISCHR(st.st_mode);
    if (device)
        check_device(j);
    u64 there = MAX(st.st_size, j->offset_bytes) - j->offset_bytes;
    if (!j->size_bytes)
        j->size_bytes = there - there % j->bs_bytes;
    if (j->size_bytes > there && !j->layout)
        refuse("%s: size=%lu: %s has %lu bytes from offset=%lu on", j->name,
               j->size_bytes, j->filename, there, j->offset_bytes);
    if (j->size_bytes == 0 || j->size_bytes % j->bs_bytes != 0)
        refuse("%s: size=%lu: must be a multiple of bs=%lu", j->name,
               j->size_bytes, j->bs_bytes);
    j->blocks = j->size_bytes / j->bs_bytes;
    if (j->is & ZIPF && j->blocks > ZIPF_MAX)
        refuse("%s: size=%lu: more than %lu blocks for Zipf", j->name,
               j->size_bytes, ZIPF_MAX);
    if (j->step > j->blocks / j->streams)
        refuse("%s: step=%lu: of %lu streams each has %lu blocks", j->name,
               j->step, j->streams, j->blocks / j->streams);
    if (j->is & MOGUL)
        check_mogul(j, device);
}

static void check_all(void)
{
    for (int i = 0; i < job_count; i++) {
        struct job *j = &jobs[i];
        if (!j->name)
            refuse("job %d has no name=", i + 1);
        if (!has(j, &j->mode))
            refuse("%s: rw= is needed", j->name);
        j->is = modes[j->mode].is;
        check_options(j);
    }
    for (int i = 0; i < job_count; i++) {
        check_names(&jobs[i]);
        check_file(&jobs[i]);
    }
}

/* ---- before the start ---- */

static u64 stream(const struct job *j, u64 use)
{
    return random_stream(j->seed, j->number, use);
}

static void fill(const struct job *j, char *buf, u64 bytes)
{
    u64 state = stream(j, 4);
    for (u64 i = 0; i < bytes; i++)
        buf[i] = random_u64(&state);
}

/* Make the file as long as the job needs it, on the disk. */
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

static void prepare(struct job *j)
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
}

/* ---- the run ---- */

/* Have all processes of the job ended? */
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

/* When the next I/O is due: settles due_ns. */
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

/* Sleep until the next I/O is due. The time, or 0: the job is to end. */
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

/* How the next block is chosen. */
static u32 kind_of(const struct job *j)
{
    static const u32 kinds[] = {0, RANDOM, ZIPF};
    if (j->is & VARY)
        return kinds[j->issued / j->vary_ios % NELEM(kinds)];
    return j->is;
}

/* Of sequential jobs: where the stream whose turn it is goes on in its part. */
static u64 next_in_order(const struct job *j)
{
    u64 part = j->blocks / j->streams, round = part / j->step;
    u64 done = j->issued / j->streams;
    u64 block = done % round * j->step + done / round % j->step;
    return j->issued % j->streams * part + block;
}

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

/* An I/O that returned n. */
static void failed(struct job *j, const char *what, u64 block, i64 n)
{
    if (j->errors++ == 0)
        warnx("%s: %s of block %lu: %s", j->name, what, block,
              n < 0 ? strerror(errno) : "not whole");
}

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

static void do_io(struct job *j, u64 now_ns, u64 block, bool write)
{
    u64 at = j->offset_bytes + block * j->bs_bytes;
    i64 n = write ? pwrite(j->fd, j->buf, j->bs_bytes, at)
                  : pread(j->fd, j->buf, j->bs_bytes, at);
    j->end_ns = gettime(CLOCK_VIRTUAL);
    j->issued++;
    if (n != (i64)j->bs_bytes) {
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

static void run_job(struct job *j)
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

/* ---- results ---- */

static void print_string(const char *key, const char *text)
{
    printf("\"%s\":", key);
    json_print_string(text);
    printf(",");
}

static void print_result(const struct job *j)
{
    printf("iogen {");
    print_string("job", j->name);
    printf("\"pid\":%d,", getpid());
    print_string("rw", modes[j->mode].name);
    print_string("filename", j->filename);
    printf("\"bs\":%lu,\"seed\":%lu,\"ios\":%lu,\"reads\":%lu,\"writes\":%lu,",
           j->bs_bytes, j->seed, response.count, j->reads, j->writes);
    printf("\"bytes\":%lu,\"errors\":%lu,\"fsyncs\":%lu,",
           response.count * j->bs_bytes, j->errors, fsyncs.count);
    printf("\"start_ns\":%lu,\"elapsed_ns\":%lu,\"late_ns\":%lu,", j->start_ns,
           j->end_ns - j->start_ns, j->late_ns);
    printf("\"response_ns\":");
    histogram_print_summary(&response);
    printf(",\"fsync_ns\":");
    histogram_print_summary(&fsyncs);
    printf(",\"histogram\":");
    histogram_print_buckets(&response);
    printf("}\n");
}

static void write_log(const struct job *j)
{
    FILE *f = fopen(j->log_path, "w");
    if (!f)
        die("%s: log=%s", j->name, j->log_path);
    for (u64 i = 0; i < response.count; i++) {
        const struct record *r = &j->record[i];
        fprintf(f, "%lu %lu %lu %c\n", r->start_ns, r->response_ns, r->block,
                r->write ? 'w' : 'r');
    }
    if (fclose(f) != 0)
        die("%s: log=%s", j->name, j->log_path);
}

/* ---- processes ---- */

/* A job closes its writing end of one pipe when it is ready, of another when
 * it has ended: reading there waits for all. In between, the parent writes the
 * time of the start once for each job. */
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

/* Memory that begins at a page: a raw disk makes a request of each. */
static char *whole_pages(u64 bytes)
{
    u64 at = (u64)xmalloc(bytes + PAGE_SIZE);
    return (char *)(at - at % PAGE_SIZE + PAGE_SIZE);
}

static void child(struct job *j) NORETURN;
static void child(struct job *j)
{
    close(start_pipe[1]);
    j->buf = whole_pages(j->bs_bytes);
    fill(j, j->buf, j->bs_bytes);
    if (j->log_path) {
        j->record_room = j->number_ios ? j->number_ios : 65536;
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

/* Pass on what the job prints; whether it has failed. */
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
        settings_help(&table);
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
