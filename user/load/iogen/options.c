/* The options of iogen: a row for each, and the jobs that they make. */
#include "user/load/iogen/iogen.h"

#define JOBNUM "$jobnum" /* a process's number within its job */

struct job jobs[JOBS_MAX];
int job_count;

const struct choice modes[] = {
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

const struct choice arrivals[] = {
    {"fixed", FIXED}, {"poisson", POISSON}, {NULL, 0}};

const struct choice advices[] = {{"none", ADVICE_NORMAL},
                                 {"random", ADVICE_RANDOM},
                                 {"sequential", ADVICE_SEQUENTIAL},
                                 {NULL, 0}};

static const struct choice outputs[] = {
    {"json", OUTPUT_JSON}, {"text", OUTPUT_TEXT}, {NULL, 0}};

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
    ROW("partial_percent", NUMBER, partial_percent, "PERCENT",
        "share of writes that leave out the last sector of their block",
        .standard = "0", .max = 100, .only = WRITES),
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
    ROW("output", CHOICE, output, "FORM",
        "what is printed at the end: a line of JSON, or text for people",
        .standard = "json", .choices = outputs),
};

static const struct settings table = {rows, NELEM(rows), modes};

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

/* Parse the words into jobs. Jobs are separated by a word; what comes before
 * the first name= holds for all jobs. */
void parse(char **word, int n)
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

bool has(const struct job *j, const void *field)
{
    for (u32 i = 0; i < NELEM(rows); i++)
        if ((const char *)j + rows[i].field == field)
            return j->given >> i & 1;
    return false;
}

void check_given(const struct job *j)
{
    settings_check(&table, j->given, &modes[j->mode], j->name);
}

void options_help(void)
{
    settings_help(&table);
}
