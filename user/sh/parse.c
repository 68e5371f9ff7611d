/*
 * Parse a text into a tree of nodes. A parser stops when the text is wrong or
 * ends too soon. Then its position no longer changes, and callers ignore the
 * results of its functions.
 */
#include "user/sh/sh.h"

static struct node *new_node(enum node_type type, struct node *left,
                             struct node *right)
{
    struct node *n = alloc(sizeof *n);
    n->type = type;
    n->left = left;
    n->right = right;
    return n;
}

/* Stop: the text ends where more must come. */
static void too_short(struct parser *p, const char *fmt, const char *word,
                      u32 line)
{
    if (p->wrong)
        return;
    if (!*p->why)
        snprintf(p->why, sizeof p->why, fmt, word, line);
    p->incomplete = true;
}

/* ---- redirections ---- */

/* Parse [digit]<file, >file, >>file or >&digit; false if none comes next. */
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
    if (r->how == '<' && *s == '<')
        wrong(p, "here-documents (<<) are not known; use echo and |");
    r->word = parse_word(p);
    if (!r->word && !stopped(p))
        wrong(p, "expected a file name, found %s", found_here(p));
    **end = r;
    *end = &r->next;
    return true;
}

static void parse_redirects(struct parser *p, struct node *n)
{
    struct redirect **end = &n->redirects;
    while (!stopped(p) && parse_redirect(p, &end))
        ;
}

/* ---- compound commands ---- */

/* The commands up to the next reserved word. */
static struct node *parse_part(struct parser *p)
{
    struct node *list = parse_list(p, UNTIL_RESERVED);
    if (!list && !stopped(p))
        wrong(p, "expected a command, found %s", found_here(p));
    return list;
}

/* Go over a word that a command begun with `of` in this line must have. */
static void expect_word(struct parser *p, const char *word, const char *of,
                        u32 line)
{
    char missing[40];
    snprintf(missing, sizeof missing, "`%s` of the `%s`", word, of);
    if (p->incomplete && !*p->why)
        too_short(p, "the text ends without the %s of line %u", missing, line);
    else if (!stopped(p) && !accept_word(p, word))
        wrong(p, "expected the %s of line %u, found %s", missing, line,
              found_here(p));
}

/* Parse behind `if` or `elif`, to the `fi`. An elif is an IF in `otherwise`.
 * line: where the `if` is. */
static struct node *parse_if(struct parser *p, u32 line)
{
    struct node *n = new_node(IF, parse_part(p), NULL);
    expect_word(p, "then", "if", line);
    n->right = parse_part(p);
    if (!stopped(p) && accept_word(p, "elif")) {
        n->otherwise = parse_if(p, line);
        return n;
    }
    if (!stopped(p) && accept_word(p, "else"))
        n->otherwise = parse_part(p);
    expect_word(p, "fi", "if", line);
    return n;
}

/* do list done */
static struct node *parse_body(struct parser *p, const char *of, u32 line)
{
    expect_word(p, "do", of, line);
    struct node *body = parse_part(p);
    expect_word(p, "done", of, line);
    return body;
}

static struct node *parse_while(struct parser *p, enum node_type type, u32 line)
{
    const char *of = type == WHILE ? "while" : "until";
    struct node *n = new_node(type, parse_part(p), NULL);
    n->right = parse_body(p, of, line);
    return n;
}

/* The values of a for, up to the end of the line or a semicolon. */
static void parse_values(struct parser *p, struct node *n)
{
    char *word;
    while (!stopped(p) && (word = parse_word(p)))
        add(&n->words, word);
    skip_blanks(p);
    if (!stopped(p) && *p->at && *p->at != ';' && *p->at != '\n')
        wrong(p, "expected `;` before the `do`, found %s", found_here(p));
}

/* Parse behind `for`, to the `done`. Without `in` the loop goes over the
 * parameters. */
static struct node *parse_for(struct parser *p, u32 line)
{
    struct node *n = new_node(FOR, NULL, NULL);
    char *name = parse_word(p);
    if (!stopped(p) && (!name || name[name_length(name)]))
        wrong(p, "expected the name of a variable behind `for`");
    add(&n->words, name);
    n->in = !stopped(p) && accept_word(p, "in");
    if (n->in)
        parse_values(p, n);
    accept(p, ";");
    skip_lines(p);
    if (!*p->at)
        too_short(p, "the text ends without the `%s` of the `for` of line %u",
                  "do", line);
    n->right = parse_body(p, "for", line);
    return n;
}

static struct node *parse_parens(struct parser *p, u32 line)
{
    struct node *n = new_node(SUBSHELL, parse_list(p, UNTIL_PAREN), NULL);
    if (p->incomplete && !*p->why)
        too_short(p, "the text ends without the `%s` of line %u", ")", line);
    return n;
}

