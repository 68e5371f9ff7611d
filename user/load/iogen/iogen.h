/*
 * iogen: the interfaces of the load generator's parts. main.c describes the
 * program.
 *
 * - options.c   the words NAME=VALUE, which become jobs
 *   check.c     checks that the options are possible
 *   prepare.c   files and generators before the start
 *   run.c       the I/Os of a job
 *   print.c     results: text, JSON, a log
 *   main.c      a process for each job, which all start at one time
 */
#ifndef SLUICE_IOGEN_H
#define SLUICE_IOGEN_H

#include "user/lib.h"
#include "user/lib/histogram.h"
#include "user/lib/random.h"
#include "user/lib/settings.h"

#define JOBS_MAX 32  /* processes */
#define SECTOR   512 /* bytes */

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

enum { FIXED, POISSON };
enum { OUTPUT_JSON, OUTPUT_TEXT };

extern const struct choice modes[], arrivals[], advices[];

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
    u64 rwmixread_percent, theta_thousandths, fsync_every, partial_percent;
    u64 share_percent, cache_blocks, period_s, numjobs;
    u64 streams, step, advice, output;
    u64 given; /* a bit for each row of the table */

    /* derived from the options */
    u32 number; /* of the process */
    u32 first;  /* of the job's processes */
    u32 is;
    u64 blocks;                /* number of blocks to choose from */
    u64 count, period_ns;      /* count I/Os are scheduled each period, or 0 */
    const struct job *watched; /* until's first process, or NULL */
    struct zipf *zipf;
    int fd; /* its offset becomes 1 when the job has ended; I/O keeps it */
    int result_fd, pid; /* its output, for the parent */

    /* the run */
    char *buf;
    u64 where, which, when, part; /* generators */
    u64 start_ns, due_ns, end_ns; /* all, the next I/O, the last I/O */
    u64 issued, reads, writes, errors, late_ns;
    struct record *record;
    u64 record_room;
};

/* The processes of all jobs. */
extern struct job jobs[JOBS_MAX];
extern int job_count;

/* The measurements of this process. */
extern struct histogram response, fsyncs;

/* ---- options.c ---- */

/* The words of the command line become jobs. A wrong word ends the program. */
void parse(char **word, int n);
/* True if the option of this field was given. */
bool has(const struct job *j, const void *field);
/* True if the job's options are possible together. */
void check_given(const struct job *j);
void options_help(void);

/* ---- check.c ---- */

/* Check all jobs and set the fields that follow from the options. An impossible
 * option ends the program. */
void check_all(void);

/* ---- prepare.c ---- */

void prepare(struct job *j);
/* Fill a buffer with bytes to write. */
void fill(const struct job *j, char *buf, u64 bytes);

/* ---- run.c ---- */

/* Make all I/Os of a job. At the end set its file's offset, which other jobs
 * read. */
void run_job(struct job *j);

/* ---- print.c ---- */

void print_result(const struct job *j);
void write_log(const struct job *j);

#endif
