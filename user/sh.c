/*
 * sh: the shell.
 *
 * - A command line is read, parsed into a tree of nodes, and run; words are
 *   kept as typed until then: expand() takes quotes away, puts variables in,
 *   and matches file names.
 * - Grammar:  list     = and_or { (; | & | newline) and_or }
 *             and_or   = pipeline { (&& | ||) pipeline }
 *             pipeline = [!] command { | command }
 *             command  = { word | redirection } | ( list ) redirections
 * - With a console the shell is interactive: it edits lines, the console is
 *   raw except while a foreground job runs, and each job is a process group,
 *   so that ^C ends the job alone.
 * - There is no environment: variables are the shell's own.
 */
#include "user/lib.h"

enum node_type { COMMAND, PIPE, NOT, AND, OR, THEN, BACKGROUND, SUBSHELL };

struct redirect {
    struct redirect *next;
    int fd;     /* to be replaced */
    char how;   /* < > a (append) & (duplicate) */
    char *word; /* file, or number of the descriptor */
};

/* A list of strings that ends in NULL. */
struct strings {
    char **at;
    int count, room;
};

struct node {
    enum node_type type;
    struct node *left, *right;  /* THEN, AND, OR, PIPE; left: all but COMMAND */
    struct strings words;       /* COMMAND: as typed */
    struct strings argv;        /* COMMAND: expanded, once it is run */
    struct redirect *redirects; /* COMMAND, SUBSHELL */
};

struct variable {
    struct variable *next;
    char *name, *value;
};

static bool interactive, exit_on_error, interrupted;
static int tests;      /* > 0: a failure is an answer, not an error */
static int status;     /* $? */
static int background; /* $!: the newest background process */
static char **params;  /* $0, $1 ... NULL */
static int param_count;
static struct variable *variables;
static struct history history;

static int run_node(struct node *);
static int run_text(const char *text);

/* ---- memory for one line: freed together ---- */

struct block {
    struct block *next;
    u64 data[];
};
static struct block *blocks;

static void *alloc(size_t n)
{
    struct block *b = xmalloc(sizeof *b + n);
    b->next = blocks;
    blocks = b;
    return memset(b->data, 0, n);
}

/* Free what was allocated since `mark` was the newest. */
static void release(struct block *mark)
{
    while (blocks != mark) {
        struct block *next = blocks->next;
        free(blocks);
        blocks = next;
    }
}

static char *copy_text(const char *from, size_t n)
{
    return memcpy(alloc(n + 1), from, n);
}

static void add(struct strings *list, char *s)
{
    if (list->count + 1 >= list->room) {
        list->room = 2 * list->room + 8;
        char **bigger = alloc(list->room * sizeof(char *));
        if (list->count > 0)
            memcpy(bigger, list->at, list->count * sizeof(char *));
        list->at = bigger;
    }
    list->at[list->count++] = s;
    list->at[list->count] = NULL;
}

/* ---- parsing ---- */

struct parser {
    const char *at;
    bool incomplete; /* the text ends where more must come */
    bool wrong;      /* at what `at` points to */
};

static struct node *parse_list(struct parser *, bool in_parens);

static bool stopped(const struct parser *p)
{
    return p->incomplete || p->wrong;
}

/* Over blanks, continued line ends and comments. */
static void skip_blanks(struct parser *p)
{
    for (;;) {
        if (*p->at == ' ' || *p->at == '\t' || *p->at == '\r')
            p->at++;
        else if (p->at[0] == '\\' && p->at[1] == '\n' && p->at[2])
            p->at += 2;
        else if (*p->at == '#')
            p->at += strcspn(p->at, "\n");
        else
            return;
    }
}

static void skip_lines(struct parser *p)
{
    for (skip_blanks(p); *p->at == '\n'; skip_blanks(p))
        p->at++;
}

static bool accept(struct parser *p, const char *text)
{
    skip_blanks(p);
    size_t n = strlen(text);
    if (strncmp(p->at, text, n) != 0)
        return false;
    p->at += n;
    return true;
}

