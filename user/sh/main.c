/* sh: options, and where commands come from. sh.h says what the parts are. */
#include "user/sh/sh.h"

bool interactive;
int console = -1;

static const char usage[] = "sh [-e] [FILE [ARGUMENT...]]\n"
                            "       sh [-e] -c TEXT [NAME [ARGUMENT...]]";

static int run_file(const char *path)
{
    char *text = read_text(path, NULL);
    if (text)
        return run_text(path, text);
    warn("%s", path);
    return errno == ENOENT ? 127 : 126;
}

static void use_console(void)
{
    interactive = true;
    console = dup_high(0);
    setpgrp(0, 0);
    ioctl(console, TTY_RAW, 0);
    ioctl(console, TTY_FOREGROUND, getpid());
}

int main(int argc, char **argv)
{
    char *text = NULL;
    for (int c; (c = options(argc, argv, "ec:", usage)) > 0;) {
        exit_on_error |= c == 'e';
        if (c == 'c')
            text = optarg;
    }
    progname = "sh";
    params = argv + optind;
    param_count = argc - optind;
    if (text)
        return run_text("-c", text);
    if (param_count > 0)
        return run_file(params[0]);
    if (isatty(0) && isatty(1))
        use_console();
    while (run_input())
        ;
    leave(status);
}
