/* Numbers from text, sorting, and random numbers. */
#include "user/lib.h"

static int digit(int c)
{
    if (isdigit(c))
        return c - '0';
    return isalpha(c) ? tolower(c) - 'a' + 10 : INT_MAX;
}

/* Skip 0x where the base allows it, and settle base 0. */
static const char *prefix(const char *s, int *base)
{
    bool hex = s[0] == '0' && tolower(s[1]) == 'x' && digit(s[2]) < 16;
    if (hex && (*base == 0 || *base == 16)) {
        *base = 16;
        return s + 2;
    }
    if (*base == 0)
        *base = s[0] == '0' ? 8 : 10;
    return s;
}

/* Return the value of the digits at *s. More than 64 bits give ULONG_MAX and
 * set *overflow. */
static u64 magnitude(const char **s, int base, bool *overflow)
{
    u64 value = 0;
    for (; digit(**s) < base; (*s)++) {
        u64 d = digit(**s);
        if (value > (ULONG_MAX - d) / base)
            *overflow = true;
        value = *overflow ? ULONG_MAX : value * base + d;
    }
    return value;
}

/* Read blanks, a sign and digits. Returns the digits' value; *minus: the sign
 * was -. */
static u64 scan(const char *text, char **end, int base, bool *minus,
                bool *overflow)
{
    const char *s = text + strspn(text, " \t\n\v\f\r");
    if (base != 0 && (base < 2 || base > 36)) {
        errno = EINVAL;
        base = 0;
        s = ""; /* no digits */
    }
    *minus = *s == '-';
    if (*s == '-' || *s == '+')
        s++;
    s = prefix(s, &base);
    const char *first = s;
    *overflow = false;
    u64 value = magnitude(&s, base, overflow);
    if (end)
        *end = (char *)(s == first ? text : s);
    return value;
}

u64 strtoul(const char *text, char **end, int base)
{
    bool minus, overflow;
    u64 value = scan(text, end, base, &minus, &overflow);
    if (overflow) {
        errno = ERANGE;
        return value;
    }
    return minus ? -value : value;
}

/* Parse a number with a sign; out of range it is the nearest that fits, and
 * errno ERANGE. */
i64 strtol(const char *text, char **end, int base)
{
    bool minus, overflow;
    u64 value = scan(text, end, base, &minus, &overflow);
    u64 limit = (u64)LONG_MAX + minus;
    if (overflow || value > limit) {
        errno = ERANGE;
        value = limit;
    }
    return minus ? -value : value;
}

int atoi(const char *text)
{
    return strtol(text, NULL, 10);
}

bool parse_i64(const char *text, i64 *value)
{
    const char *digits = text + strspn(text, " \t\n\v\f\r");
    digits += *digits == '-' || *digits == '+';
    char *end;
    int before = errno;
    errno = 0;
    i64 n = strtol(text, &end, 10);
    bool ok = isdigit(*digits) && !*end && errno == 0;
    errno = before;
    if (ok)
        *value = n;
    return ok;
}

/* Parse a number, decimal or with 0x, and perhaps k, m or g behind it. False:
 * it is none, or more than 64 bits. */
bool parse_size(const char *text, u64 *value)
{
    if (!isdigit(*text))
        return false;
    int base = text[0] == '0' && tolower(text[1]) == 'x' ? 16 : 10;
    bool minus, overflow;
    char *end;
    u64 v = scan(text, &end, base, &minus, &overflow);
    u32 shift = 0;
    switch (tolower(*end)) {
    case 'g':
        shift += 10; /* fall through */
    case 'm':
        shift += 10; /* fall through */
    case 'k':
        shift += 10;
        end++;
    }
    if (*end || overflow || v << shift >> shift != v)
        return false;
    *value = v << shift;
    return true;
}

u64 size_arg(const char *text, const char *what)
{
    u64 value;
    if (!parse_size(text, &value))
        diex("%s: bad number: %s", what, text);
    return value;
}

/* Return a number of seconds, with a fraction of any length, in ns; end the
 * program if it is none. Digits below a ns are dropped. */
u64 seconds_arg_ns(const char *text, const char *what)
{
    char *s;
    u64 ns = strtoul(text, &s, 10) * NS_PER_S;
    bool ok = isdigit(*text) || (*text == '.' && isdigit(text[1]));
    if (*text == '.')
        s = (char *)text;
    if (*s == '.') {
        u64 unit = NS_PER_S / 10;
        for (s++; isdigit(*s); s++, unit /= 10)
            ns += (*s - '0') * unit;
    }
    if (!ok || *s || ns / NS_PER_S != strtoul(text, NULL, 10))
        diex("%s: bad number of seconds: %s", what, text);
    return ns;
}

/* Exchange two items, 8 bytes at a time. */
static void swap(u8 *a, u8 *b, size_t size)
{
    for (; size >= sizeof(u64); size -= sizeof(u64)) {
        u64 t;
        memcpy(&t, a, sizeof t);
        memcpy(a, b, sizeof t);
        memcpy(b, &t, sizeof t);
        a += sizeof t;
        b += sizeof t;
    }
    for (; size > 0; size--, a++, b++) {
        u8 t = *a;
        *a = *b;
        *b = t;
    }
}

/* Heap sort: no extra memory, n log n for every order. Not stable. */
void qsort(void *base, size_t n, size_t size,
           int (*compare)(const void *, const void *))
{
    u8 *a = base;
    size_t first = n / 2; /* a[first..n) is a heap */
    while (n > 1) {
        if (first > 0)
            first--;
        else
            swap(a, a + --n * size, size);
        for (size_t top = first, child; (child = 2 * top + 1) < n;) {
            u8 *c = a + child * size;
            if (child + 1 < n && compare(c, c + size) < 0) {
                child++;
                c += size;
            }
            if (compare(a + top * size, c) >= 0)
                break;
            swap(a + top * size, c, size);
            top = child;
        }
    }
}

/* Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014. */
u64 random_u64(u64 *state)
{
    u64 z = *state += 0x9e3779b97f4a7c15UL;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9UL;
    z = (z ^ z >> 27) * 0x94d049bb133111ebUL;
    return z ^ z >> 31;
}