/* The end of a quoted part that begins at s; NULL if it does not end. */
static const char *quote_end(const char *s)
{
    char quote = *s++;
    if (quote == '\\') /* the last line end must have a line behind it */
        return *s && (*s != '\n' || s[1]) ? s + 1 : NULL;
    for (; *s && *s != quote; s++) {
        if (quote == '"' && *s == '\\' && s[1])
            s++;
    }
    return *s ? s + 1 : NULL;
}

/* A word as typed, or NULL if there is none here. */
static char *parse_word(struct parser *p)
{
    skip_blanks(p);
    const char *s = p->at;
    while (*s && !strchr(" \t\r\n;&|<>()", *s)) {
        s = strchr("'\"\\", *s) ? quote_end(s) : s + 1;
        if (!s) {
            p->incomplete = true;
            return NULL;
        }
    }
    if (s == p->at)
        return NULL;
    char *word = copy_text(p->at, s - p->at);
    p->at = s;
    return word;
}

/* [digit]<file >file >>file >&digit: false if there is none here. */
static bool parse_redirect(struct parser *p, struct redirect ***end)
{
    skip_blanks(p);
    const char *s = p->at + isdigit(*p->at);
    if (*s != '<' && *s != '>')
        return false;
    struct redirect *r = alloc(sizeof *r);
    r->fd = isdigit(*p->at) ? *p->at - '0' : *s == '>';
    r->how = *s++;
    if (*s == '&')
        r->how = *s++;
    else if (r->how == '>' && *s == '>')
        r->how = (s++, 'a');
    p->at = s;
    r->word = parse_word(p);
    p->wrong |= !r->word;
    **end = r;
    *end = &r->next;
    return true;
}

static struct node *new_node(enum node_type type, struct node *left,
                             struct node *right)
{
    struct node *n = alloc(sizeof *n);
    n->type = type;
    n->left = left;
    n->right = right;
    return n;
}

static struct node *parse_command(struct parser *p)
{
    struct node *n = new_node(COMMAND, NULL, NULL);
    struct redirect **end = &n->redirects;
    if (accept(p, "(")) {
        n->type = SUBSHELL;
        n->left = parse_list(p, true);
        while (!stopped(p) && parse_redirect(p, &end))
            ;
        return n;
    }
    while (!stopped(p)) {
        if (parse_redirect(p, &end))
            continue;
        char *word = parse_word(p);
        if (!word)
            break;
        add(&n->words, word);
    }
    p->wrong |= !stopped(p) && n->words.count == 0 && !n->redirects;
    return n;
}

/* What follows an operator may begin on the next line. */
static void expect_more(struct parser *p)
{
    skip_lines(p);
    p->incomplete |= !*p->at;
}

static struct node *parse_pipeline(struct parser *p)
{
    bool not = accept(p, "! ");
    struct node *n = parse_command(p);
    while (!stopped(p)) {
        skip_blanks(p);
        if (p->at[0] != '|' || p->at[1] == '|')
            break;
        p->at++;
        expect_more(p);
        if (!stopped(p))
            n = new_node(PIPE, n, parse_command(p));
    }
    return not ? new_node(NOT, n, NULL) : n;
}

static struct node *parse_and_or(struct parser *p)
{
    struct node *n = parse_pipeline(p);
    while (!stopped(p)) {
        enum node_type type = accept(p, "&&")   ? AND
                              : accept(p, "||") ? OR
                                                : COMMAND;
        if (type == COMMAND)
            break;
        expect_more(p);
        if (!stopped(p))
            n = new_node(type, n, parse_pipeline(p));
    }
    return n;
}

/* Up to the end of the line, or over the closing parenthesis. */
static struct node *parse_list(struct parser *p, bool in_parens)
{
    struct node *list = NULL;
    for (;;) {
        in_parens ? skip_lines(p) : skip_blanks(p);
        if (in_parens && !*p->at)
            p->incomplete = true;
        if (stopped(p) || !*p->at || *p->at == (in_parens ? ')' : '\n'))
            break;
        struct node *n = parse_and_or(p);
        if (stopped(p))
            break;
        if (accept(p, "&"))
            n = new_node(BACKGROUND, n, NULL);
        else if (!accept(p, ";") && !(skip_blanks(p), !*p->at) &&
                 *p->at != '\n' && *p->at != ')')
            p->wrong = true;
        list = list ? new_node(THEN, list, n) : n;
    }
    if (!stopped(p) && *p->at)
        p->at++;
    return list;
}

