/* Commands that the shell itself carries out, because they change the shell. */
#include "user/sh/sh.h"

void leave(int with)
{
    if (interactive)
        ioctl(console, TTY_COOKED, 0);
    exit(with);
}

/* Return the count that break, continue or shift was given; 1 without an
 * argument. If the argument is no count, print a message and return 0. */
static int count_arg(int argc, char **argv)
{
    char *end = "";
    i64 n = argc > 1 ? strtol(argv[1], &end, 10) : 1;
    if (n > 0 && n < INT_MAX && !*end)
        return (int)n;
    complain("%s: %s: must be a number from 1", argv[0], argv[1]);
    return 0;
}

static int builtin_nothing(int argc, char **argv)
{
    (void)argc, (void)argv;
    return 0;
}

/* Leave as many loops as the argument says, for break; or go on with the last
 * of them (again), for continue. Returns the status. */
static int leave_or_complain(int argc, char **argv, bool again)
{
    int n = count_arg(argc, argv);
    if (n == 0)
        return 2;
    if (leave_loops(n, again))
        return 0;
    complain("%s: not in a loop", argv[0]);
    return 1;
}

static int builtin_break(int argc, char **argv)
{
    return leave_or_complain(argc, argv, false);
}

static int builtin_continue(int argc, char **argv)
{
    return leave_or_complain(argc, argv, true);
}

static int builtin_cd(int argc, char **argv)
{
    const char *to = argc > 1 ? argv[1] : "/";
    if (chdir(to) == 0)
        return 0;
    complain("cd: %s: %s", to, strerror(errno));
    return 1;
}

/* End the shell with the number given, or the last status; with 2 if the
 * argument is no number. */
static int builtin_exit(int argc, char **argv)
{
    i64 with = status;
    if (argc > 1 && !parse_i64(argv[1], &with)) {
        complain("exit: %s: not a number", argv[1]);
        with = 2;
    }
    leave((int)(with & 255));
}

/* Wait for a child; -1: any child. In an interactive shell no job has the
 * console meanwhile, so the shell itself must check for ^C. */
static int wait_patiently(int pid, int *waited)
{
    int dead;
    if (!interactive)
        return wait(pid, waited, 0);
    while ((dead = wait(pid, waited, WNOHANG)) == 0 && !check_interrupt())
        sleep(20 * NS_PER_MS);
    return dead;
}

/* Wait for all processes, or for one. */
static int builtin_wait(int argc, char **argv)
{
    int waited = 0;
    if (argc == 1) {
        while (wait_patiently(-1, &waited) > 0)
            ;
        return interrupted ? status : 0;
    }
    i64 pid;
    if (!parse_i64(argv[1], &pid) || pid <= 0 || pid > INT_MAX) {
        complain("wait: %s: not a process number", argv[1]);
        return 2;
    }
    int dead = wait_patiently((int)pid, &waited);
    if (dead >= 0)
        return interrupted ? status : exit_status(waited);
    complain("wait: %s: %s", argv[1], strerror(errno));
    return 127;
}

/* Set or clear -e, or print the variables if there is no argument. */
static int builtin_set(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-e") != 0 && strcmp(argv[i], "+e") != 0) {
            complain("set: only -e and +e are known");
            return 2;
        }
        exit_on_error = *argv[i] == '-';
    }
    if (argc == 1)
        print_variables();
    return 0;
}

/* Drop the first parameters, as many as the argument says. */
static int builtin_shift(int argc, char **argv)
{
    int n = count_arg(argc, argv);
    if (n == 0)
        return 2;
    if (n >= param_count) {
        complain("shift: there are only %d parameters",
                 MAX(param_count - 1, 0));
        return 1;
    }
    shift_params(n);
    return 0;
}

/* A line of standard input, edited if it comes from the user. */
static i64 line_to_read(char *line)
{
    if (!interactive || !isatty(0))
        return plain_line(line);
    i64 n = edit_line("", line, LINE_BYTES);
    if (n == EDIT_CANCEL) {
        interrupted = true;
        status = 130;
    }
    return n;
}

/* Read a line and give its words to the variables; the last one gets the
 * rest. */
