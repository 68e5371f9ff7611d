/*
 * Memory and text. memcpy and memset move eight bytes at a time once the
 * destination is aligned.
 *
 * The compiler may not turn the loops of these functions into calls of the same
 * functions.
 */
#pragma GCC optimize("no-tree-loop-distribute-patterns")
#include "user/lib.h"

#define WORD sizeof(u64)

static inline bool misaligned(const void *p)
{
    return (uintptr_t)p % WORD != 0;
}

/* Copy by words where both addresses have the same offset in a word, four at a
 * time; the rest byte by byte. */
void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
    u8 *d = to;
    const u8 *s = from;
    if ((uintptr_t)d % WORD == (uintptr_t)s % WORD) {
        for (; n > 0 && misaligned(d); n--)
            *d++ = *s++;
        for (; n >= 4 * WORD; n -= 4 * WORD, d += 4 * WORD, s += 4 * WORD) {
            u64 a = ((const u64 *)s)[0], b = ((const u64 *)s)[1];
            u64 c = ((const u64 *)s)[2], e = ((const u64 *)s)[3];
            ((u64 *)d)[0] = a;
            ((u64 *)d)[1] = b;
            ((u64 *)d)[2] = c;
            ((u64 *)d)[3] = e;
        }
        for (; n >= WORD; n -= WORD, d += WORD, s += WORD)
            *(u64 *)d = *(const u64 *)s;
    }
    while (n-- > 0)
        *d++ = *s++;
    return to;
}

/* Copy from the end if the target begins within the source. */
void *memmove(void *to, const void *from, size_t n)
{
    u8 *d = to;
    const u8 *s = from;
    if (d + n <= s || s + n <= d)
        return memcpy(to, from, n);
    if (d > s) {
        while (n-- > 0)
            d[n] = s[n];
        return to;
    }
    for (; n > 0; n--)
        *d++ = *s++;
    return to;
}

void *memset(void *to, int byte, size_t n)
{
    u8 *d = to;
    u64 word = 0x0101010101010101UL * (u8)byte;
    for (; n > 0 && misaligned(d); n--)
        *d++ = byte;
    for (; n >= WORD; n -= WORD, d += WORD)
        *(u64 *)d = word;
    while (n-- > 0)
        *d++ = byte;
    return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
    const u8 *x = a, *y = b;
    if (!misaligned(x) && !misaligned(y)) {
        for (; n >= WORD && *(const u64 *)x == *(const u64 *)y; n -= WORD) {
            x += WORD;
            y += WORD;
        }
    }
    for (; n > 0; n--, x++, y++) {
        if (*x != *y)
            return *x - *y;
    }
    return 0;
}

void *memchr(const void *where, int byte, size_t n)
{
    for (const u8 *p = where; n > 0; n--, p++) {
        if (*p == (u8)byte)
            return (void *)p;
    }
    return NULL;
}

size_t strlen(const char *s)
{
    size_t n = 0;
    while (s[n])
        n++;
    return n;
}

size_t strnlen(const char *s, size_t limit)
{
    size_t n = 0;
    while (n < limit && s[n])
        n++;
    return n;
}

int strcmp(const char *a, const char *b)
{
    for (; *a && *a == *b; a++, b++)
        ;
    return (u8)*a - (u8)*b;
}

int strncmp(const char *a, const char *b, size_t n)
{
    for (; n > 0; n--, a++, b++) {
        if (*a != *b || !*a)
            return (u8)*a - (u8)*b;
    }
    return 0;
}

char *strchr(const char *s, int c)
{
    for (; *s != (char)c; s++) {
        if (!*s)
            return NULL;
    }
    return (char *)s;
}

char *strrchr(const char *s, int c)
{
    const char *last = NULL;
    do {
        if (*s == (char)c)
            last = s;
    } while (*s++);
    return (char *)last;
}

char *strstr(const char *text, const char *part)
{
    size_t n = strlen(part);
    for (; *text; text++) {
        if (strncmp(text, part, n) == 0)
            return (char *)text;
    }
    return n == 0 ? (char *)text : NULL;
}

size_t strspn(const char *s, const char *set)
{
    size_t n = 0;
    while (s[n] && strchr(set, s[n]))
        n++;
    return n;
}

size_t strcspn(const char *s, const char *set)
{
    size_t n = 0;
    while (s[n] && !strchr(set, s[n]))
        n++;
    return n;
}

char *strsep(char **rest, const char *delimiters)
{
    char *part = *rest;
    if (!part)
        return NULL;
    char *end = part + strcspn(part, delimiters);
    *rest = *end ? end + 1 : NULL;
    if (*end)
        *end = 0;
    return part;
}

size_t strlcpy(char *to, const char *from, size_t n)
{
    size_t length = strlen(from);
    if (n > 0) {
        size_t part = MIN(length, n - 1);
        memcpy(to, from, part);
        to[part] = 0;
    }
    return length;
}

size_t strlcat(char *to, const char *from, size_t n)
{
    size_t have = strnlen(to, n);
    return have + strlcpy(to + have, from, n - have);
}

char *strdup(const char *s)
{
    size_t n = strlen(s) + 1;
    return memcpy(xmalloc(n), s, n);
}

const char *basename(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void strip_slashes(char *path)
{
    for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
        path[n - 1] = 0;
}

bool join_path(char *path, size_t n, const char *dir, const char *name)
{
    const char *slash = dir[0] && dir[strlen(dir) - 1] != '/' ? "/" : "";
    if ((size_t)snprintf(path, n, "%s%s%s", dir, slash, name) < n)
        return true;
    warnx("%s%s%s: %s", dir, slash, name, strerror(ENAMETOOLONG));
    errno = ENAMETOOLONG;
    return false;
}
