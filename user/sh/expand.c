/*
 * Expansion of words: quotes are removed; variables, outputs of commands and
 * arithmetic are inserted; unquoted text is split at blanks and matched with
 * file names.
 */
#include "user/sh/sh.h"

/* The expansion of a word into fields. In `text`, the field that grows, a
 * backslash stands before each quoted byte that is special in a pattern. */
struct expansion {
    struct strings *out;
    bool split; /* into fields and file names; if not, into one text */
    bool quoted, any, pattern;
    bool failed; /* after an error, which was printed */
    char *text;
    size_t length, room;
};

/* Add a character to the field. A backslash goes before one that is special in
 * patterns and was quoted, so that it stands for itself. */
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
    bool in_set = c && strchr("]-!^", c); /* special only behind a [ */
    if (c == '\\' || ((special || in_set) && (x->quoted || !x->split)))
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

/* End the field: it becomes the files that it matches, or itself. */
static void end_field(struct expansion *x)
{
    if (!x->any)
        return;
    int before = x->out->count;
    const char *text = x->text ? x->text : "";
    if (x->pattern)
        glob(text, add_copy, x->out);
    if (x->out->count == before)
        add(x->out, without_backslashes(text));
    else
        sort(x->out, before);
    x->length = x->room = 0;
    x->text = NULL;
    x->any = x->pattern = false;
}

/* Add a variable's value. Outside quotes its blanks end fields. */
static void append_value(struct expansion *x, const char *value)
{
    for (; *value; value++) {
        if (x->split && !x->quoted && isspace(*value))
            end_field(x);
        else
            append(x, *value);
    }
}

static void append_number(struct expansion *x, i64 n)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%ld", n);
    append_value(x, digits);
}

/* $@ and $*. "$@" becomes one field for each parameter, and no field if there
 * are none. */
static void append_params(struct expansion *x, bool apart)
{
    for (int i = 1; i < param_count; i++) {
        x->any |= apart && x->quoted;
        append_value(x, params[i]);
        if (i + 1 < param_count)
            x->split && (apart || !x->quoted) ? end_field(x) : append(x, ' ');
    }
}

/* Add the value of a variable or of a parameter such as $1, $? or $@. */
static void append_variable(struct expansion *x, const char *name)
{
    if (isdigit(*name)) {
        u64 n = strtoul(name, NULL, 10); /* too many digits: the largest */
        return append_value(x, n < (u64)param_count ? params[n] : "");
    }
    switch (*name) {
    case '?':
        return append_number(x, status);
    case '$':
        return append_number(x, getpid());
    case '!':
        return append_number(x, background_pid);
    case '#':
        return append_number(x, MAX(param_count - 1, 0));
    case '@':
    case '*':
        return append_params(x, *name == '@');
    }
    append_value(x, variable_value(name));
}

static const char *fail(struct expansion *x, const char *s)
{
    x->failed = true;
    return s + strlen(s);
}

/* Expand $((...)) from its first parenthesis, at s, to `end`. */
static const char *expand_arithmetic(struct expansion *x, const char *s,
                                     const char *end)
{
    i64 n;
    char *text = expand_one(copy_text(s + 2, end - s - 4));
    if (!text || !arithmetic(text, &n))
        return fail(x, s);
    append_number(x, n);
    return end;
}

/* Expand $(...); s is after its parenthesis. Returns the place after it. */
static const char *expand_output(struct expansion *x, const char *s)
{
    struct parser p = parser_of(s, running_line);
    struct node *list = parse_list(&p, UNTIL_PAREN);
    if (stopped(&p)) {
        complain("syntax error inside $( ): %s", p.why);
        return fail(x, s);
    }
    bool quoted = x->quoted;
    char *text = list ? output_of(list) : "";
    if (!text)
        return fail(x, s);
    x->quoted = quoted;
    append_value(x, text);
    return p.at;
}

/* True if the parenthesis at s begins $((...)): another one follows, and two
 * close. *end is set to the character behind. */
static bool is_arithmetic(const char *s, const char **end)
{
    *end = s[1] == '(' ? paren_end(s, 0) : NULL;
    return *end && (*end)[-2] == ')' && *end - s >= 4;
}

/* Append the value of the expansion whose $ is before s. Returns the place
 * after it. */
static const char *expand_dollar(struct expansion *x, const char *s)
{
    const char *end;
    if (*s == '(')
        return is_arithmetic(s, &end) ? expand_arithmetic(x, s, end)
                                      : expand_output(x, s + 1);
    bool braces = *s == '{';
    const char *name = s + braces;
    size_t n = *name && strchr("?$!#@*", *name) ? 1 : name_length(name);
    if (isdigit(*name))
        n = braces ? strspn(name, "0123456789") : 1;
    if (braces && (n == 0 || name[n] != '}')) {
        complain("%.20s: of ${...} only ${NAME} is known", s - 1);
        return fail(x, s);
    }
    if (n == 0) {
        append(x, '$');
        return s;
    }
    append_variable(x, copy_text(name, n));
    return name + n + braces;
}

/* True if the quoted part at s is "$@" alone, which may become no field. */
static bool is_all_params(const char *s)
{
    return strncmp(s, "\"$@\"", 4) == 0 || strncmp(s, "\"${@}\"", 6) == 0;
}

/* True if a quote begins or ends at s. `quote`, the open one or 0, follows. */
static bool is_quote(struct expansion *x, const char *s, char *quote)
{
    if (*quote ? *s != *quote : *s != '\'' && *s != '"')
        return false;
    x->any |= !*quote && !(x->split && is_all_params(s));
    *quote = *quote ? 0 : *s;
    return true;
}

/* Expand a word into fields: quotes, backslashes and $ are replaced. */
static void expand(struct expansion *x, const char *s)
{
    char quote = 0;
    while (*s) {
        bool taken = quote != '\''; /* $ and \ are special here */
        x->quoted = quote;
        if (is_quote(x, s, &quote)) {
            s++;
        } else if (taken && *s == '$') {
            s = expand_dollar(x, s + 1);
        } else if (taken && *s == '`') {
            complain("`command` is not known: write $(command)");
            s = fail(x, s);
        } else if (taken && *s == '\\' &&
                   (!quote || strchr("\\\"$`\n", s[1]))) {
            x->quoted = true;
            if (*++s != '\n')
                append(x, *s);
            s += *s != 0;
        } else {
            append(x, *s++);
        }
    }
    end_field(x);
}

/* Expand words from number `from` on into `out`. False: a message says what is
 * wrong. */
bool expand_words(const struct strings *words, int from, struct strings *out)
{
    *out = (struct strings){0};
    for (int i = from; i < words->count; i++) {
        struct expansion x = {.out = out, .split = true};
        expand(&x, words->at[i]);
        if (x.failed)
            return false;
    }
    return true;
}

char *expand_one(const char *word)
{
    struct strings out = {0};
    struct expansion x = {.out = &out, .any = true};
    expand(&x, word);
    return x.failed ? NULL : out.at[0];
}
