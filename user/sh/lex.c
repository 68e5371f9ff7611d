/* Blanks, words and quotes of a command's text, and what is wrong with it. */
#include "user/sh/sh.h"

static const char delimiters[] = " \t\r\n;&|<>()";

struct parser parser_of(const char *text, u32 line)
{
    return (struct parser){.at = text, .counted = text, .line = line};
}

bool stopped(const struct parser *p)
{
    return p->incomplete || p->wrong;
}

/* Stop for this reason, unless the parser has stopped already. */
static void stop(struct parser *p, bool *how, const char *fmt, va_list args)
{
    if (!stopped(p))
        vsnprintf(p->why, sizeof p->why, fmt, args);
    *how = true;
}

void wrong(struct parser *p, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    stop(p, &p->wrong, fmt, args);
    va_end(args);
}

u32 line_here(struct parser *p)
{
    for (; p->counted < p->at; p->counted++)
        p->line += *p->counted == '\n';
    return p->line;
}

/* Skip blanks, comments, and line ends that a backslash hides. */
void skip_blanks(struct parser *p)
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

void skip_lines(struct parser *p)
{
    for (skip_blanks(p); *p->at == '\n'; skip_blanks(p))
        p->at++;
}

bool accept(struct parser *p, const char *text)
{
    skip_blanks(p);
    size_t n = strlen(text);
    if (strncmp(p->at, text, n) != 0)
        return false;
    p->at += n;
    return true;
}

bool at_word(struct parser *p, const char *word)
{
    skip_blanks(p);
    size_t n = strlen(word);
    return strncmp(p->at, word, n) == 0 && strchr(delimiters, p->at[n]);
}

bool accept_word(struct parser *p, const char *word)
{
    bool there = at_word(p, word);
    if (there)
        p->at += strlen(word);
    return there;
}

bool at_closing_word(struct parser *p)
{
    static const char *const words[] = {"then", "elif", "else", "fi",
                                        "do",   "done", "}"};
    for (u32 i = 0; i < NELEM(words); i++) {
        if (at_word(p, words[i]))
            return true;
    }
    return false;
}

static const char *part_end(const char *s, int depth);

/* The place after the " that ends the text at s; NULL if there is none. */
static const char *double_quotes_end(const char *s, int depth)
{
    while (s && *s && *s != '"')
        s = *s == '\'' ? s + 1 : part_end(s, depth);
    return s && *s ? s + 1 : NULL;
}

/* The place after the next part of a word: a byte, a quoted text or a $( ).
 * NULL if that part does not end. */
static const char *part_end(const char *s, int depth)
{
    switch (*s) {
    case '\\': /* the last line end must have a line behind it */
        return s[1] && (s[1] != '\n' || s[2]) ? s + 2 : NULL;
    case '\'':
        s = strchr(s + 1, '\'');
        return s ? s + 1 : NULL;
    case '"':
        return double_quotes_end(s + 1, depth);
    case '$':
        return s[1] == '(' ? paren_end(s + 1, depth + 1) : s + 1;
    }
    return s + 1;
}

/* Return where the ( at s ends, behind its ); NULL: it does not end. */
const char *paren_end(const char *s, int depth)
{
    if (depth > NESTING)
        return NULL;
    for (s++; s && *s && *s != ')';)
        s = *s == '(' ? paren_end(s, depth + 1) : part_end(s, depth);
    return s && *s ? s + 1 : NULL;
}

/* Stop: the text ends inside the part of a word that begins at s. */
static void unfinished(struct parser *p, const char *s)
{
    snprintf(p->why, sizeof p->why, "the text ends after an open %.*s",
             *s == '$' ? 2 : 1, s);
    p->incomplete = true;
}

/* Return the next word as it stands, with its quotes; NULL: there is none
 * here. */
char *parse_word(struct parser *p)
{
    skip_blanks(p);
    const char *s = p->at;
    while (*s && !strchr(delimiters, *s)) {
        const char *part = s;
        s = part_end(part, p->depth);
        if (!s) {
            unfinished(p, part);
            return NULL;
        }
    }
    if (s == p->at)
        return NULL;
    char *word = copy_text(p->at, s - p->at);
    p->at = s;
    return word;
}

const char *found_here(struct parser *p)
{
    static char text[40];
    skip_blanks(p);
    size_t n = strcspn(p->at, delimiters);
    if (!*p->at)
        return "the end";
    if (*p->at == '\n')
        return "the end of the line";
    n = n ? n : 1 + (p->at[1] == p->at[0]);
    snprintf(text, sizeof text, "`%.*s`", (int)MIN(n, 30), p->at);
    return text;
}