/* ---- words ---- */

static const char *variable_value(const char *name)
{
    for (struct variable *v = variables; v; v = v->next) {
        if (strcmp(v->name, name) == 0)
            return v->value;
    }
    return "";
}

static void variable_set(const char *name, const char *value)
{
    struct variable *v = variables;
    while (v && strcmp(v->name, name) != 0)
        v = v->next;
    if (!v) {
        v = xmalloc(sizeof *v);
        *v = (struct variable){variables, strdup(name), NULL};
        variables = v;
    }
    free(v->value);
    v->value = strdup(value);
}

static size_t name_length(const char *s)
{
    size_t n = 0;
    while (isalnum(s[n]) || s[n] == '_')
        n++;
    return isdigit(*s) ? 0 : n;
}

/* The fields a word becomes. In `text` a backslash stands before each byte
 * that was quoted and would mean something in a pattern. */
struct expansion {
    struct strings *out;
    bool split; /* several fields and file names; else one text */
    bool quoted, any, pattern;
    char *text;
    size_t length, room;
};

static void append(struct expansion *x, char c)
{
    if (x->length + 3 > x->room) {
        x->room = 2 * x->room + 64;
        char *bigger = alloc(x->room);
        if (x->length > 0)
            memcpy(bigger, x->text, x->length);
        x->text = bigger;
    }
    bool special = c && strchr("*?[", c);
    if (c == '\\' || (special && (x->quoted || !x->split)))
        x->text[x->length++] = '\\';
    else
        x->pattern |= special;
    x->text[x->length++] = c;
    x->text[x->length] = 0;
    x->any = true;
}

static char *without_backslashes(const char *from)
{
    char *text = copy_text(from, strlen(from)), *to = text;
    for (const char *s = text; *s; *to++ = *s++)
        s += *s == '\\' && s[1];
    *to = 0;
    return text;
}

