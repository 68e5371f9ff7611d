/*
 * sh: the shell. What its parts share.
 *
 * - main.c      options, and the three sources of commands
 *   input.c     reads commands: from the console, a file or a text
 *   lex.c       blanks, words, quotes; where and why a text is wrong
 *   parse.c     makes a tree of nodes of a text
 *   expand.c    a word as typed becomes fields; arith.c: $(( ))
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

#define LINE_BYTES   (64 << 10) /* most of a line that is read */
#define OUTPUT_BYTES (1 << 20)  /* most that $( ) takes in */
#define NESTING      100        /* most levels of ( ), if, while ... */

/* ---- memory (memory.c) ---- */

/* Zeroed memory that lives until release(); the program ends if there is
 * none. */
void *alloc(size_t n);
/* What is newest now, for release(). */
struct block *newest_block(void);
/* Free what was allocated since `mark` was the newest. */
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
    int fd;     /* to be replaced */
    char how;   /* < > a (append) & (duplicate) */
    char *word; /* file, or number of the descriptor */
};

struct node {
    enum node_type type;
    u32 line; /* where it begins */
    struct node *left, *right, *otherwise;
    struct strings words;       /* COMMAND, FOR: as typed */
    struct strings argv;        /* COMMAND: expanded, while it runs */
    struct redirect *redirects; /* COMMAND and compound commands */
    bool in;                    /* FOR: there are values, not "$@" */
};

struct parser {
    const char *at;
    const char *counted; /* the line number of this place ... */
    u32 line;            /* ... is this */
    int depth;           /* of nesting */
    bool incomplete;     /* the text ends where more must come */
    bool wrong;
    char why[120]; /* if either, in words */
};

enum until { UNTIL_LINE_END, UNTIL_PAREN, UNTIL_RESERVED };

struct parser parser_of(const char *text, u32 line);
/* The commands up to the end of the line, a closing parenthesis (and over
 * it), or a reserved word that closes. NULL: none, or p has stopped. */
struct node *parse_list(struct parser *, enum until);

bool stopped(const struct parser *);
void wrong(struct parser *, const char *fmt, ...) PRINTF(2, 3);
u32 line_here(struct parser *);
void skip_blanks(struct parser *); /* and continued line ends, comments */
void skip_lines(struct parser *);  /* and line ends */
bool accept(struct parser *, const char *text);
/* Is there this word, unquoted, and then its end? accept_word: go over it. */
bool at_word(struct parser *, const char *word);
bool accept_word(struct parser *, const char *word);
/* Is there a reserved word that only closes or goes on: then, fi, done ...? */
bool at_closing_word(struct parser *);
/* A word as typed, or NULL if there is none here. */
char *parse_word(struct parser *);
/* What is found here, for a message; in a buffer that the next call uses. */
const char *found_here(struct parser *);
/* Behind the ) that belongs to the ( at s; NULL if there is none. */
const char *paren_end(const char *s, int depth);

/* ---- words and variables (variables.c, expand.c, arith.c) ---- */

extern char **params; /* $0, $1 ... NULL */
extern int param_count;

const char *variable_value(const char *name); /* "": there is none */
void variable_set(const char *name, const char *value);
void print_variables(void);
size_t name_length(const char *); /* of the variable's name here, or 0 */
void shift_params(int n);         /* at most as many as there are */

/* The fields that words become, those from `from` on, and the one text that a
 * word becomes. False, or NULL, and a message if something in one is wrong. */
bool expand_words(const struct strings *words, int from, struct strings *out);
char *expand_one(const char *word);
/* The value of an expression; false and a message if it is none. */
bool arithmetic(const char *text, i64 *value);

/* ---- running (run.c, jobs.c) ---- */

extern bool interactive, exit_on_error;
extern int console;      /* a descriptor of it, whatever 0 is; if interactive */
extern bool interrupted; /* by ^C: leave what runs */
extern int status;       /* $? */
extern int output_status;  /* of the last $( ) */
extern int background_pid; /* $!: the newest background process */
extern u32 running_line;   /* of the command that runs, in its text */
extern const char *script; /* name of the text; NULL: the console */

int run_node(struct node *);
/* Leave n loops, or (again) go on with the next round of the last of them.
 * False outside of loops. */
bool leave_loops(int n, bool again);
/* Was ^C typed while no job runs? Then it is said, and interrupted is set. */
bool check_interrupt(void);

/* The status of these commands as one job in the foreground: a pipeline, a
 * subshell, a program. */
int run_job(struct node *);
int run_background(struct node *);
/* What commands print, without line ends at its end; NULL after a message. */
char *output_of(struct node *);
/* In a child: run the node, which is all that the child is for. */
void run_child(struct node *) NORETURN;

/* A duplicate that no redirection of one digit can hit. */
int dup_high(int fd);
bool redirect(const struct redirect *);
/* Call act(n) with n's redirections, then put the descriptors back. */
int with_redirects(struct node *n, int (*act)(struct node *));

int exit_status(int waited);
void leave(int status) NORETURN;
/* warnx, with the script's name and the line before the message. */
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

/* Run the commands of a whole text, up to a syntax error. */
int run_text(const char *name, const char *text);
/* Read a command that is complete and run it. False at the end of input. */
bool run_input(void);
/* A line of descriptor 0 into line[LINE_BYTES], by bytes. */
i64 plain_line(char *line);

/* Read a line, without its newline, into line[n]; the console must be in raw
 * mode. Its length, EDIT_EOF at ^D on an empty line, EDIT_CANCEL at ^C. */
#define EDIT_EOF    (-1)
#define EDIT_CANCEL (-2)
i64 edit_line(const char *prompt, char *line, size_t n);

#define HISTORY_LINES 100
struct history {
    char *line[HISTORY_LINES]; /* oldest first */
    int count;
};
extern struct history history;
void history_add(const char *line);

/* What the word before the cursor can become. */
struct completion {
    struct strings names; /* whole names of the candidates, sorted */
    size_t typed;         /* bytes of each that are typed already */
    char quote;           /* the word is inside these quotes; or 0 */
};
struct completion complete(const char *line, size_t cursor);

#endif
