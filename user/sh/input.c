/* Reads commands from a text, a pipe or the console, and runs them. */
#include "user/sh/sh.h"

const char *script;
static u32 lines_read; /* from descriptor 0 */

/* Print a message after `FILE: line N: `, or as much of that as is known. */
static void complain_at(u32 line, const char *text)
{
    if (script)
        warnx("%s: line %u: %s", script, line, text);
    else if (console >= 0) /* this is, or is a child of, an interactive shell */
        warnx("%s", text);
    else
        warnx("line %u: %s", line, text);
}

void complain(const char *fmt, ...)
{
    char text[PATH_BYTES + 200];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    complain_at(running_line, text);
}

static void syntax_error(struct parser *p)
{
    char text[sizeof p->why + 20];
    snprintf(text, sizeof text, "syntax error: %s", p->why);
    complain_at(line_here(p), text);
    status = 2;
}

/* Run a text, one complete list of commands after the other. Memory of each is
 * released before the next. */
static int run_lines(const char *text)
{
    struct parser p = parser_of(text, 1);
    while (*p.at) {
        struct block *mark = newest_block();
        struct node *n = parse_list(&p, UNTIL_LINE_END);
        if (stopped(&p))
            syntax_error(&p);
        else if (n)
            run_node(n);
        release(mark);
        if (stopped(&p) || interrupted)
            break;
    }
    return status;
}

int run_text(const char *name, const char *text)
{
    static int depth;
    const char *outer = script;
    u32 line = running_line;
    if (depth == NESTING) {
        complain("%s: files nested more than %d deep", name, NESTING);
        return 2;
    }
    depth++;
    script = name;
    int result = run_lines(text);
    script = outer;
    running_line = line;
    depth--;
    return result;
}

/* Print which background processes have ended. */
static void reap(void)
{
    int waited, pid;
    while ((pid = wait(-1, &waited, WNOHANG)) > 0) {
        fprintf(stderr, "[%d] %s", pid, waited & WKILLED ? "killed" : "done");
        if (waited & 255)
            fprintf(stderr, ", status %d", waited & 255);
        fprintf(stderr, "\n");
    }
}

/* Let the user edit a line, the first of a command or a further one. */
static i64 edited_line(char *line, bool first)
{
    char prompt[PATH_BYTES + 16] = "> ", cwd[PATH_BYTES];
    if (first) {
        reap();
        if (getcwd(cwd, sizeof cwd) < 0)
            strlcpy(cwd, "?", sizeof cwd);
        snprintf(prompt, sizeof prompt, "sluice:%s$ ", cwd);
    }
    i64 n = edit_line(prompt, line, LINE_BYTES);
    if (n > 0 && strspn(line, " ") < (size_t)n)
        history_add(line);
    return n;
}

/* Read a line byte by byte, so that nothing of the next line is taken. Returns
 * its length, or EDIT_EOF and so on. */
i64 plain_line(char *line)
{
    i64 n = 0;
    i64 got = 1;
    bool too_long = false;
    char c = 0;
    while (c != '\n' && (got = read(0, &c, 1)) == 1) {
        too_long |= c != '\n' && n == LINE_BYTES - 1;
        if (c != '\n' && !too_long)
            line[n++] = c;
    }
    line[too_long || got < 0 ? 0 : n] = 0;
    if (got < 0)
        return EDIT_FAILED;
    if (too_long)
        return EDIT_TOO_LONG;
    return n > 0 || c == '\n' ? n : EDIT_EOF;
}

/* Append a line to a command that is incomplete. */
static char *join_lines(char *text, const char *line)
{
    size_t have = text ? strlen(text) : 0, more = strlen(line);
    text = xrealloc(text, have + more + 2);
    memcpy(text + have, line, more);
    strlcpy(text + have + more, "\n", 2);
    return text;
}

/* Read lines into *text until they are a complete command, *n. Below 0, as
 * edit_line returns, if the input ends before. */
static i64 read_command(char **text, struct node **n, struct parser *p)
{
    static char line[LINE_BYTES];
    struct block *mark = newest_block();
    u32 first = lines_read + 1;
    do {
        i64 got = interactive ? edited_line(line, !*text) : plain_line(line);
        if (got < 0)
            return got;
        lines_read++;
        *text = join_lines(*text, line);
        release(mark);
        *p = parser_of(*text, first);
        *n = parse_list(p, UNTIL_LINE_END);
    } while (p->incomplete);
    return 0;
}

/* The input of the shell itself has failed. */
static void cannot_read(void)
{
    char text[100];
    snprintf(text, sizeof text, "standard input: %s", strerror(errno));
    complain_at(lines_read + 1, text);
    status = 2;
}

/* Read and run one command from standard input. False: that has ended. */
bool run_input(void)
{
    char *text = NULL;
    struct block *mark = newest_block();
    struct parser p = {0};
    struct node *n = NULL;
    i64 got = read_command(&text, &n, &p);
    if (got == EDIT_TOO_LONG)
        diex("a line is longer than %d bytes", LINE_BYTES);
    interrupted = false;
    if (got == EDIT_CANCEL)
        status = 130;
    else if (got == EDIT_FAILED)
        cannot_read();
    else if (p.wrong || (got == EDIT_EOF && text))
        syntax_error(&p);
    else if (n)
        run_node(n);
    release(mark);
    free(text);
    return got != EDIT_EOF && got != EDIT_FAILED;
}
