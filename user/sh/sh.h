/*
 * sh: the shell. What its parts share.
 *
 * - main.c      options, and the three sources of commands
 *   input.c     reads commands: from the console, a file or a text
 *   lex.c       blanks, words, quotes; where and why a text is wrong
 *   parse.c     turns the text into a tree of nodes
 *   expand.c    turns a word as typed into fields; arith.c: $(( ))
 *   variables.c variables and parameters
 *   run.c       runs a tree; jobs.c starts processes and redirects
 *   builtins.c  commands that the shell itself carries out
 *   line.c      edits a line at the console; complete.c: Tab; history.c
 *   memory.c    memory that lives for one command
 * - Grammar:  list     = and_or { (; | & | newline) and_or }
 *             and_or   = pipeline { (&& | ||) pipeline }
 *             pipeline = [!] command { | command }
 *             command  = { word | redirection } | compound { redirection }
 *             compound = ( list ) | { list; } | if list; then list;
 *                        [elif list; then list;] [else list;] fi
 *                      | (while | until) list; do list; done
 *                      | for NAME [in words]; do list; done
 * - A word is kept as typed until its command runs.
 * - With a console the shell is interactive: it edits lines, the console is
 *   raw except while a foreground job runs, and each job is a process group,
 *   so that ^C ends the job alone.
 * - There is no environment: variables are the shell's own.
 */
#ifndef SLUICE_SH_H
#define SLUICE_SH_H

#include "user/lib.h"

#define LINE_BYTES   (64 << 10) /* the longest line that is read */
#define OUTPUT_BYTES (1 << 20)  /* the most output that $( ) takes */
#define NESTING      100 /* the deepest of ( ), if ..., and of files run */

/* ---- memory (memory.c) ---- */

/* Zeroed memory that lives until release(); the program ends if there is
 * none. */
void *alloc(size_t n);
/* The newest allocation; release() frees back to it. */
struct block *newest_block(void);
/* Free everything that was allocated after `mark`. */
void release(struct block *mark);
char *copy_text(const char *from, size_t n);

/* A list of strings that ends in NULL. */
struct strings {
    char **at;
    int count, room;
};
void add(struct strings *, char *);
void sort(struct strings *, int from); /* those from `from` on, by text */

/* ---- parsing (lex.c, parse.c) ---- */

enum node_type {
    COMMAND,
    SUBSHELL, /* ( left ) */
    GROUP,    /* { left } */
    IF,       /* left; then right; else otherwise */
    WHILE,    /* left; do right */
    UNTIL,
    FOR, /* words: the variable and the values; do right */
    PIPE,
    NOT,
    AND,
    OR,
    THEN, /* left; right */
    BACKGROUND
};

struct redirect {
    struct redirect *next;
    int fd;     /* the descriptor that is replaced */
    char how;   /* < > a (append) & (duplicate) */
    char *word; /* the file, or the number of a descriptor */
};

struct node {
    enum node_type type;
    u32 line; /* the line of the text where it begins */
    struct node *left, *right, *otherwise;
    struct strings words;       /* COMMAND, FOR: as typed */
    struct strings argv;        /* COMMAND: expanded, while it runs */
    struct redirect *redirects; /* COMMAND and compound commands */
    bool in;                    /* FOR: values are given; if not, "$@" */
};

struct parser {
    const char *at;
    const char *counted; /* the line number of this place ... */
    u32 line;            /* ... is this */
    int depth;           /* of nesting */
    bool incomplete;     /* the text ends where more must come */
    bool wrong;
    char why[120]; /* the reason, if incomplete or wrong */
};

enum until { UNTIL_LINE_END, UNTIL_PAREN, UNTIL_RESERVED };

struct parser parser_of(const char *text, u32 line);
/* Parse the commands up to the end of the line, a closing parenthesis (which
 * is consumed), or a closing reserved word. NULL if there are none, or if the
 * parser has stopped. */
struct node *parse_list(struct parser *, enum until);

bool stopped(const struct parser *);
void wrong(struct parser *, const char *fmt, ...) PRINTF(2, 3);
u32 line_here(struct parser *);
void skip_blanks(struct parser *); /* also continued lines, comments */
void skip_lines(struct parser *);  /* also line ends */
bool accept(struct parser *, const char *text);
/* True if this word comes next, unquoted; accept_word also consumes it. */
bool at_word(struct parser *, const char *word);
bool accept_word(struct parser *, const char *word);
/* True if a word comes next that continues or closes a compound command:
 * then, elif, else, fi, do, done, }. */
