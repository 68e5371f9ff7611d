/*
 * Begin and end a program, and run another program.
 */
#include "user/lib.h"

int main(int argc, char **argv);
void start_main(int argc, char **argv) NORETURN;

const char *progname = "";

void start_main(int argc, char **argv)
{
    if (argc > 0)
        progname = basename(argv[0]);
    exit(main(argc, argv));
}

void exit(int status)
{
    bool failed = fflush(stdout);
    if (failed)
        warn("standard output");
    failed |= fflush(NULL) != 0;
    _exit(status || !failed ? status : 1);
}

/* Run a file that is no program as a script of the shell. */
static int exec_script(const char *path, char *const argv[])
{
    int argc = 0;
    while (argv[argc])
        argc++;
    char **with_sh = xmalloc((argc + 2) * sizeof(char *));
    with_sh[0] = "/bin/sh";
    with_sh[1] = (char *)path;
    for (int i = 1; i <= argc; i++)
        with_sh[i + 1] = argv[i];
    exec(with_sh[0], with_sh);
    free(with_sh);
    return -1;
}

/* Run a program by its path, or by its name in /bin. Returns only if that
 * failed. */
int execp(char *const argv[])
{
    char path[PATH_BYTES];
    const char *dir = strchr(argv[0], '/') ? "" : "/bin/";
    if (!*argv[0]) {
        errno = ENOENT;
        return -1;
    }
    if ((size_t)snprintf(path, sizeof path, "%s%s", dir, argv[0]) >=
        sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    exec(path, argv);
    if (errno == ENOEXEC)
        exec_script(path, argv);
    return -1;
}

const char *exec_error(const char *name)
{
    bool searched = !strchr(name, '/');
    return errno == ENOENT && searched ? "command not found" : strerror(errno);
}

int exec_status(void)
{
    return errno == ENOENT ? 127 : 126;
}

/* Run a command and wait for it. Returns its status, 128 + 2 if it was killed,
 * -1 if no process could be made. */
int run(char *const argv[])
{
    fflush(NULL);
    int pid = fork();
    if (pid < 0)
        return -1;
    if (pid == 0) {
        execp(argv);
        int status = exec_status();
        warnx("%s: %s", argv[0], exec_error(argv[0]));
        _exit(status);
    }
    int status;
    if (wait(pid, &status, 0) < 0)
        return -1;
    return status & WKILLED ? 128 + 2 : status & 255;
}
