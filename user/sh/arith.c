/*
 * $(( )): arithmetic with whole numbers of 64 bits.
 *
 * - Operators, the loosest first: ||, &&, == !=, < <= > >=, + -, * / %, then
 *   - + ! before a value. A comparison gives 1 or 0. Parentheses.
 * - A name stands for its variable; an unset or empty one is 0.
 */
#include "user/sh/sh.h"

struct expression {
    const char *at;
    int depth;
    const char *wrong; /* why there is no value */
};

static const struct operator
{
    const char *text;
    int level;
}
operators[] = {
    /* an operator comes before its own prefixes */
    {"||", 1}, {"&&", 2}, {"==", 3}, {"!=", 3}, {"<=", 4}, {">=", 4}, {"<", 4},
    {">", 4},  {"+", 5},  {"-", 5},  {"*", 6},  {"/", 6},  {"%", 6},
};
#define LEVELS 6

static i64 level(struct expression *, int level);

static void skip(struct expression *s)
{
    s->at += strspn(s->at, " \t\r\n");
}

/* Return a / b or the rest. The least number divided by -1 has no result in 64
 * bits: it stays. */
static i64 divide(struct expression *s, i64 a, i64 b, bool rest)
{
    if (b == 0)
        s->wrong = "division by 0";
    if (b == 0 || b == -1) /* the least number has no negative */
        return rest ? 0 : (i64)(0 - (u64)a);
    return rest ? a % b : a / b;
}

/* Arithmetic wraps around at 64 bits. */
static i64 apply(struct expression *s, const char *op, i64 a, i64 b)
{
    u64 x = a, y = b;
    switch (op[0]) {
    case '|':
        return a || b;
    case '&':
        return a && b;
    case '=':
        return a == b;
    case '!':
        return a != b;
    case '<':
        return op[1] ? a <= b : a < b;
    case '>':
        return op[1] ? a >= b : a > b;
    case '+':
        return (i64)(x + y);
    case '-':
        return (i64)(x - y);
    case '*':
        return (i64)(x * y);
    }
    return divide(s, a, b, op[0] == '%');
}

static i64 number(struct expression *s, const char *text, char **end)
{
    errno = 0;
    i64 n = strtol(text, end, 10);
    if (*end == text)
        s->wrong = "a number is missing";
    else if (errno)
        s->wrong = "a number exceeds 64 bits";
    return n;
}

/* Return the number that a variable holds, 0 if it is empty. */
static i64 variable(struct expression *s)
{
    size_t n = name_length(s->at);
    const char *value = variable_value(copy_text(s->at, n));
    char *end = (char *)value;
    i64 result = *value ? number(s, value, &end) : 0;
    if (*end)
        s->wrong = "a variable is no number";
    s->at += n;
    return result;
}

static i64 in_parens(struct expression *s)
{
    s->at++;
    i64 n = level(s, 1);
    skip(s);
    if (*s->at == ')')
        s->at++;
    else if (!s->wrong)
        s->wrong = "a ) is missing";
    return n;
}

/* Parse a number, a variable, or an expression with a sign, a ! or
 * parentheses. */
static i64 value(struct expression *s)
{
    skip(s);
    char c = *s->at;
    if (s->wrong || ++s->depth > NESTING) {
        s->wrong = s->wrong ? s->wrong : "nested too deep";
        return 0;
    }
    i64 n;
    bool least = c == '-' && isdigit(s->at[1]); /* it has no positive */
    if (c && strchr("-+!", c) && !least) {
        s->at++;
        n = value(s);
        n = c == '-' ? (i64)(0 - (u64)n) : c == '!' ? !n : n;
    } else if (c == '(') {
        n = in_parens(s);
    } else if (name_length(s->at) > 0) {
        n = variable(s);
    } else {
        n = number(s, s->at, (char **)&s->at);
    }
    s->depth--;
    return n;
}

/* Return the operator of that level at this place, or NULL. */
static const struct operator* operator_at(struct expression *s, int level)
{
    skip(s);
    for (u32 i = 0; i < NELEM(operators); i++) {
        const struct operator* o = & operators[i];
        if (strncmp(s->at, o->text, strlen(o->text)) == 0)
            return o->level == level ? o : NULL;
    }
    return NULL;
}

/* Evaluate operators of this level and of those that bind tighter. */
static i64 level(struct expression *s, int which)
{
    if (which > LEVELS)
        return value(s);
    i64 n = level(s, which + 1);
    const struct operator* o;
    while (!s->wrong && (o = operator_at(s, which))) {
        s->at += strlen(o->text);
        i64 right = level(s, which + 1);
        if (!s->wrong)
            n = apply(s, o->text, n, right);
    }
    return n;
}

bool arithmetic(const char *text, i64 *result)
{
    struct expression s = {.at = text};
    *result = level(&s, 1);
    skip(&s);
    if (!s.wrong && *s.at)
        s.wrong = "an operator is missing";
    if (s.wrong)
        complain("$((%s)): %s%s%.20s", text, s.wrong, *s.at ? " at " : "",
                 s.at);
    return !s.wrong;
}