static void add_copy(void *out, const char *path)
{
    add(out, copy_text(path, strlen(path)));
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The field is done: as it is, or the files it matches. */
static void end_field(struct expansion *x)
{
    if (!x->any)
        return;
    int before = x->out->count;
    const char *text = x->text ? x->text : "";
    if (x->pattern)
        glob(text, add_copy, x->out);
    int found = x->out->count - before;
    if (found == 0)
        add(x->out, without_backslashes(text));
    else
        qsort(x->out->at + before, found, sizeof(char *), by_text);
    x->length = x->room = 0;
    x->text = NULL;
    x->any = x->pattern = false;
}

static void append_value(struct expansion *x, const char *value)
{
    for (; *value; value++) {
        if (x->split && !x->quoted && isspace(*value))
            end_field(x);
        else
            append(x, *value);
    }
}

/* The value of $? $$ $! $# as text; NULL if c is none of these. */
static const char *number_value(char c)
{
    static char digits[16];
    int n = c == '?'   ? status
            : c == '$' ? getpid()
            : c == '!' ? background
            : c == '#' ? MAX(param_count - 1, 0)
                       : -1;
    snprintf(digits, sizeof digits, "%d", n);
    return n < 0 ? NULL : digits;
}

static void append_params(struct expansion *x)
{
    for (int i = 1; i < param_count; i++) {
        append_value(x, params[i]);
        if (i + 1 < param_count)
            x->split ? end_field(x) : append(x, ' ');
    }
}

static void append_variable(struct expansion *x, const char *name)
{
    const char *number = number_value(*name);
    if (number)
        append_value(x, number);
    else if (*name == '@' || *name == '*')
        append_params(x);
    else if (!isdigit(*name))
        append_value(x, variable_value(name));
    else if (*name - '0' < param_count)
        append_value(x, params[*name - '0']);
}

/* At s, behind a $: append what it stands for; returns what follows. */
static const char *expand_variable(struct expansion *x, const char *s)
{
    bool braces = *s == '{';
    const char *name = s + braces;
    size_t n = isdigit(*name) || (*name && strchr("?$!#@*", *name))
                   ? 1
                   : name_length(name);
    if (n == 0 || (braces && name[n] != '}')) {
        append(x, '$');
        return s;
    }
    append_variable(x, copy_text(name, n));
    return name + n + braces;
}

static void expand(struct expansion *x, const char *s)
{
    bool single = false, twice = false; /* inside which quotes */
    while (*s) {
        if (single ? *s == '\'' : !twice && *s == '\'') {
            single = !single;
            x->any = true;
        } else if (!single && *s == '"') {
            twice = !twice;
            x->any = true;
        } else if (!single && *s == '$') {
            x->quoted = twice;
            s = expand_variable(x, s + 1);
            continue;
        } else if (!single && *s == '\\' &&
                   (!twice || strchr("\\\"$\n", s[1]))) {
            x->quoted = true;
            if (*++s != '\n')
                append(x, *s);
        } else {
            x->quoted = single || twice;
            append(x, *s);
        }
        s++;
    }
    end_field(x);
}

/* Make a command's argv, unless the shell this is a child of has done so. */
static struct strings *expand_words(struct node *n)
{
    if (n->argv.count > 0)
        return &n->argv;
    for (int i = 0; i < n->words.count; i++) {
        struct expansion x = {.out = &n->argv, .split = true};
        expand(&x, n->words.at[i]);
    }
    return &n->argv;
}

static char *expand_one(const char *word)
{
    struct strings out = {0};
    struct expansion x = {.out = &out, .any = true};
    expand(&x, word);
    return out.at[0];
}

/* ---- builtins ---- */

static void NORETURN leave(int with)
{
    if (interactive)
        ioctl(0, TTY_COOKED, 0);
    exit(with);
}

static int builtin_cd(int argc, char **argv)
{
    const char *to = argc > 1 ? argv[1] : "/";
    if (chdir(to) < 0) {
        warn("cd: %s", to);
        return 1;
    }
    return 0;
}

static int builtin_exit(int argc, char **argv)
{
    leave(argc > 1 ? atoi(argv[1]) : status);
}

static int exit_status(int waited)
{
    return waited & WKILLED ? 130 : waited & 255;
}

static int builtin_wait(int argc, char **argv)
{
    int waited = 0;
    if (argc == 1) {
        while (wait(-1, &waited, 0) > 0)
            ;
        return 0;
    }
    if (wait(atoi(argv[1]), &waited, 0) < 0) {
        warn("wait: %s", argv[1]);
        return 127;
    }
    return exit_status(waited);
}

static int builtin_history(int argc, char **argv)
{
    (void)argc, (void)argv;
    for (int i = 0; i < history.count; i++)
        printf("%4d  %s\n", i + 1, history.line[i]);
    return 0;
}

static int builtin_set(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i] + 1, "e") != 0 || !strchr("-+", *argv[i])) {
            warnx("set: only -e and +e are known");
            return 2;
        }
        exit_on_error = *argv[i] == '-';
    }
    for (struct variable *v = argc == 1 ? variables : NULL; v; v = v->next)
        printf("%s=%s\n", v->name, v->value);
    return 0;
}

static int builtin_source(int argc, char **argv)
{
    char *text = read_text(argc > 1 ? argv[1] : "", NULL);
    if (!text) {
        warn(".: %s", argc > 1 ? argv[1] : "");
        return 1;
    }
    int result = run_text(text);
    free(text);
    return result;
}

static int builtin_help(int argc, char **argv);