bool at_closing_word(struct parser *);
/* The word that comes next, as typed; NULL if none does. */
char *parse_word(struct parser *);
/* The text that comes next, for a message. The next call overwrites it. */
const char *found_here(struct parser *);
/* The place after the ) that matches the ( at s; NULL if there is none. */
const char *paren_end(const char *s, int depth);

/* ---- words and variables (variables.c, expand.c, arith.c) ---- */

extern char **params; /* $0, $1 ... NULL */
extern int param_count;

const char *variable_value(const char *name); /* "" if it is not set */
void variable_set(const char *name, const char *value);
void print_variables(void);
size_t name_length(const char *); /* of the name that begins here, or 0 */
void shift_params(int n);         /* n <= param_count - 1 */

/* expand_words expands the words from index `from` on into fields; expand_one
 * expands one word into one text. After an error they print a message and
 * return false, or NULL. */
bool expand_words(const struct strings *words, int from, struct strings *out);
char *expand_one(const char *word);
/* Evaluate an expression. Prints a message and returns false if it is wrong. */
bool arithmetic(const char *text, i64 *value);

/* ---- running (run.c, jobs.c) ---- */

extern bool interactive, exit_on_error;
extern int console;        /* if interactive: a descriptor of the console */
extern bool interrupted;   /* by ^C: end the running commands */
extern int status;         /* $? */
extern int output_status;  /* of the last $( ) */
extern int background_pid; /* $!: the newest background process */
extern u32 running_line;   /* line of the running command in its text */
extern const char *script; /* name of the text; NULL: the console */

int run_node(struct node *);
/* Leave the n innermost loops; with `again`, the outermost of these continues
 * with its next round. False outside of loops. */
bool leave_loops(int n, bool again);
/* True after a ^C: also one that was typed while no job ran, which is printed
 * here. */
bool check_interrupt(void);

/* Run a pipeline, a subshell or a program as one job in the foreground; its
 * status. */
int run_job(struct node *);
int run_background(struct node *);
/* Run commands and return their output without its last line ends. NULL after
 * an error, which is printed. */
char *output_of(struct node *);
/* Run the node in a child process and exit with its status. */
void run_child(struct node *) NORETURN;

/* Duplicate fd to a number above 9, which no redirection names. */
int dup_high(int fd);
bool redirect(const struct redirect *);
/* Call act(n) with n's redirections, then put the descriptors back. */
int with_redirects(struct node *n, int (*act)(struct node *));

int exit_status(int waited);
void leave(int status) NORETURN;
/* Like warnx, but names the script and the line first. */
void complain(const char *fmt, ...) PRINTF(1, 2);

/* ---- builtins (builtins.c) ---- */

struct builtin {
    const char *name;
    int (*fn)(int argc, char **argv);
    const char *usage, *about;
};
const struct builtin *builtin_named(const char *name);
extern const struct builtin builtins[];
extern const u32 builtin_count;

/* ---- input (input.c, line.c, history.c, complete.c) ---- */

/* Run the commands of a text; a syntax error ends it. */
int run_text(const char *name, const char *text);
/* Read one complete command and run it. False at the end of input. */
bool run_input(void);
/* Read a line from descriptor 0 into line[LINE_BYTES], byte by byte. Its
 * length, EDIT_EOF, EDIT_FAILED with errno set, or EDIT_TOO_LONG: then line is
 * empty, and the input goes on after that line. */
i64 plain_line(char *line);

/* Read a line, without its newline, into line[n]; the console must be in raw
 * mode. Its length, EDIT_EOF at ^D on an empty line, EDIT_CANCEL at ^C. */
#define EDIT_EOF      (-1)
#define EDIT_CANCEL   (-2)
#define EDIT_TOO_LONG (-3)
#define EDIT_FAILED   (-4)
i64 edit_line(const char *prompt, char *line, size_t n);

#define HISTORY_LINES 100
struct history {
    char *line[HISTORY_LINES]; /* oldest first */
    int count;
};
extern struct history history;
void history_add(const char *line);

/* How the word before the cursor can be completed. */
struct completion {
    struct strings names; /* of the candidates, whole and sorted */
    size_t typed;         /* bytes of each name that are typed already */
    char quote;           /* the quote that is open at the cursor, or 0 */
};
struct completion complete(const char *line, size_t cursor);

#endif
