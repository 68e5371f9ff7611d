/* Running a tree of commands. */
#include "user/sh/sh.h"

bool exit_on_error, interrupted;
int status;
u32 running_line;

static int tests;       /* > 0: a condition runs, which may fail */
static int loops;       /* depth of the running loops */
static int leaving;     /* how many running loops are being left ... */
static bool next_round; /* ... but the outermost of these continues */

/* ---- commands ---- */

static bool is_assignment(const char *word)
{
    size_t n = name_length(word);
    return n > 0 && word[n] == '=';
}

static bool assigns(const struct node *n)
{
    return n->words.count > 0 && is_assignment(n->words.at[0]);
}

/* The status is that of the last $( ), so that x=$(false) fails. */
static int assign(const struct strings *words)
{
    for (int i = 0; i < words->count; i++) {
        if (!is_assignment(words->at[i])) {
            complain("%s: there is no environment to pass variables in",
                     words->at[0]);
            return 2;
        }
    }
    output_status = 0;
    for (int i = 0; i < words->count; i++) {
        const char *word = words->at[i];
        size_t n = name_length(word);
        char *value = expand_one(word + n + 1);
        if (!value)
            return 1;
        variable_set(copy_text(word, n), value);
    }
    return output_status;
}

static int run_assignments(struct node *n)
{
    return assign(&n->words);
}

static const struct builtin *builtin_of(const struct node *n)
{
    return n->argv.count > 0 ? builtin_named(n->argv.at[0]) : NULL;
}

static int call_builtin(struct node *n)
{
    const struct builtin *builtin = builtin_of(n);
    return builtin ? builtin->fn(n->argv.count, n->argv.at) : output_status;
}

static int run_command(struct node *n)
{
    running_line = n->line;
    if (assigns(n))
        return with_redirects(n, run_assignments);
    output_status = 0;
    int result = 1;
    if (expand_words(&n->words, 0, &n->argv))
        result = n->argv.count == 0 || builtin_of(n)
                     ? with_redirects(n, call_builtin)
                     : run_job(n);
    n->argv = (struct strings){0};
    return result;
}

/* Replace this process by a program. */
static void NORETURN run_program(char **argv)
{
    if (strcmp(argv[0], "[") == 0)
        exec("/bin/test", argv);
    else
        execp(argv);
    int result = exec_status();
    complain("%s: %s", argv[0], exec_error(argv[0]));
    _exit(result);
}

/* Be the process of a command of a pipeline; never returns. */
void run_child(struct node *n)
{
    interactive = false;
    loops = 0;
    if (n->type == SUBSHELL) {
        if (!redirect(n->redirects))
            _exit(1);
        exit(n->left ? run_node(n->left) : 0);
    }
    if (n->type != COMMAND || assigns(n))
        exit(run_node(n));
    running_line = n->line;
    if (!n->argv.at && !expand_words(&n->words, 0, &n->argv))
        exit(1);
    if (!redirect(n->redirects))
        _exit(1);
    if (n->argv.count == 0 || builtin_of(n))
        exit(call_builtin(n));
    run_program(n->argv.at);
}

/* ---- compound commands ---- */

/* Run a condition: its failure is no error to set -e. */
static int run_test(struct node *n)
{
    tests++;
    int result = run_node(n);
    tests--;
    return result;
}

static bool stopping(void)
{
    return interrupted || leaving > 0;
}

bool leave_loops(int n, bool again)
{
    leaving = MIN(n, loops);
    next_round = again;
    return loops > 0;
}

bool check_interrupt(void)
{
    if (interactive && ioctl(console, TTY_INTERRUPTED, 0) > 0) {
        fprintf(stderr, "^C\n");
        interrupted = true;
        status = 130;
    }
    return interrupted;
}

/* After a round of a loop: true if the loop may continue. */
static bool goes_on(void)
{
    if (check_interrupt())
        return false;
    if (leaving == 0)
        return true;
    bool again = --leaving == 0 && next_round;
    return again;
}

/* Run the body while, or until, the test succeeds. Memory of each round is
 * released. */
static int run_while(struct node *n)
{
    int result = 0;
    bool more = true;
    loops++;
    while (more) {
        struct block *mark = newest_block();
        more = !run_test(n->left) == (n->type == WHILE) && !stopping();
        if (more)
            result = run_node(n->right);
        release(mark);
        more = goes_on() && more;
    }
    loops--;
    return interrupted ? status : result;
}

/* Run the body for each value; without `in`, for each parameter. */
static int run_for(struct node *n)
{
    struct strings values, all = {.at = (char *[]){"\"$@\"", NULL}, .count = 1};
    const char *name = n->words.at[0];
    int result = 0;
    running_line = n->line;
    if (!expand_words(n->in ? &n->words : &all, n->in, &values))
        return 1;
    loops++;
    for (int i = 0; i < values.count; i++) {
        struct block *mark = newest_block();
        variable_set(name, values.at[i]);
        result = run_node(n->right);
        release(mark);
        if (!goes_on())
            break;
    }
    loops--;
    return interrupted ? status : result;
}

/* Run the test, then the part that it chooses. Without one the status is 0. */
static int run_if(struct node *n)
{
    bool yes = run_test(n->left) == 0;
    if (stopping())
        return status;
    struct node *chosen = yes ? n->right : n->otherwise;
    return chosen ? run_node(chosen) : 0;
}

static int run_compound(struct node *n)
{
    switch (n->type) {
    case IF:
        return run_if(n);
    case WHILE:
    case UNTIL:
        return run_while(n);
    case FOR:
        return run_for(n);
    default:
        return run_node(n->left);
    }
}

/* ---- all of them ---- */

/* Under set -e, a failure that no condition tests ends the script. */
static int judge(int result)
{
    status = result;
    if (status && exit_on_error && tests == 0 && !interactive)
        leave(status);
    return status;
}

/* Run a list `a; b`. Its left side is often a list itself; a loop goes down
 * these, because a recursion could become too deep. */
static int run_list(struct node *n)
{
    int count = 0;
    for (struct node *p = n; p->type == THEN; p = p->left)
        count++;
    struct node **items = alloc((count + 1) * sizeof *items);
    for (int i = count; i >= 0; i--, n = n->left)
        items[i] = i > 0 ? n->right : n;
    for (int i = 0; i <= count && !stopping(); i++)
        run_node(items[i]);
    return status;
}

static bool is_either(const struct node *n)
{
    return n->type == AND || n->type == OR;
}

/* Run `a && b || c` by a loop, as run_list does. Each command except the last
 * is a condition, which may fail. */
static int run_either(struct node *n)
{
    int count = 0;
    for (struct node *p = n; is_either(p); p = p->left)
        count++;
    struct node **items = alloc(count * sizeof *items);
    for (int i = count - 1; i >= 0; i--, n = n->left)
        items[i] = n;
    status = run_test(n);
    for (int i = 0; i < count && !stopping(); i++) {
        if ((status == 0) != (items[i]->type == AND))
            continue;
        struct node *next = items[i]->right;
        status = i + 1 < count ? run_test(next) : run_node(next);
    }
    return status;
}

int run_node(struct node *n)
{
    switch (n->type) {
    case THEN:
        return run_list(n);
    case AND:
    case OR:
        return run_either(n);
    case NOT:
        return status = !run_test(n->left);
    case BACKGROUND:
        return status = run_background(n->left);
    case COMMAND:
        return judge(run_command(n));
    case PIPE:
    case SUBSHELL:
        return judge(run_job(n));
    default:
        return status = n->redirects ? with_redirects(n, run_compound)
                                     : run_compound(n);
    }
}
