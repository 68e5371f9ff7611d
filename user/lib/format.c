/*
 * printf's conversions, into a sink: memory here, a stream in stdio.c.
 */
#include "user/lib.h"
#include "user/lib/sink.h"

struct spec {
    bool left, zero, plus, space, alternate;
    int width, precision; /* precision -1: none given */
    int bits;             /* of the argument: 8, 16, 32 or 64 */
};

static void fill(struct sink *out, char c, i64 n)
{
    char run[256];
    memset(run, c, sizeof run);
    for (; n > 0; n -= sizeof run)
        out->put(out, run, MIN(n, (i64)sizeof run));
}

/* prefix (sign, 0x), zeros up to the precision, text; padded to the width. */
static void field(struct sink *out, const struct spec *s, const char *prefix,
                  int zeros, const char *text, int n)
{
    int prefix_len = strlen(prefix);
    i64 pad = (i64)s->width - prefix_len - zeros - n;
    if (!s->left && !s->zero)
        fill(out, ' ', pad);
    out->put(out, prefix, prefix_len);
    if (!s->left && s->zero)
        fill(out, '0', pad);
    fill(out, '0', zeros);
    out->put(out, text, n);
    if (s->left)
        fill(out, ' ', pad);
}

/* Print a number without its sign: digits from the right, then zeros up to the
 * precision, then the field around both. */
static void number(struct sink *out, struct spec *s, u64 value, int base,
                   bool upper, const char *prefix)
{
    const char *digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
    char text[24];
    char *end = text + sizeof text, *p = end;
    for (; value > 0; value /= base)
        *--p = digits[value % base];
    if (s->precision >= 0)
        s->zero = false;
    int have = end - p, want = s->precision >= 0 ? s->precision : 1;
    if (base == 8 && s->alternate)
        want = MAX(want, have + 1); /* the first digit is a 0 */
    field(out, s, prefix, MAX(want - have, 0), p, have);
}

static void signed_number(struct sink *out, struct spec *s, i64 value)
{
    const char *sign = value < 0 ? "-" : s->plus ? "+" : s->space ? " " : "";
    number(out, s, value < 0 ? -(u64)value : (u64)value, 10, false, sign);
}

/* Print a text, or as much of it as the precision allows. */
static void text(struct sink *out, struct spec *s, const char *t)
{
    if (!t)
        t = "(null)";
    size_t n = s->precision >= 0 ? strnlen(t, s->precision) : strlen(t);
    s->zero = false;
    field(out, s, "", 0, t, n);
}

static const char *flags(const char *f, struct spec *s)
{
    for (;; f++) {
        switch (*f) {
        case '-':
            s->left = true;
            break;
        case '0':
            s->zero = true;
            break;
        case '+':
            s->plus = true;
            break;
        case ' ':
            s->space = true;
            break;
        case '#':
            s->alternate = true;
            break;
        default:
            return f;
        }
    }
}

/* Read a count or `*` at f into *value. Returns the character after it. */
static const char *count(const char *f, int *value, va_list *args)
{
    if (*f == '*') {
        *value = va_arg(*args, int);
        return f + 1;
    }
    i64 n = 0;
    for (; isdigit(*f); f++)
        n = MIN(n * 10 + (*f - '0'), INT_MAX);
    *value = n;
    return f;
}

/* Parse what stands between a % and its letter: flags, width, precision, size.
 * Returns where the letter is. */
static const char *parse(const char *f, struct spec *s, va_list *args)
{
    *s = (struct spec){.precision = -1, .bits = 32};
    f = count(flags(f, s), &s->width, args);
    if (s->width < 0) {
        s->left = true;
        s->width = s->width == INT_MIN ? INT_MAX : -s->width;
    }
    if (*f == '.')
        f = count(f + 1, &s->precision, args);
    for (; *f && strchr("hlzjt", *f); f++)
        s->bits = *f != 'h' ? 64 : s->bits / 2;
    return f;
}

/* Read an integer argument. C passes one of fewer than 32 bits as an int, so it
 * is cut to its own width. */
static i64 signed_argument(const struct spec *s, va_list *args)
{
    if (s->bits == 64)
        return va_arg(*args, i64);
    int v = va_arg(*args, int);
    return s->bits == 32 ? v : s->bits == 16 ? (short)v : (signed char)v;
}

/* Return the next argument without a sign, cut to the bits that the conversion
 * names. */
static u64 unsigned_argument(const struct spec *s, va_list *args)
{
    if (s->bits == 64)
        return va_arg(*args, u64);
    u32 v = va_arg(*args, u32);
    return s->bits == 32 ? v : s->bits == 16 ? (u16)v : (u8)v;
}

/* Print the next argument as the letter c says. */
static void convert(struct sink *out, char c, struct spec *s, va_list *args)
{
    if (c == 's') {
        text(out, s, va_arg(*args, const char *));
    } else if (c == 'c') {
        char one = va_arg(*args, int);
        s->zero = false;
        field(out, s, "", 0, &one, 1);
    } else if (c == 'p') {
        number(out, s, (u64)va_arg(*args, void *), 16, false, "0x");
    } else if (c == 'd' || c == 'i') {
        signed_number(out, s, signed_argument(s, args));
    } else if (c && strchr("uxXo", c)) {
        u64 v = unsigned_argument(s, args);
        int base = c == 'u' ? 10 : c == 'o' ? 8 : 16;
        const char *prefix = !s->alternate || v == 0 ? ""
                             : c == 'x'              ? "0x"
                             : c == 'X'              ? "0X"
                                                     : "";
        number(out, s, v, base, c == 'X', prefix);
    } else {
        out->put(out, &c, c ? 1 : 0);
    }
}

void sink_format(struct sink *out, const char *fmt, va_list list)
{
    va_list args;
    va_copy(args, list);
    while (*fmt) {
        size_t plain = strcspn(fmt, "%");
        out->put(out, fmt, plain);
        fmt += plain;
        if (!*fmt)
            break;
        struct spec s;
        fmt = parse(fmt + 1, &s, &args);
        convert(out, *fmt, &s, &args);
        if (*fmt)
            fmt++;
    }
    va_end(args);
}

int format_result(size_t total)
{
    if (total <= INT_MAX)
        return (int)total;
    errno = ERANGE;
    return -1;
}

struct memory_sink {
    struct sink sink;
    char *to;
    size_t room, total;
};

/* Append text to a buffer in memory. What finds no room is counted, and not
 * stored. */
static void memory_put(struct sink *sink, const char *text, size_t n)
{
    struct memory_sink *m = (struct memory_sink *)sink;
    if (m->total < m->room)
        memcpy(m->to + m->total, text, MIN(n, m->room - m->total));
    m->total += n;
}

int vsnprintf(char *buf, size_t n, const char *fmt, va_list args)
{
    struct memory_sink m = {{memory_put}, buf, n > 0 ? n - 1 : 0, 0};
    sink_format(&m.sink, fmt, args);
    if (n > 0)
        buf[MIN(m.total, n - 1)] = 0;
    return format_result(m.total);
}

int snprintf(char *buf, size_t n, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int total = vsnprintf(buf, n, fmt, args);
    va_end(args);
    return total;
}