static struct node *parse_group(struct parser *p, u32 line)
{
    struct node *n = new_node(GROUP, parse_part(p), NULL);
    expect_word(p, "}", "{", line);
    return n;
}

/* Parse a command that begins with a reserved word or a parenthesis. Returns
 * NULL if none begins here. */
static struct node *parse_compound(struct parser *p)
{
    u32 line = line_here(p);
    if (accept_word(p, "if"))
        return parse_if(p, line);
    if (accept_word(p, "while"))
        return parse_while(p, WHILE, line);
    if (accept_word(p, "until"))
        return parse_while(p, UNTIL, line);
    if (accept_word(p, "for"))
        return parse_for(p, line);
    if (accept_word(p, "{"))
        return parse_group(p, line);
    return accept(p, "(") ? parse_parens(p, line) : NULL;
}

/* ---- commands ---- */

/* Parse words and redirections up to an operator or the end of the line. */
static struct node *parse_simple(struct parser *p)
{
    struct node *n = new_node(COMMAND, NULL, NULL);
    struct redirect **end = &n->redirects;
    if (at_closing_word(p))
        wrong(p, "found %s without its beginning", found_here(p));
    while (!stopped(p)) {
        if (parse_redirect(p, &end))
            continue;
        char *word = parse_word(p);
        if (!word)
            break;
        add(&n->words, word);
    }
    if (!stopped(p) && n->words.count == 0 && !n->redirects)
        wrong(p, "expected a command, found %s", found_here(p));
    return n;
}

/* Parse a compound command with its redirections, or else a simple one. */
static struct node *parse_command(struct parser *p)
{
    skip_blanks(p);
    u32 line = line_here(p);
    if (++p->depth > NESTING)
        wrong(p, "nested more than %d deep", NESTING);
    struct node *n = stopped(p) ? NULL : parse_compound(p);
    if (n)
        parse_redirects(p, n);
    else
        n = parse_simple(p);
    n->line = line;
    p->depth--;
    return n;
}

/* The command after an operator may begin on the next line. */
static void expect_more(struct parser *p, const char *operator)
{
    skip_lines(p);
    if (!*p->at)
        too_short(p, "the text ends after the `%s` of line %u", operator,
                  line_here(p));
}

/* Parse commands with | between them, perhaps with a ! in front. */
static struct node *parse_pipeline(struct parser *p)
{
    bool not = accept_word(p, "!");
    struct node *n = parse_command(p);
    while (!stopped(p)) {
        skip_blanks(p);
        if (p->at[0] != '|' || p->at[1] == '|')
            break;
        p->at++;
        expect_more(p, "|");
        if (!stopped(p))
            n = new_node(PIPE, n, parse_command(p));
    }
    return not ? new_node(NOT, n, NULL) : n;
}

/* Parse pipelines with && and || between them, from the left; neither binds
 * more closely. */
static struct node *parse_and_or(struct parser *p)
{
    struct node *n = parse_pipeline(p);
    while (!stopped(p)) {
        bool and = accept(p, "&&");
        if (!and&&!accept(p, "||"))
            break;
        expect_more(p, and? "&&" : "||");
        if (!stopped(p))
            n = new_node(and? AND : OR, n, parse_pipeline(p));
    }
    return n;
}

/* Return whether the text here ends what is parsed: a line's end, a ), or a
 * word that ends a part. */
static bool at_end(struct parser *p, enum until until)
{
    switch (until) {
    case UNTIL_LINE_END:
        return *p->at == '\n';
    case UNTIL_PAREN:
        return *p->at == ')';
    case UNTIL_RESERVED:
        return at_closing_word(p);
    }
    return true;
}

/* Parse a command of a list and the separator after it. */
static struct node *parse_item(struct parser *p)
{
    struct node *n = parse_and_or(p);
    if (stopped(p))
        return NULL;
    if (accept(p, "&"))
        return new_node(BACKGROUND, n, NULL);
    if (!accept(p, ";") && *p->at && *p->at != '\n' && *p->at != ')' &&
        !at_closing_word(p))
        wrong(p, "expected the end of the command, found %s", found_here(p));
    return n;
}

/* Parse commands up to the end that is wanted, which is skipped unless it is a
 * reserved word. */
struct node *parse_list(struct parser *p, enum until until)
{
    struct node *list = NULL;
    for (;;) {
        until == UNTIL_LINE_END ? skip_blanks(p) : skip_lines(p);
        if (until != UNTIL_LINE_END && !*p->at && !stopped(p))
            p->incomplete = true;
        if (stopped(p) || !*p->at || at_end(p, until))
            break;
        struct node *n = parse_item(p);
        if (stopped(p))
            break;
        list = list ? new_node(THEN, list, n) : n;
    }
    if (!stopped(p) && *p->at && until != UNTIL_RESERVED)
        p->at++;
    return list;
}