static const struct builtin {
    const char *name;
    int (*fn)(int argc, char **argv);
    const char *usage, *about;
} builtins[] = {
    {"cd", builtin_cd, "[DIRECTORY]", "go there, or to /"},
    {"exit", builtin_exit, "[STATUS]", "leave the shell"},
    {"wait", builtin_wait, "[PID]", "until background processes have ended"},
    {"history", builtin_history, "", "the lines typed before"},
    {"set", builtin_set, "[-e | +e]", "-e: leave at the first failure"},
    {".", builtin_source, "FILE", "run a file's commands in this shell"},
    {"help", builtin_help, "", "this text"},
};

static int builtin_help(int argc, char **argv)
{
    (void)argc, (void)argv;
    printf("Commands of the shell itself; the others are in /bin (ls /bin),\n"
           "each tells its usage with -h:\n");
    for (u32 i = 0; i < NELEM(builtins); i++)
        printf("  %-8s%-14s%s\n", builtins[i].name, builtins[i].usage,
               builtins[i].about);
    printf("Also: a | b, a && b, a || b, a; b, a &, ! a, (a; b), < > >> 2>\n"
           "2>&1, 'text' \"text\" \\c, * ? [a-z], NAME=text $NAME $? $$ $! $1\n"
           "$# $@, # comment. Keys: arrows, ^A ^E ^K ^U ^W ^L, ^C, ^D.\n");
    return 0;
}

static const struct builtin *builtin_named(const char *name)
{
    for (u32 i = 0; i < NELEM(builtins); i++) {
        if (strcmp(builtins[i].name, name) == 0)
            return &builtins[i];
    }
    return NULL;
}

/* ---- running ---- */

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
    return isdigit(*name) ? dup(atoi(name)) : (errno = EBADF, -1);
}

static bool redirect(const struct redirect *r)
{
    for (; r; r = r->next) {
        char *name = expand_one(r->word);
        int fd = open_target(r, name);
        if (fd < 0 || (fd != r->fd && dup2(fd, r->fd) < 0)) {
            warn("%s", name);
            return false;
        }
        if (fd != r->fd)
            close(fd);
    }
    return true;
}

/* A duplicate that no redirection of one digit can hit. */
static int dup_high(int fd)
{
    int low = dup(fd);
    if (low < 0 || low > 9)
        return low;
    int high = dup_high(fd);
    close(low);
    return high;
}

/* Run a builtin, or nothing (NULL), in this process with redirections, then
 * put the descriptors back. */
static int run_here(const struct builtin *builtin, struct node *n)
{
    int saved[10], result = 1;
    fflush(stdout);
    for (struct redirect *r = n->redirects; r; r = r->next)
        saved[r->fd] = -2;
    for (struct redirect *r = n->redirects; r; r = r->next) {
        if (saved[r->fd] == -2)
            saved[r->fd] = dup_high(r->fd);
    }
    if (redirect(n->redirects))
        result = builtin ? builtin->fn(n->argv.count, n->argv.at) : 0;
    fflush(stdout);
    for (struct redirect *r = n->redirects; r; r = r->next) {
        if (saved[r->fd] >= 0)
            dup2(saved[r->fd], r->fd);
        else
            close(r->fd);
    }
    for (struct redirect *r = n->redirects; r; r = r->next)
        close(saved[r->fd]);
    return result;
}

static bool is_assignment(const char *word)
{
    size_t n = name_length(word);
    return n > 0 && word[n] == '=';
}

static int assign(const struct strings *words)
{
    for (int i = 0; i < words->count; i++) {
        if (!is_assignment(words->at[i])) {
            warnx("%s: there is no environment to pass variables in",
                  words->at[0]);
            return 2;
        }
    }
    for (int i = 0; i < words->count; i++) {
        const char *word = words->at[i];
        size_t n = name_length(word);
        variable_set(copy_text(word, n), expand_one(word + n + 1));
    }
    return 0;
}

static const struct builtin *builtin_of(struct node *n)
{
    return n->argv.count > 0 ? builtin_named(n->argv.at[0]) : NULL;
}

static bool assigns(const struct node *n)
{
    return n->words.count > 0 && is_assignment(n->words.at[0]);
}

