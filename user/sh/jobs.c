/* Processes of the shell: redirections, jobs and their end. */
#include "user/sh/sh.h"

int background_pid;
int output_status;

/* ---- redirections ---- */

/* Open what a redirection names: a file, or another descriptor's number. */
static int open_target(const struct redirect *r, const char *name)
{
    switch (r->how) {
    case '<':
        return open(name, O_RDONLY);
    case '>':
        return open(name, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    case 'a':
        return open(name, O_WRONLY | O_CREAT | O_APPEND, 0666);
    }
    i64 fd;
    bool known = isdigit(*name) && parse_i64(name, &fd) && fd <= INT_MAX;
    return known ? dup((int)fd) : (errno = EBADF, -1);
}

bool redirect(const struct redirect *r)
{
    for (; r; r = r->next) {
        char *name = expand_one(r->word);
        if (!name)
            return false;
        int fd = open_target(r, name);
        if (fd < 0 || (fd != r->fd && dup2(fd, r->fd) < 0)) {
            complain("%s: %s", name, strerror(errno));
            return false;
        }
        if (fd != r->fd)
            close(fd);
    }
    return true;
}

/* Duplicate a descriptor to a number above 9, which scripts cannot name. */
int dup_high(int fd)
{
    int low = dup(fd);
    if (low < 0 || low > 9)
        return low;
    int high = dup_high(fd);
    close(low);
    return high;
}

/* Write out what a command of the shell itself has printed. A failure is that
 * command's: it is printed, and a status of 0 becomes 1. */
static int flush_output(int result)
{
    if (fflush(stdout) == 0)
        return result;
    complain("standard output: %s", strerror(errno));
    clearerr(stdout);
    return result ? result : 1;
}

/* Where with_redirects() keeps a descriptor. Other values: it was not open, or
 * it is unchanged. */
enum { CLOSED = -1, UNTOUCHED = -2 };

/* Keep what the redirections replace. False after a message. */
static bool save(const struct redirect *r, int saved[10])
{
    for (int fd = 0; fd < 10; fd++)
        saved[fd] = UNTOUCHED;
    for (; r; r = r->next) {
        if (saved[r->fd] != UNTOUCHED)
            continue;
        int high = dup_high(r->fd);
        if (high < 0 && errno != EBADF) {
            complain("a redirection: %s", strerror(errno));
            return false;
        }
        saved[r->fd] = high < 0 ? CLOSED : high;
    }
    return true;
}

/* Do something in this process with the command's redirections, and undo
 * those. */
int with_redirects(struct node *n, int (*act)(struct node *))
{
    int saved[10], result = 1;
    running_line = n->line;
    fflush(stdout);
    if (save(n->redirects, saved) && redirect(n->redirects))
        result = act(n);
    result = flush_output(result);
    for (int fd = 0; fd < 10; fd++) {
        if (saved[fd] == UNTOUCHED)
            continue;
        if (close(fd) < 0 && errno == EIO) { /* dup2 would not say so */
            complain("descriptor %d: %s", fd, strerror(errno));
            result = result ? result : 1;
        }
        if (saved[fd] >= 0)
            dup2(saved[fd], fd), close(saved[fd]);
    }
    return result;
}

/* ---- processes ---- */

struct job {
    int pgrp;      /* 0 before the first process */
    int in;        /* input of the next process; -1: as the shell's */
    bool in_front; /* of the console */
};

/* The first steps of a new process of the job; arguments as in start(). */
static void NORETURN begin(const struct job *job, struct node *n, int out,
                           int unused)
{
    if (interactive && job->in_front && !job->pgrp) {
        ioctl(console, TTY_FOREGROUND, getpid());
        ioctl(console, TTY_COOKED, 0);
    }
    if (interactive)
        close(console);
    if (job->in >= 0)
        dup2(job->in, 0), close(job->in);
    if (out >= 0)
        dup2(out, 1), close(out);
    if (unused >= 0)
        close(unused);
    run_child(n);
}

/* Start a process of the job that runs node n. Its output goes to `out`, or
 * where the shell's goes if that is -1; it closes `unused`. Its pid, or -1. */
static int start(struct job *job, struct node *n, int out, int unused)
{
    fflush(NULL);
    int pid = fork();
    if (pid < 0) {
        complain("fork: %s", strerror(errno));
        return -1;
    }
    if (interactive) /* in both processes, as either may run first */
        setpgrp(pid, job->pgrp);
    if (pid == 0)
        begin(job, n, out, unused);
    job->pgrp = job->pgrp ? job->pgrp : pid;
    return pid;
}

int exit_status(int waited)
{
    return waited & WKILLED ? 130 : waited & 255;
}

/* Wait for a job's processes. Returns the status of the last one. */
static int finish(const int *pids, int count)
{
    int waited = 0, result = 1;
    for (int i = 0; i < count; i++) {
        result = 1;
        if (pids[i] > 0 && wait(pids[i], &waited, 0) > 0)
            result = exit_status(waited);
    }
    if (!interactive)
        return result;
    ioctl(console, TTY_RAW, 0);
    /* A ^C that found no job to kill, because it had just ended, counts too. */
    interrupted |= ioctl(console, TTY_INTERRUPTED, 0) > 0;
    if (count > 0 && pids[count - 1] > 0 && waited & WKILLED) {
        fprintf(stderr, "killed\n");
        interrupted = true;
    }
    return interrupted ? 130 : result;
}

/* Run a pipeline: each command is a process whose input is the output of the
 * one before it. */
int run_job(struct node *n)
{
    int count = 1;
    for (struct node *p = n; p->type == PIPE; p = p->left)
        count++;
    struct node **commands = alloc(count * sizeof *commands);
    int *pids = alloc(count * sizeof *pids);
    for (int i = count - 1; i >= 0; i--, n = n->left)
        commands[i] = i > 0 ? n->right : n;
    struct job job = {.in = -1, .in_front = true};
    for (int i = 0; i < count; i++) {
        int fds[2] = {-1, -1};
        if (i + 1 < count && pipe(fds) < 0) {
            complain("pipe: %s", strerror(errno));
            if (job.in >= 0)
                close(job.in);
            break; /* the last command has no process: that is status 1 */
        }
        pids[i] = start(&job, commands[i], fds[1], fds[0]);
        if (job.in >= 0)
            close(job.in);
        if (fds[1] >= 0)
            close(fds[1]);
        job.in = fds[0];
    }
    return finish(pids, count);
}

int run_background(struct node *n)
{
    struct job job = {.in = open("/dev/null", O_RDONLY)};
    int pid = start(&job, n, -1, -1);
    if (job.in >= 0)
        close(job.in);
    if (pid < 0)
        return 1;
    background_pid = pid;
    if (interactive)
        fprintf(stderr, "[%d]\n", pid);
    return 0;
}

/* ---- $( ) ---- */

/* Everything that can be read from fd, in memory of alloc(); NULL if that is
 * more than OUTPUT_BYTES. */
static char *read_output(int fd)
{
    size_t room = 512, have = 0;
    char *text = alloc(room);
    i64 n;
    while ((n = read(fd, text + have, room - have - 1)) > 0) {
        have += n;
        if (have < room - 1)
            continue;
        if (have > OUTPUT_BYTES)
            return NULL;
        char *bigger = alloc(room *= 2);
        text = memcpy(bigger, text, have);
    }
    text[have] = 0;
    while (have > 0 && text[have - 1] == '\n')
        text[--have] = 0;
    return text;
}

/* Return what a command prints, for $( ), or NULL. */
char *output_of(struct node *n)
{
    int fds[2];
    if (pipe(fds) < 0) {
        complain("pipe: %s", strerror(errno));
        return NULL;
    }
    struct job job = {.in = -1, .in_front = true};
    int pid = start(&job, n, fds[1], fds[0]);
    close(fds[1]);
    char *text = read_output(fds[0]);
    close(fds[0]);
    output_status = status = finish(&pid, 1);
    if (!text)
        complain("the output of $( ) is longer than %d bytes", OUTPUT_BYTES);
    return pid < 0 ? NULL : text;
}
