/*
 * Runs of one command of e2fsck without its start, for the crash laboratory
 * (sluice/crash/checker.py). This library is loaded before all others
 * (LD_PRELOAD).
 *
 * - When the program first opens the file that SERVED names, it has parsed its
 *   options, found its locale and read which disks are mounted, and has read
 *   nothing of the file. There it stops, and answers requests.
 * - A request is a byte of the standard input. Each is a child that goes on
 *   from there, so a run knows nothing of those before it. The answer is its
 *   status, as wait(2) has it, on the descriptor that ANSWERS names. One byte
 *   of answer says at first that all is ready.
 * - It ends with its input.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int opener(const char *path, int flags, ...);

/* Each is called by some program that was compiled in some way. */
opener open, open64;
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);

static int answers;

static bool answer(const void *data, size_t bytes)
{
    return write(answers, data, bytes) == (ssize_t)bytes;
}

/* Returns in each child. */
static void serve(void)
{
    char request;
    fflush(NULL);
    if (!answer("", 1))
        _exit(1);
    while (read(STDIN_FILENO, &request, 1) == 1) {
        pid_t parent = getpid(), child = fork();
        if (!child) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != parent)
                _exit(1); /* the parent ended before that call */
            close(answers);
            return;
        }
        int status;
        if (child < 0 || waitpid(child, &status, 0) != child ||
            !answer(&status, sizeof status))
            _exit(1);
    }
    _exit(0);
}

static int open_as(const char *name, const char *path, int flags, int mode)
{
    static bool served;
    const char *wanted = getenv("SERVED");
    if (!served && wanted && !strcmp(path, wanted)) {
        served = true;
        answers = atoi(getenv("ANSWERS"));
        serve();
    }
    opener *next = (opener *)dlsym(RTLD_NEXT, name);
    return next(path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    int mode = va_arg(more, int);
    va_end(more);
    return open_as("open", path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    int mode = va_arg(more, int);
    va_end(more);
    return open_as("open64", path, flags, mode);
}

int __open_2(const char *path, int flags)
{
    return open_as("open", path, flags, 0);
}

int __open64_2(const char *path, int flags)
{
    return open_as("open64", path, flags, 0);
}
