/*
 * Kernel output and its formats.
 *
 * Conversions: %d %u %x, also as %ld and %zu; %p %s %%. A width pads with
 * spaces on the left, or after '-' on the right. kprintf writes a whole line at
 * once even when several harts print, and may be called from any context.
 */
#pragma once

#include <stdarg.h>

#include "kernel/base/string.h"

void kprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void kvprintf(const char *fmt, va_list);

/* Write bytes to the console. With print_times, each line begins with the time
 * at which its first byte was written, as `[NS] `. */
void print_bytes(const char *, u64 n);
extern bool print_times;

/* Both return the length the whole text would have; out ends in 0 if n > 0. */
int ksnprintf(char *out, size_t n, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
int kvsnprintf(char *out, size_t n, const char *fmt, va_list);
