/* A resident twin (resident.h). */
#define _GNU_SOURCE
#include "sluice/twin/resident.h"

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sluice/twin/host.h"
#include "sluice/twin/pristine.h"
#include "sluice/twin/space.h"
#include "sluice/twin/store.h"
#include "sluice/twin/used.h"
#include "kernel/base/string.h"
#include "kernel/machine/fdt.h"
#include "kernel/machine/mem.h"
#include "kernel/machine/panic.h"

#define MOST_PUTS 2048
#define WORKER_KB (256L << 10) /* of memory, of a worker that goes on */

/* The disks' contents when a trial begins. */
KEPT static struct put {
    u64 at, bytes;
    char *data;
} puts_asked[MOST_PUTS];

KEPT static char *line; /* of the standard input */
KEPT static size_t line_size;

/* What a child has told when it ends. Its parent has it, too. */
static struct report {
    bool in_trial;
    u64 cpu_us, faults; /* until the trial began */
} * report;

static bool is_worker;
static int console, answers; /* files */
static jmp_buf end_of_trial;

static void refuse(const char *what)
{
    fprintf(stderr, "twin: a trial is asked for wrongly: %s\n", what);
    exit(STATUS_BOOT_FAIL);
}

/* Read a part of a trial's disks: a line OFFSET BYTES, and the bytes. */
static void read_put(struct put *p)
{
    if (getline(&line, &line_size, stdin) < 0 ||
        sscanf(line, "%lu %lu", &p->at, &p->bytes) != 2)
        refuse("want OFFSET BYTES");
    p->data = realloc(p->data, p->bytes);
    if (fread(p->data, 1, p->bytes, stdin) != p->bytes)
        refuse("bytes are missing");
}

/* Returns how many puts there are, or -1 at the end of the input. */
static i32 read_trial(char *args)
{
    u32 nputs;
    if (getline(&line, &line_size, stdin) < 0)
        return -1;
    if (sscanf(line, "%u %1023[^\n]", &nputs, args) != 2 || nputs > MOST_PUTS)
        refuse("want PUTS BOOT ARGUMENTS");
    for (u32 i = 0; i < nputs; i++)
        read_put(&puts_asked[i]);
    return nputs;
}

static void put_all(u32 nputs)
{
    for (const struct put *p = puts_asked; p < puts_asked + nputs; p++)
        if (store_move((u64)p->data, p->at, p->bytes, true))
            panic("twin: a put is on no disk");
}

/* ---- answers ---- */

static u64 microseconds(const struct rusage *used)
{
    return (used->ru_utime.tv_sec + used->ru_stime.tv_sec) * 1000000UL +
           used->ru_utime.tv_usec + used->ru_stime.tv_usec;
}

static u64 faults_of(const struct rusage *used)
{
    return used->ru_minflt + used->ru_majflt;
}

/* Say how a trial has ended. Leaves the console empty for the next one. */
static void answer(int status, const struct rusage *used)
{
    i64 bytes = lseek(console, 0, SEEK_END);
    dprintf(answers, "%d %ld %lu %lu\n", status, bytes,
            microseconds(used) - report->cpu_us,
            faults_of(used) - report->faults);
    for (off_t at = 0; at < bytes;)
        if (sendfile(answers, console, &at, bytes - at) <= 0)
            exit(STATUS_PANIC);
    if (ftruncate(console, 0) || lseek(console, 0, SEEK_SET))
        exit(STATUS_PANIC);
}

/* ---- children ---- */

static void prepare(void)
{
    console = memfd_create("console", MFD_CLOEXEC);
    answers = dup(STDOUT_FILENO);
    report = mmap(NULL, sizeof *report, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (console < 0 || answers < 0 || report == MAP_FAILED)
        refuse("no file or memory for it");
}

/* Fork the process that runs trials, one after the other. It dies with this
 * one. */
static pid_t make_child(void)
{
    *report = (struct report){0};
    pid_t parent = getpid(), child = fork();
    if (child < 0)
        refuse("no process for it");
    if (!child) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(STATUS_PANIC); /* it ended before that call */
        dup2(console, STDOUT_FILENO);
    }
    return child;
}

/* Wait for the child's end, and answer if it was in a trial. Returns its exit
 * status; negative: a signal. */
static int wait_for(pid_t child)
{
    int how;
    struct rusage used;
    if (wait4(child, &how, 0, &used) != child)
        refuse("the trial is lost");
    int status = WIFEXITED(how) ? WEXITSTATUS(how) : -WTERMSIG(how);
    if (report->in_trial)
        answer(status, &used);
    return status;
}

/* ---- a worker ---- */

static void clear(u64 from, u64 to, void *arg)
{
    (void)arg;
    memset((void *)from, 0, to - from);
}

static const char *memory_end; /* of what the kernel has handed out */

/* Find memory_end. False if no memory is left there: then mem_reserve gives the
 * lowest page that was returned, and fewer pages are free than lie above it. */
static bool find_memory_end(void)
{
    memory_end = mem_reserve(PAGE_SIZE);
    u64 above = machine.memory_phys + machine.memory_bytes - (u64)memory_end;
    return memory_end && mem_free_pages() >= above / PAGE_SIZE;
}

/* True if all that the trial has left can be set back, and in little time. */
static bool can_go_on(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_maxrss <= WORKER_KB && find_memory_end();
}

/* Make all that the next trial can see as this one has found it. */
static void set_back(void)
{
    each_used(MEMORY_PHYS, (u64)memory_end, clear, NULL);
    space_leave_all();
    pristine_restore();
    store_restore();
}

/* Undo what the trial changed, answer, and note what it used. */
static void end_trial(void)
{
    struct rusage used;
    set_back();
    getrusage(RUSAGE_SELF, &used);
    answer(0, &used);
    *report = (struct report){false, microseconds(&used), faults_of(&used)};
}

/* Run trials for ever: each ends by a jump back to here. No further trial ends
 * the process. */
static void work(void run(char *args))
{
    static char args[1024];
    store_save();
    is_worker = true;
    if (_setjmp(end_of_trial))
        end_trial();
    else
        pristine_save();
    i32 nputs = read_trial(args);
    if (nputs < 0)
        exit(0);
    report->in_trial = true;
    put_all(nputs);
    run(args);
}

/* Keep a process that runs trials; after one that died in a trial, make
 * another. */
void resident_serve(void run(char *args))
{
    prepare();
    for (;;) {
        pid_t child = make_child();
        if (!child)
            work(run);
        int status = wait_for(child);
        if (!report->in_trial)
            exit(status);
    }
}

void resident_ended(int status)
{
    if (is_worker && !status && can_go_on())
        _longjmp(end_of_trial, 1);
}
