/*
 * Formatted text, and the kernel's messages.
 *
 * - kprintf formats on the stack and hands uart_put a line at a time, which
 *   writes it under the print lock: lines of several harts do not mix. A
 *   message longer than LINE_BYTES goes out in pieces of that size.
 * - Nothing here sleeps, allocates or takes a lock, so it may be used in any
 *   context, by panic too.
 * - A conversion that print.h does not name is a mistake of the caller's that
 *   the compiler would accept, and panics.
 */
#include "kernel/machine/print.h"

#include "kernel/machine/uart.h"
#include "kernel/machine/panic.h"
#include "kernel/base/string.h"

#define LINE_BYTES 256

/* Where formatted text goes. */
struct out {
    char *text; /* room for `room` bytes */
    size_t room;
    size_t used;   /* bytes in text */
    size_t length; /* of everything so far */
    bool to_uart;  /* text is written out when full, not cut off */
};

/* One conversion. */
struct spec {
    bool left, zeros;
    u32 longs;          /* how many times 'l', or 'z' */
    size_t width, most; /* most: the precision, for %s */
};

static void put_char(struct out *out, char c)
{
    if (out->to_uart && out->used == out->room) {
        uart_put(out->text, out->used);
        out->used = 0;
    }
    if (out->used < out->room)
        out->text[out->used++] = c;
    out->length++;
}

static void put_times(struct out *out, char c, size_t n)
{
    while (n--)
        put_char(out, c);
}

/* Text with a sign or the like before it, padded to the width. */
static void put_field(struct out *out, const struct spec *spec,
                      const char *prefix, const char *text, size_t n)
{
    size_t used = strlen(prefix) + n;
    size_t pad = spec->width > used ? spec->width - used : 0;
    if (!spec->left && !spec->zeros)
        put_times(out, ' ', pad);
    while (*prefix)
        put_char(out, *prefix++);
    if (!spec->left && spec->zeros)
        put_times(out, '0', pad);
    while (n--)
        put_char(out, *text++);
    if (spec->left)
        put_times(out, ' ', pad);
}

static void put_number(struct out *out, const struct spec *spec,
                       const char *prefix, u64 n, u32 base)
{
    char digits[20], *first = digits + sizeof(digits);
    do
        *--first = "0123456789abcdef"[n % base];
    while (n /= base);
    put_field(out, spec, prefix, first, digits + sizeof(digits) - first);
}

static void put_string(struct out *out, struct spec *spec, const char *s)
{
    if (!s)
        s = "(null)";
    size_t n = 0;
    while (n < spec->most && s[n])
        n++;
    spec->zeros = false;
    put_field(out, spec, "", s, n);
}

/* va_list by reference: an argument type in C may be an array. */
struct args {
    va_list list;
};

static size_t number_or_star(const char **fmt, struct args *args)
{
    int n = 0;
    if (**fmt == '*') {
        n = va_arg(args->list, int);
        ++*fmt;
    }
    for (; **fmt >= '0' && **fmt <= '9'; ++*fmt)
        n = n * 10 + (**fmt - '0');
    return n < 0 ? 0 : n;
}

static struct spec parse_spec(const char **fmt, struct args *args)
{
    struct spec spec = {.most = SIZE_MAX};
    for (; **fmt == '-' || **fmt == '0'; ++*fmt)
        *(**fmt == '-' ? &spec.left : &spec.zeros) = true;
    spec.width = number_or_star(fmt, args);
    if (**fmt == '.') {
        ++*fmt;
        spec.most = number_or_star(fmt, args);
    }
    for (; **fmt == 'l' || **fmt == 'z'; ++*fmt)
        spec.longs++;
    return spec;
}

static void put_conversion(struct out *out, char kind, struct spec *spec,
                           struct args *args)
{
    i64 n;
    char c;
    switch (kind) {
    case 'd':
        n = spec->longs ? va_arg(args->list, i64) : va_arg(args->list, i32);
        put_number(out, spec, n < 0 ? "-" : "", n < 0 ? -(u64)n : (u64)n, 10);
        break;
    case 'u':
    case 'x':
        n = spec->longs ? va_arg(args->list, u64) : va_arg(args->list, u32);
        put_number(out, spec, "", n, kind == 'x' ? 16 : 10);
        break;
    case 'p':
        put_number(out, spec, "0x", (u64)va_arg(args->list, void *), 16);
        break;
    case 's':
        put_string(out, spec, va_arg(args->list, const char *));
        break;
    case 'c':
        c = (char)va_arg(args->list, int);
        put_field(out, spec, "", &c, 1);
        break;
    case '%':
        put_char(out, '%');
        break;
    default:
        panic("print: no conversion %%%c", kind);
    }
}

static void format(struct out *out, const char *fmt, struct args *args)
{
    while (*fmt) {
        if (*fmt != '%') {
            put_char(out, *fmt++);
            continue;
        }
        fmt++;
        struct spec spec = parse_spec(&fmt, args);
        put_conversion(out, *fmt, &spec, args);
        fmt++;
    }
}

int kvsnprintf(char *text, size_t n, const char *fmt, va_list list)
{
    struct out out = {.text = text, .room = n ? n - 1 : 0};
    struct args args;
    va_copy(args.list, list);
    format(&out, fmt, &args);
    va_end(args.list);
    if (n)
        text[out.used] = 0;
    return (int)out.length;
}

int ksnprintf(char *text, size_t n, const char *fmt, ...)
{
    va_list list;
    va_start(list, fmt);
    int length = kvsnprintf(text, n, fmt, list);
    va_end(list);
    return length;
}

void kvprintf(const char *fmt, va_list list)
{
    char line[LINE_BYTES];
    struct out out = {.text = line, .room = sizeof(line), .to_uart = true};
    struct args args;
    va_copy(args.list, list);
    format(&out, fmt, &args);
    va_end(args.list);
    uart_put(line, out.used);
}

void kprintf(const char *fmt, ...)
{
    va_list list;
    va_start(list, fmt);
    kvprintf(fmt, list);
    va_end(list);
}