static int builtin_read(int argc, char **argv)
{
    static const char blanks[] = " \t";
    char *line = alloc(LINE_BYTES), *rest = line;
    i64 n = line_to_read(line);
    if (n == EDIT_TOO_LONG) {
        complain("read: a line is longer than %d bytes", LINE_BYTES);
        return 2;
    }
    if (n == EDIT_FAILED)
        complain("read: standard input: %s", strerror(errno));
    for (int i = 1; i < argc; i++) {
        if (!*argv[i] || argv[i][name_length(argv[i])]) {
            complain("read: %s: not the name of a variable", argv[i]);
            return 2;
        }
        rest += strspn(rest, blanks);
        char *word = i + 1 < argc ? strsep(&rest, blanks) : rest;
        variable_set(argv[i], n < 0 ? "" : word);
        rest = rest ? rest : "";
    }
    return n == EDIT_CANCEL ? status : n == EDIT_FAILED ? 2 : n < 0;
}

static int builtin_history(int argc, char **argv)
{
    (void)argc, (void)argv;
    for (int i = 0; i < history.count; i++)
        printf("%4d  %s\n", i + 1, history.line[i]);
    return 0;
}

/* Run a file's commands in this shell. Returns their status. */
static int builtin_source(int argc, char **argv)
{
    if (argc < 2) {
        complain(".: expected a file");
        return 2;
    }
    char *text = read_text(argv[1], NULL);
    if (!text) {
        complain(".: %s: %s", argv[1], strerror(errno));
        return 1;
    }
    int result = run_text(argv[1], text);
    free(text);
    return result;
}

static int builtin_help(int argc, char **argv);

const struct builtin builtins[] = {
    {".", builtin_source, "FILE", "run a file's commands in this shell"},
    {":", builtin_nothing, "", "do nothing, and succeed"},
    {"break", builtin_break, "[N]", "leave the loop, or N loops"},
    {"cd", builtin_cd, "[DIRECTORY]", "go to DIRECTORY, or to /"},
    {"continue", builtin_continue, "[N]", "begin the next round of a loop"},
    {"exit", builtin_exit, "[STATUS]", "leave the shell"},
    {"help", builtin_help, "", "print this text"},
    {"history", builtin_history, "", "print the lines typed before"},
    {"read", builtin_read, "[NAME]...", "read a line of input into variables"},
    {"set", builtin_set, "[-e | +e]",
     "-e: leave at the first failure; +e: do not"},
    {"shift", builtin_shift, "[N]", "$2 becomes $1, and so on"},
    {"wait", builtin_wait, "[PID]",
     "wait until background processes have ended"},
};
const u32 builtin_count = NELEM(builtins);

static const char help[] =
    "Programs are in /bin: `ls /bin` lists them, each tells its usage with "
    "-h.\n"
    "  policy    the policies and their tunables   iostat  what a command "
    "cost\n"
    "  edit FILE the editor                        poweroff (or ^D) ends "
    "Sluice\n"
    "Between commands:  a | b    a && b    a || b    a; b    a &    ! a\n"
    "  if a; then b; elif c; then d; else e; fi      (a; b)    { a; b; }\n"
    "  while a; do b; done    until a; do b; done    for x in 1 2 3; do b; "
    "done\n"
    "  conditions: [ A = B ], [ N -lt M ], [ -e FILE ]; `test -h` has them "
    "all\n"
    "Words:  'text'  \"text\"  \\c    * ? [a-z]    $(command)  $((1 + 2 * n))\n"
    "  NAME=text  $NAME  ${NAME}    $? $$ $! $# $@ $1 ... ${10}    # comment\n"
    "Redirections:  < FILE    > FILE    >> FILE    2> FILE    2>&1\n"
    "Keys:  Tab completes commands and names of files, twice lists them; "
    "arrows\n"
    "  ^A ^E line's ends   ^K ^U cut to them   ^W cut a word   ^L clear "
    "screen\n"
    "  ^C ends what runs   ^D leaves           ^] x ends QEMU (of `make "
    "qemu`)\n"
    "Missing:  functions, case, << here-documents, ${NAME:-...}, `command`, "
    "an\n"
    "  environment (export), job control (^Z, fg, bg).\n"
    "Commands of the shell itself:\n";

static int builtin_help(int argc, char **argv)
{
    (void)argc, (void)argv;
    fputs(help, stdout);
    for (u32 i = 0; i < builtin_count; i++)
        printf("  %-9s%-13s%s\n", builtins[i].name, builtins[i].usage,
               builtins[i].about);
    return 0;
}

const struct builtin *builtin_named(const char *name)
{
    for (u32 i = 0; i < builtin_count; i++) {
        if (strcmp(builtins[i].name, name) == 0)
            return &builtins[i];
    }
    return NULL;
}
