/*
 * errno, its words (from the one list in kernel/base/abi.h), and the messages
 * programs end with.
 */
#include "user/lib.h"

int errno;

const char *strerror(int error)
{
    switch (error) {
#define E(name, number, words) \
    case number:               \
        return words;
        ERRORS(E)
#undef E
    }
    return "unknown error";
}

static void message(const char *words, const char *fmt, va_list args)
{
    char text[2 * PATH_BYTES];
    fflush(stdout);
    vsnprintf(text, sizeof text, fmt, args);
    fprintf(stderr, "%s: %s%s%s\n", progname, text, words ? ": " : "",
            words ? words : "");
}

void warn(const char *fmt, ...)
{
    int saved = errno;
    va_list args;
    va_start(args, fmt);
    message(strerror(saved), fmt, args);
    va_end(args);
    errno = saved;
}

void warnx(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    message(NULL, fmt, args);
    va_end(args);
}

void die(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    message(strerror(errno), fmt, args);
    exit(1);
}

void diex(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    message(NULL, fmt, args);
    exit(1);
}
