/*
 * Memory and text.
 *
 * - memcpy and memset move the contents of blocks, so their cost is much of
 *   the machine's. They go by 8-byte words, 8 words to a turn; single bytes
 *   come only before the first aligned word of the target and after the last.
 *   The other functions are called seldom, and for a few bytes.
 * - Every access is aligned. When source and target differ in alignment, a
 *   target word is put together from the two source words it straddles. Only
 *   words that contain requested bytes are read, so no other page is touched.
 * - The compiler must not replace these loops by calls of the functions that
 *   they are.
 */
#pragma GCC optimize("no-tree-loop-distribute-patterns")

#include "kernel/base/string.h"

#define WORD sizeof(word)
#define TURN 8 /* words moved in one turn of the loop */

typedef u64 __attribute__((may_alias)) word;

static bool aligned(const void *p)
{
    return (uintptr_t)p % WORD == 0;
}

/* Copy n > 0 words between aligned addresses, upwards: `to` may lie below
 * `from`. */
static inline void copy_words(word *to, const word *from, size_t n)
{
    for (; n >= TURN; n -= TURN, to += TURN, from += TURN) {
        word a = from[0], b = from[1], c = from[2], d = from[3];
        word e = from[4], f = from[5], g = from[6], h = from[7];
        to[0] = a, to[1] = b, to[2] = c, to[3] = d;
        to[4] = e, to[5] = f, to[6] = g, to[7] = h;
    }
    while (n--)
        *to++ = *from++;
}

/* Like copy_words, from an unaligned source. Each word is joined from two
 * aligned words: the bits of `last` from bit `low` on and, above these, the
 * lowest bits of the next word. The machine is little-endian. */
static void copy_words_shifted(word *to, const u8 *from, size_t n)
{
    u32 low = (uintptr_t)from % WORD * 8, high = 64 - low;
    const word *next = (const word *)(from - low / 8);
    for (word last = *next++; n--; to++) {
        word w = *next++;
        *to = last >> low | w << high;
        last = w;
    }
}

/* Copy upwards; `to` must not lie within [from, from + n). */
static inline void copy_up(u8 *to, const u8 *from, size_t n)
{
    if (n >= 2 * WORD) {
        for (; !aligned(to); n--)
            *to++ = *from++;
        size_t body = ROUND_DOWN(n, WORD);
        if (aligned(from))
            copy_words((word *)to, (const word *)from, body / WORD);
        else
            copy_words_shifted((word *)to, from, body / WORD);
        to += body, from += body, n -= body;
    }
    while (n--)
        *to++ = *from++;
}

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
    copy_up(to, from, n);
    return to;
}

/* Copy n bytes. The two may overlap: upward, unless `to` lies within `from`'s
 * bytes. */
void *memmove(void *to, const void *from, size_t n)
{
    if ((uintptr_t)to - (uintptr_t)from >= n)
        copy_up(to, from, n);
    else
        while (n--)
            ((u8 *)to)[n] = ((const u8 *)from)[n];
    return to;
}

void *memset(void *to, int byte, size_t n)
{
    u8 *p = to;
    word w = (u8)byte * 0x0101010101010101UL;
    for (; n && !aligned(p); n--)
        *p++ = (u8)byte;
    word *q = (word *)p;
    for (; n >= TURN * WORD; n -= TURN * WORD, q += TURN) {
        q[0] = w, q[1] = w, q[2] = w, q[3] = w;
        q[4] = w, q[5] = w, q[6] = w, q[7] = w;
    }
    for (; n >= WORD; n -= WORD)
        *q++ = w;
    for (p = (u8 *)q; n--;)
        *p++ = (u8)byte;
    return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
    const u8 *p = a, *q = b;
    for (; n; n--, p++, q++)
        if (*p != *q)
            return *p - *q;
    return 0;
}

size_t strlen(const char *s)
{
    const char *end = s;
    while (*end)
        end++;
    return end - s;
}

int strcmp(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return (u8)*a - (u8)*b;
}

char *strchr(const char *s, int c)
{
    for (; *s != (char)c; s++)
        if (!*s)
            return NULL;
    return (char *)s;
}

size_t strlcpy(char *to, const char *from, size_t n)
{
    size_t length = strlen(from);
    if (n) {
        size_t copied = MIN(length, n - 1);
        memcpy(to, from, copied);
        to[copied] = 0;
    }
    return length;
}

/* Read a decimal number that is all of the text. False if it is none, or too
 * large. */
bool parse_u64(const char *text, u64 *value)
{
    u64 sum = 0;
    if (!*text)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' ||
            __builtin_mul_overflow(sum, 10, &sum) ||
            __builtin_add_overflow(sum, *text - '0', &sum))
            return false;
    }
    *value = sum;
    return true;
}
