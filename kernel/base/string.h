/* Memory and text, with the C library's contracts. */
#pragma once

#include "kernel/base/types.h"

void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int byte, size_t n);
int memcmp(const void *a, const void *b, size_t n);
size_t strlen(const char *);
int strcmp(const char *, const char *);
/* In brackets because the GNU library of 2026 makes strchr a macro. */
char *(strchr)(const char *, int c);

/* Copy at most n - 1 bytes and end with 0; returns strlen(from). */
size_t strlcpy(char *to, const char *from, size_t n);

/* Parse all of text as a decimal number. False, and *value unchanged, if it
 * holds anything else or exceeds 64 bits. */
bool parse_u64(const char *text, u64 *value);
