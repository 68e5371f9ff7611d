/*
 * Words NAME=VALUE of a command line: the rows of a table drive parsing,
 * defaults, help and errors (settings.c).
 *
 * - A row says which field of a program's structure it sets: a u64 for
 *   numbers and choices (their position), a const char * for TEXT.
 * - A wrong word ends the program with status 2 and a message that quotes the
 *   word.
 */
#ifndef SLUICE_USER_SETTINGS_H
#define SLUICE_USER_SETTINGS_H

#include "kernel/base/types.h"

enum setting_type {
    TEXT,
    NUMBER,  /* decimal digits */
    SIZE,    /* decimal digits, then k, m or g for powers of 1024 */
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
    const char *unit;     /* the unit or another word for the value, for help */
    const char *standard; /* the default; NULL: none, the field stays 0 */
    u64 min, max;         /* of numbers */
    u32 only;    /* properties that the chosen kind must have for this row */
    bool needed; /* the row must be set for such a kind */
    const struct choice *choices;
    const char *about;
};

struct settings {
    const struct setting *row;
    u32 count;                  /* at most 64 */
    const struct choice *kinds; /* the choices whose properties `only` names */
};

void settings_default(const struct settings *, void *fields);

/* Apply n words; a row may be set only once. Returns a bit for each row set. */
u64 settings_apply(const struct settings *, void *fields, char **word, int n);

/* Refuse rows that are set but not allowed for `kind`, and rows that are needed
 * but not set. what: the name of the job or program, for the message. */
void settings_check(const struct settings *, u64 given,
                    const struct choice *kind, const char *what);

void settings_help(const struct settings *);

/* Print `prog: message` and end the program with status 2. */
void refuse(const char *fmt, ...)
    __attribute__((format(printf, 1, 2), noreturn));

#endif
