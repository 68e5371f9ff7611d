/*
 * Completion of the word before the cursor: by a command where one is
 * expected, after `cd` by a directory, else by a file.
 */
#include "user/sh/sh.h"

/* The context of the word at the cursor, by the line in front of it. */
struct place {
    char *word;   /* up to the cursor, without quotes */
    size_t n;     /* bytes of the word */
    char quote;   /* the quote that is open, or 0 */
    bool in_word; /* a word has begun; it may be empty, as '' is */
    bool command; /* a command is expected */
    bool target;  /* a redirection's file is expected */
    bool cd;      /* the command is cd */
};

/* True for reserved words that a command follows. */
static bool precedes_command(const char *word)
{
    static const char *const words[] = {"if",    "then",  "elif", "else", "do",
                                        "until", "while", "!",    "{"};
    for (u32 i = 0; i < NELEM(words); i++) {
        if (strcmp(word, words[i]) == 0)
            return true;
    }
    return false;
}

/* End a word, if there is one, and note whether a command comes next. */
static void end_word(struct place *p)
{
    if (!p->in_word)
        return;
    p->word[p->n] = 0;
    if (p->command) {
        p->cd = strcmp(p->word, "cd") == 0;
        p->command = precedes_command(p->word);
    }
    p->target = p->in_word = false;
    p->n = 0;
}

static void put(struct place *p, char c)
{
    p->word[p->n++] = c;
    p->in_word = true;
}

/* Take a byte that is not quoted. */
static void plain(struct place *p, char c)
{
    if (c == '\'' || c == '"') {
        p->quote = c;
        p->in_word = true;
    } else if (strchr(" \t;&|()<>", c)) {
        end_word(p);
        if (strchr(";&|(", c))
            p->command = true, p->cd = false;
        else if (c == '<' || c == '>')
            p->target = true;
    } else {
        put(p, c);
    }
}

/* Return what the cursor is in: the word so far, its quote, and whether it is a
 * command. */
static struct place find_place(const char *line, size_t cursor)
{
    struct place p = {.word = alloc(cursor + 1), .command = true};
    for (size_t i = 0; i < cursor; i++) {
        bool next = i + 1 < cursor;
        if (line[i] == '\\' && p.quote != '\'' && next)
            put(&p, line[++i]);
        else if (p.quote && line[i] == p.quote)
            p.quote = 0;
        else if (p.quote)
            put(&p, line[i]);
        else
            plain(&p, line[i]);
    }
    p.word[p.n] = 0;
    return p;
}

static bool is_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Add the names in a directory that begin with `begin`, directories with a
 * slash at the end. */
static void add_files(struct strings *names, const char *dir, const char *begin,
                      bool directories)
{
    char path[PATH_BYTES];
    size_t n = strlen(begin);
    DIR *d = opendir(dir);
    if (!d)
        return;
    for (struct dirent *e; (e = readdir(d));) {
        bool hidden = e->name[0] == '.' && *begin != '.';
        if (hidden || is_dot(e->name) || strncmp(e->name, begin, n) != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", dir, e->name);
        bool has_slash = is_directory(path);
        if (directories && !has_slash)
            continue;
        char *name = alloc(e->name_len + 2);
        memcpy(name, e->name, e->name_len);
        name[e->name_len] = has_slash ? '/' : 0;
        add(names, name);
    }
    closedir(d);
}

static void add_builtins(struct strings *names, const char *begin)
{
    for (u32 i = 0; i < builtin_count; i++) {
        const char *name = builtins[i].name;
        if (strncmp(name, begin, strlen(begin)) == 0)
            add(names, copy_text(name, strlen(name)));
    }
}

/* Return the names that could complete the word at the cursor: builtins and
 * programs for a command, else files of the word's directory. */
struct completion complete(const char *line, size_t cursor)
{
    struct place p = find_place(line, cursor);
    struct completion c = {.quote = p.quote};
    char *slash = strrchr(p.word, '/');
    const char *begin = slash ? slash + 1 : p.word;
    c.typed = strlen(begin);
    if (p.command && !p.target && !slash) {
        add_builtins(&c.names, begin);
        add_files(&c.names, "/bin", begin, false);
    } else {
        const char *dir = !slash ? "." : slash == p.word ? "/" : p.word;
        char *from =
            copy_text(dir, slash && slash != p.word ? (size_t)(slash - p.word)
                                                    : strlen(dir));
        add_files(&c.names, from, begin, p.cd && !p.target);
    }
    if (c.names.count > 0)
        sort(&c.names, 0);
    return c;
}
