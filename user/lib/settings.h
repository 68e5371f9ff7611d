/*
 * Words NAME=VALUE of a command line: the rows of a table drive parsing,
 * defaults, help and errors (settings.c).
 *
 * - A row says which field of a program's structure it sets: a u64 for
 *   numbers and choices (their position), a const char * for TEXT.
 * - A wrong word ends the program with status 2 and a message that has it.
 */
#ifndef SLUICE_USER_SETTINGS_H
#define SLUICE_USER_SETTINGS_H

#include "kernel/base/types.h"

enum setting_type {
    TEXT,
    NUMBER,  /* decimal digits */
    SIZE,    /* the same, with k, m or g behind it: powers of 1024 */
    DECIMAL, /* up to three decimals; the field holds thousandths */
    CHOICE,
};

struct choice {
    const char *name; /* NULL: the end */
    u32 is;           /* properties, a bit each */
};

struct setting {
    const char *name, *alias;
    enum setting_type type;
    u32 field;            /* its offset */
    const char *unit;     /* or what stands for the value, for the help */
    const char *standard; /* the default; NULL: none, the field stays 0 */
    u64 min, max;         /* of numbers */
    u32 only;    /* it makes sense with choices of `kinds` that are all this */
    bool needed; /* with them */
    const struct choice *choices;
    const char *about;
};

struct settings {
    const struct setting *row;
    u32 count;                  /* at most 64 */
    const struct choice *kinds; /* what `only` is about */
};

void settings_default(const struct settings *, void *fields);

/* Apply n words, none of them twice. A bit for each row that was set. */
u64 settings_apply(const struct settings *, void *fields, char **word, int n);

/* The rows that are set but make no sense, or that are needed and not set,
 * when `kind` was chosen; what: whose they are. */
void settings_check(const struct settings *, u64 given,
                    const struct choice *kind, const char *what);

void settings_help(const struct settings *);

/* `prog: message`, and status 2. */
void refuse(const char *fmt, ...)
    __attribute__((format(printf, 1, 2), noreturn));

#endif