/* The rest of a child's life: run the node, which is its own. */
static void NORETURN run_child(struct node *n)
{
    interactive = false;
    if (n->type != COMMAND && n->type != SUBSHELL)
        exit(run_node(n));
    if (!redirect(n->redirects))
        _exit(1);
    n->redirects = NULL;
    if (n->type == SUBSHELL)
        exit(n->left ? run_node(n->left) : 0);
    char **argv = expand_words(n)->at;
    if (!argv || assigns(n) || builtin_of(n))
        exit(run_node(n));
    if (strcmp(argv[0], "[") == 0)
        exec("/bin/test", argv);
    else
        execp(argv);
    warn("%s", argv[0]);
    _exit(errno == ENOENT ? 127 : 126);
}

struct job {
    int pgrp;      /* 0 before the first process */
    int in;        /* what the next process reads, or -1: as the shell */
    bool in_front; /* of the console */
};

/* Start a process of the job; `out`: what it writes, or -1; `unused`: a
 * descriptor it must not keep. Its pid, or -1. */
static int start(struct job *job, struct node *n, int out, int unused)
{
    fflush(NULL);
    int pid = fork();
    if (pid < 0) {
        warn("fork");
        return -1;
    }
    if (interactive) /* on both sides: neither can know who is first */
        setpgrp(pid, job->pgrp);
    if (pid > 0) {
        job->pgrp = job->pgrp ? job->pgrp : pid;
        return pid;
    }
    if (interactive && job->in_front && !job->pgrp) {
        ioctl(0, TTY_FOREGROUND, getpid());
        ioctl(0, TTY_COOKED, 0);
    }
    if (job->in >= 0)
        dup2(job->in, 0), close(job->in);
    if (out >= 0)
        dup2(out, 1), close(out);
    if (unused >= 0)
        close(unused);
    run_child(n);
}

/* Wait for a job's processes; the status of the last of them. */
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
    ioctl(0, TTY_RAW, 0);
    if (count > 0 && pids[count - 1] > 0 && waited & WKILLED) {
        fprintf(stderr, "killed\n");
        interrupted = true;
    }
    return result;
}

static int run_job(struct node *n)
{
    int count = 1;
    for (struct node *p = n; p->type == PIPE; p = p->left)
        count++;
    struct node *commands[count];
    int pids[count];
    for (int i = count - 1; i >= 0; i--, n = n->left)
        commands[i] = i > 0 ? n->right : n;
    struct job job = {.in = -1, .in_front = true};
    for (int i = 0; i < count; i++) {
        int fds[2] = {-1, -1};
        if (i + 1 < count && pipe(fds) < 0)
            warn("pipe");
        pids[i] = start(&job, commands[i], fds[1], fds[0]);
        if (job.in >= 0)
            close(job.in);
        if (fds[1] >= 0)
            close(fds[1]);
        job.in = fds[0];
    }
    return finish(pids, count);
}

static int run_background(struct node *n)
{
    struct job job = {.in = open("/dev/null", O_RDONLY)};
    int pid = start(&job, n, -1, -1);
    if (job.in >= 0)
        close(job.in);
    if (pid < 0)
        return 1;
    background = pid;
    if (interactive)
        fprintf(stderr, "[%d]\n", pid);
    return 0;
}

static int run_command(struct node *n)
{
    if (assigns(n))
        return assign(&n->words);
    const struct builtin *builtin = expand_words(n)->at ? builtin_of(n) : NULL;
    if (builtin || n->argv.count == 0)
        return run_here(builtin, n);
    return run_job(n);
}

/* An answer rather than an error: set -e does not act on it. */
static int run_test(struct node *n)
{
    tests++;
    int result = run_node(n);
    tests--;
    return result;
}

static int run_node(struct node *n)
{
    switch (n->type) {
    case THEN:
        run_node(n->left);
        return interrupted ? status : run_node(n->right);
    case AND:
        status = run_test(n->left);
        return status || interrupted ? status : run_node(n->right);
    case OR:
        status = run_test(n->left);
        return !status || interrupted ? status : run_node(n->right);
    case NOT:
        return status = !run_test(n->left);
    case BACKGROUND:
        return status = run_background(n->left);
    case COMMAND:
        status = run_command(n);
        break;
    case PIPE:
    case SUBSHELL:
        status = run_job(n);
        break;
    }
    if (status && exit_on_error && tests == 0 && !interactive)
        leave(status);
    return status;
}

