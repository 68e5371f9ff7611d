/* A resident twin (resident.h). */
#define _GNU_SOURCE
#include "sluice/twin/resident.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sluice/twin/hart.h"
#include "sluice/twin/store.h"
#include "kernel/machine/panic.h"

#define MOST_PUTS 2048

/* The disks' contents when a trial begins. */
static struct put {
    u64 at, bytes;
    char *data;
} puts_asked[MOST_PUTS];

static char *line; /* of the standard input */
static size_t line_size;

static void refuse(const char *what)
{
    fprintf(stderr, "twin: a trial is asked for wrongly: %s\n", what);
    exit(STATUS_BOOT_FAIL);
}

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

/* In the child. */
static void begin(u32 nputs, int console)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(console, STDOUT_FILENO);
    for (const struct put *p = puts_asked; p < puts_asked + nputs; p++)
        if (store_move((u64)p->data, p->at, p->bytes, true))
            panic("twin: a put is on no disk");
}

static u64 microseconds(struct timeval t)
{
    return t.tv_sec * 1000000UL + t.tv_usec;
}

/* Wait for the child's end, and tell of it. */
static void answer(pid_t child, int console)
{
    int status;
    struct rusage used;
    if (wait4(child, &status, 0, &used) != child)
        refuse("the trial is lost");
    i64 bytes = lseek(console, 0, SEEK_END);
    printf("%d %ld %lu %ld\n",
           WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), bytes,
           microseconds(used.ru_utime) + microseconds(used.ru_stime),
           used.ru_minflt + used.ru_majflt);
    fflush(stdout);
    for (off_t at = 0; at < bytes;)
        if (sendfile(STDOUT_FILENO, console, &at, bytes - at) <= 0)
            exit(STATUS_PANIC);
    if (ftruncate(console, 0) || lseek(console, 0, SEEK_SET))
        exit(STATUS_PANIC);
}

char *resident_trial(void)
{
    static char args[1024];
    int console = memfd_create("console", MFD_CLOEXEC);
    for (i32 nputs; (nputs = read_trial(args)) >= 0;) {
        pid_t child = fork();
        if (!child) {
            begin(nputs, console);
            return args;
        }
        if (child < 0)
            refuse("no process for it");
        answer(child, console);
    }
    exit(0);
}
