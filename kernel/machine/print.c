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

#include "kernel/machine/clock.h"
#include "kernel/machine/uart.h"
#include "kernel/machine/panic.h"

#define LINE_BYTES 256

/* The destination of formatted text. */
struct out {
    char *text; /* room for `room` bytes */
    size_t room;
    size_t used;   /* bytes in text */
    size_t length; /* of everything so far */
    bool to_uart;  /* text is written out when full, not cut off */
};

/* The part of a conversion between the '%' and its letter. */
struct spec {
    bool left;
    size_t width;
    bool is_long; /* 'l' or 'z' */
};

/* Add a character. A full line for the serial port is printed first; a full
 * string only counts it. */
static void put_char(struct out *out, char c)
{
    if (out->to_uart && out->used == out->room) {
        print_bytes(out->text, out->used);
        out->used = 0;
    }
    if (out->used < out->room)
        out->text[out->used++] = c;
    out->length++;
}

static void put_spaces(struct out *out, size_t n)
{
    while (n--)
        put_char(out, ' ');
}

/* Add text padded to the width. */
static void put_field(struct out *out, const struct spec *spec,
                      const char *text)
{
    size_t n = strlen(text);
    size_t pad = spec->width > n ? spec->width - n : 0;
    if (!spec->left)
        put_spaces(out, pad);
    while (*text)
        put_char(out, *text++);
    if (spec->left)
        put_spaces(out, pad);
}

/* Format a number, from its last digit to the first, with a prefix. */
static void put_number(struct out *out, const struct spec *spec,
                       const char *prefix, u64 n, u32 base)
{
    char text[24], *first = text + sizeof(text) - 1;
    *first = 0;
    do
        *--first = "0123456789abcdef"[n % base];
    while (n /= base);
    first -= strlen(prefix);
    memcpy(first, prefix, strlen(prefix));
    put_field(out, spec, first);
}

/* Read the flag, width and length of a conversion, and move past them. */
static struct spec parse_spec(const char **fmt)
{
    struct spec spec = {.left = **fmt == '-'};
    for (*fmt += spec.left; **fmt >= '0' && **fmt <= '9'; ++*fmt)
        spec.width = spec.width * 10 + (**fmt - '0');
    for (; **fmt == 'l' || **fmt == 'z'; ++*fmt)
        spec.is_long = true;
    return spec;
}

/* Format the next argument as its letter says. */
static void put_conversion(struct out *out, const char *kind,
                           const struct spec *spec, va_list *args)
{
    i64 n;
    const char *text;
    switch (*kind) {
    case 'd':
        n = spec->is_long ? va_arg(*args, i64) : va_arg(*args, i32);
        put_number(out, spec, n < 0 ? "-" : "", n < 0 ? -(u64)n : (u64)n, 10);
        break;
    case 'u':
    case 'x':
        n = spec->is_long ? va_arg(*args, u64) : va_arg(*args, u32);
        put_number(out, spec, "", n, *kind == 'x' ? 16 : 10);
        break;
    case 'p':
        put_number(out, spec, "0x", (u64)va_arg(*args, void *), 16);
        break;
    case 's':
        text = va_arg(*args, const char *);
        put_field(out, spec, text ? text : "(null)");
        break;
    case '%':
        put_char(out, '%');
        break;
    default:
        panic("print: unknown conversion in %%%s", kind);
    }
}

/* Format all of fmt. */
static void format(struct out *out, const char *fmt, va_list list)
{
    va_list args; /* `list` may be the address of an array */
    va_copy(args, list);
    for (; *fmt; fmt++) {
        if (*fmt != '%') {
            put_char(out, *fmt);
            continue;
        }
        fmt++;
        struct spec spec = parse_spec(&fmt);
        put_conversion(out, fmt, &spec, &args);
    }
    va_end(args);
}

/* Format into text of n bytes, cut to fit. Return the length that it would
 * have. */
int kvsnprintf(char *text, size_t n, const char *fmt, va_list list)
{
    struct out out = {.text = text, .room = n ? n - 1 : 0};
    format(&out, fmt, list);
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

/* Print formatted text on the serial port. */
void kvprintf(const char *fmt, va_list list)
{
    char line[LINE_BYTES];
    struct out out = {.text = line, .room = sizeof(line), .to_uart = true};
    format(&out, fmt, list);
    print_bytes(line, out.used);
}

void kprintf(const char *fmt, ...)
{
    va_list list;
    va_start(list, fmt);
    kvprintf(fmt, list);
    va_end(list);
}

bool print_times;

/* Print bytes. With console_times=1 the time goes before each line. */
void print_bytes(const char *s, u64 n)
{
    static bool in_line;
    for (; print_times && n; s++, n--) {
        char time[32];
        if (!in_line)
            uart_put(time, ksnprintf(time, sizeof time, "[%lu] ", clock_ns()));
        in_line = *s != '\n';
        uart_put(s, 1);
    }
    uart_put(s, n);
}