/* ---- input ---- */

static void syntax_error(const struct parser *p)
{
    int n = strcspn(p->at, "\n");
    const char *end = p->incomplete ? "the text ends too soon after "
                      : n == 0      ? "the end of the line"
                                    : "";
    warnx("syntax error: %s%.*s", end, n, p->at);
    status = 2;
}

/* Run the commands of a whole text, up to a syntax error. */
static int run_text(const char *text)
{
    struct parser p = {.at = text};
    while (*p.at) {
        struct block *mark = blocks;
        const char *begin = p.at;
        struct node *n = parse_list(&p, false);
        if (p.incomplete)
            p.at = begin;
        if (stopped(&p))
            syntax_error(&p);
        else if (n)
            run_node(n);
        release(mark);
        if (stopped(&p))
            return status;
    }
    return status;
}

/* Say which background processes have ended. */
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

#define LINE_BYTES (64 << 10)

static i64 edited_line(char *line, bool first)
{
    char prompt[PATH_BYTES + 16] = "> ", cwd[PATH_BYTES];
    if (first) {
        reap();
        if (getcwd(cwd, sizeof cwd) < 0)
            strlcpy(cwd, "?", sizeof cwd);
        snprintf(prompt, sizeof prompt, "sluice:%s$ ", cwd);
    }
    i64 n = edit_line(prompt, line, LINE_BYTES, &history);
    if (n > 0 && strspn(line, " ") < (size_t)n)
        history_add(&history, line);
    return n;
}

/* A line of a file or a pipe: by bytes, for a command may read on. */
static i64 plain_line(char *line)
{
    i64 n = 0;
    char c = 0;
    while (c != '\n' && read(0, &c, 1) == 1) {
        if (n == LINE_BYTES - 1)
            diex("a line is longer than %d bytes", LINE_BYTES);
        if (c != '\n')
            line[n++] = c;
    }
    line[n] = 0;
    return n > 0 || c == '\n' ? n : EDIT_EOF;
}

/* Append a line to the text that lacks its end. */
static char *join_lines(char *text, const char *line)
{
    size_t have = text ? strlen(text) : 0, more = strlen(line);
    text = xrealloc(text, have + more + 2);
    memcpy(text + have, line, more);
    strlcpy(text + have + more, "\n", 2);
    return text;
}

/* Read a command that is complete and run it. False at the end of input. */
static bool run_input(void)
{
    static char line[LINE_BYTES];
    char *text = NULL;
    struct block *mark = blocks;
    struct parser p = {.at = ""};
    struct node *n;
    do {
        i64 got = interactive ? edited_line(line, !text) : plain_line(line);
        if (got == EDIT_CANCEL)
            status = 130;
        if (got == EDIT_EOF && text)
            syntax_error(&p);
        if (got < 0) {
            free(text);
            return got == EDIT_CANCEL;
        }
        text = join_lines(text, line);
        release(mark);
        p = (struct parser){.at = text};
        n = parse_list(&p, false);
    } while (p.incomplete);
    interrupted = false;
    if (p.wrong)
        syntax_error(&p);
    else if (n)
        run_node(n);
    release(mark);
    free(text);
    return true;
}

static const char usage[] = "sh [-e] [FILE [ARGUMENT...]]\n"
                            "       sh [-e] -c TEXT [NAME [ARGUMENT...]]";

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
    if (!text && param_count > 0) {
        text = read_text(params[0], NULL);
        if (!text) {
            warn("%s", params[0]);
            return errno == ENOENT ? 127 : 126;
        }
    }
    if (text)
        return run_text(text);
    interactive = isatty(0) && isatty(1);
    if (interactive) {
        setpgrp(0, 0);
        ioctl(0, TTY_RAW, 0);
        ioctl(0, TTY_FOREGROUND, getpid());
    }
    while (run_input())
        ;
    leave(status);
}
