/* Words NAME=VALUE by a table: see settings.h. */
#include "user/lib.h"
#include "user/lib/settings.h"

void refuse(const char *fmt, ...)
{
    char text[2 * PATH_BYTES];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    warnx("%s", text);
    exit(2);
}

/* Decimal digits only. */
static bool parse_number(const char *text, u64 *value)
{
    return text[strspn(text, "0123456789")] == '\0' && parse_size(text, value);
}

/* Parse a number with up to three decimals, in thousandths. */
static bool parse_decimal(const char *text, u64 *value)
{
    char *end;
    u64 unit = 1000, v = strtoul(text, &end, 10);
    if (!isdigit(*text) || v > ULONG_MAX / unit - 1)
        return false;
    v *= unit;
    if (*end == '.' && isdigit(end[1]))
        for (end++; isdigit(*end) && unit > 1; end++)
            v += (*end - '0') * (unit /= 10);
    *value = v;
    return *end == '\0';
}

/* Return the factor from the number that a user writes to the field's unit. */
static u64 scale(const struct setting *s)
{
    return s->type == DECIMAL ? 1000 : 1;
}

/* Return a setting's number, or end the program: it is bad, or out of range. */
static u64 number(const struct setting *s, const char *text)
{
    static bool (*const parse[])(const char *,
                                 u64 *) = {[NUMBER] = parse_number,
                                           [SIZE] = parse_size,
                                           [DECIMAL] = parse_decimal};
    u64 value;
    if (!parse[s->type](text, &value))
        refuse("%s=%s: bad number", s->name, text);
    if (value < s->min || value > s->max)
        refuse("%s=%s: must be %lu to %lu", s->name, text, s->min / scale(s),
               s->max / scale(s));
    return value;
}

/* Write the choices' names into buf, each after a blank, and return buf. */
#define NAMES_BYTES 512
/* Make a text of the choices that fit `is`, with blanks between them. */
static const char *names(char buf[NAMES_BYTES], const struct choice *c, u32 is)
{
    buf[0] = '\0';
    for (; c->name; c++) {
        if ((c->is & is) != is)
            continue;
        strlcat(buf, " ", NAMES_BYTES);
        strlcat(buf, c->name, NAMES_BYTES);
    }
    return buf;
}

/* Return the number of a choice by its name, or end the program. */
static u64 choice(const struct setting *s, const char *text)
{
    char buf[NAMES_BYTES];
    for (u64 i = 0; s->choices[i].name; i++)
        if (strcmp(s->choices[i].name, text) == 0)
            return i;
    refuse("%s=%s: must be one of%s", s->name, text, names(buf, s->choices, 0));
}

/* Set the field of a setting from its text. */
static void set(void *fields, const struct setting *s, const char *text)
{
    char *field = (char *)fields + s->field;
    if (*text == '\0')
        refuse("%s=: no value", s->name);
    if (s->type == TEXT)
        *(const char **)field = text;
    else
        *(u64 *)field = s->type == CHOICE ? choice(s, text) : number(s, text);
}

/* The value in the word if it begins with name=, or NULL. */
static const char *value_of(const char *word, const char *name)
{
    size_t n = name ? strlen(name) : 0;
    bool is = name && strncmp(word, name, n) == 0 && word[n] == '=';
    return is ? word + n + 1 : NULL;
}

/* Return the row of a setting in "NAME=VALUE", and where the value begins. */
static u32 find(const struct settings *t, const char *word, const char **value)
{
    for (u32 i = 0; i < t->count; i++) {
        *value = value_of(word, t->row[i].name);
        if (!*value)
            *value = value_of(word, t->row[i].alias);
        if (*value)
            return i;
    }
    refuse("%s: no such option; %s -h lists them", word, progname);
}

void settings_default(const struct settings *t, void *fields)
{
    for (u32 i = 0; i < t->count; i++)
        if (t->row[i].standard)
            set(fields, &t->row[i], t->row[i].standard);
}

/* Set what n words say. Returns a bit for each row that was given. */
u64 settings_apply(const struct settings *t, void *fields, char **word, int n)
{
    u64 given = 0;
    for (int i = 0; i < n; i++) {
        const char *value;
        u32 row = find(t, word[i], &value);
        if (given >> row & 1)
            refuse("%s: %s is given twice", word[i], t->row[row].name);
        given |= 1UL << row;
        set(fields, &t->row[row], value);
    }
    return given;
}

/* End the program if a setting is given that the kind of job has not, or if one
 * that it needs is missing. */
void settings_check(const struct settings *t, u64 given,
                    const struct choice *kind, const char *what)
{
    for (u32 i = 0; i < t->count; i++) {
        const struct setting *s = &t->row[i];
        bool is_given = given >> i & 1;
        bool sensible = (kind->is & s->only) == s->only;
        if (is_given && !sensible)
            refuse("%s: %s= is not for %s", what, s->name, kind->name);
        if (!is_given && sensible && s->needed)
            refuse("%s: %s= is needed", what, s->name);
    }
}

/* Print a setting's line for -h. */
static void help(const struct settings *t, const struct setting *s)
{
    char buf[NAMES_BYTES];
    printf("  %s=%s  %s", s->name, s->unit, s->about);
    if (s->alias)
        printf("; also %s=", s->alias);
    if (s->choices)
        printf("\n     %s", names(buf, s->choices, 0));
    if (s->max)
        printf("\n      %lu to %lu", s->min / scale(s), s->max / scale(s));
    if (s->standard)
        printf("; default %s", s->standard);
    if (s->needed)
        printf("; needed");
    if (s->only)
        printf("; for%s", names(buf, t->kinds, s->only));
    printf("\n");
}

void settings_help(const struct settings *t)
{
    for (u32 i = 0; i < t->count; i++)
        help(t, &t->row[i]);
}
