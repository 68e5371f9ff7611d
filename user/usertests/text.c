/* The C library's texts and numbers, at the boundaries that the C standard has
 * (C11, 7.21.6.1 fprintf, 7.22.1.4 strtol, 7.22.5.2 qsort, 7.24 strings). */
#include "user/usertests/usertests.h"

/* Check that a format gives this text, and returns its length. */
#define FORMATS(wanted, ...)                                             \
    do {                                                                 \
        char got_[400];                                                  \
        i64 n_ = snprintf(got_, sizeof got_, __VA_ARGS__);               \
        if (strcmp(got_, wanted) != 0)                                   \
            fail(__LINE__, "expected \"%s\", got \"%s\"", wanted, got_); \
        IS(n_, (i64)strlen(wanted));                                     \
    } while (0)

/* The formats below are right in the standard, but gcc warns of some. */
#pragma GCC diagnostic ignored "-Wformat"
#pragma GCC diagnostic ignored "-Wformat-truncation"
#pragma GCC diagnostic ignored "-Wformat-overflow"

TEST(printf_narrows_an_argument_to_its_type)
{
    FORMATS("-1 255", "%hhd %hhu", 255, 255);
    FORMATS("-128 127", "%hhd %hhi", 128, -129);
    FORMATS("0 ff 377", "%hhd %hhx %hho", 256, 0xfff, 0xfff);
    FORMATS("-1 65535", "%hd %hu", 65535, -1);
    FORMATS("-32768 32767", "%hd %hi", 32768, -32769);
    FORMATS("1 FFFF 177777", "%hd %hX %ho", 65537, -1, -1);
    FORMATS("-1 4294967295", "%d %u", -1, -1);
    FORMATS("-1 18446744073709551615", "%ld %lu", -1L, -1L);
    FORMATS("-1 ffffffffffffffff", "%lld %jx", -1LL, -1L);
    FORMATS("7 8 9", "%zu %td %jd", 7UL, 8L, 9L);
}

TEST(printf_has_the_least_and_the_greatest_numbers)
{
    FORMATS("-2147483648 2147483647", "%d %d", INT_MIN, INT_MAX);
    FORMATS("-9223372036854775808", "%ld", LONG_MIN);
    FORMATS("1777777777777777777777", "%lo", ~0UL);
    FORMATS("+9223372036854775807", "%+ld", LONG_MAX);
}

TEST(printf_precision_is_the_least_number_of_digits)
{
    FORMATS("[] [+] [ ] [000]", "[%.0d] [%+.0d] [% .d] [%.3d]", 0, 0, 0, 0);
    FORMATS("[-007] [  007] [007  ]", "[%.3d] [%5.3d] [%-5.3d]", -7, 7, 7);
    FORMATS("[  007]", "[%05.3d]", 7);
    FORMATS("[7] [0]", "[%.*d] [%.*d]", -1, 7, -5, 0);
    FORMATS("[abc] [ab] [] [abc]", "[%s] [%.2s] [%.s] [%.*s]", "abc", "abc",
            "abc", -1, "abc");
    char four[4] = {'a', 'b', 'c', 'd'}; /* no 0 at its end */
    FORMATS("abcd", "%.4s", four);
}

TEST(printf_alternate_form_has_a_prefix_that_counts)
{
    FORMATS("0 010 010 0010", "%#o %#o %#.3o %#.4o", 0, 8, 8, 8);
    FORMATS("[0] []", "[%#.0o] [%#.0x]", 0, 0);
    FORMATS("0 0xff 0XFF 0x00ff", "%#x %#x %#X %#.4x", 0, 255, 255, 255);
    FORMATS("[    0xff] [0x0000ff] [0xff    ]", "[%#8x] [%#08x] [%#-8x]", 255,
            255, 255);
    FORMATS("[0000010] [    010]", "[%#07o] [%#7o]", 8, 8);
}

TEST(printf_width_flags_and_signs)
{
    FORMATS("[   42] [42   ] [00042] [-0042]", "[%5d] [%-5d] [%05d] [%05d]", 42,
            42, 42, -42);
    FORMATS("[42   ] [42   ]", "[%-05d] [%*d]", 42, -5, 42);
    FORMATS("[+42] [ 42] [+42] [-42]", "[%+d] [% d] [%+ d] [% d]", 42, 42, 42,
            -42);
    FORMATS("[  a] [a  ] [%]", "[%3c] [%-3c] [%%]", 'a', 'a');
    FORMATS("[ ab] [ab ]", "[%3s] [%-3.2s]", "ab", "abc");
    IS(snprintf(buf, 9, "%c|%c", 0, 'x'), 3);
    TRUE(memcmp(buf, "\0|x", 4) == 0);
}

TEST(snprintf_cuts_and_tells_the_whole_length)
{
    strlcpy(buf, "xxxx", sizeof buf);
    IS(snprintf(buf, 3, "%s", "abcd"), 4);
    TRUE(strcmp(buf, "ab") == 0 && buf[3] == 'x');
    IS(snprintf(buf, 1, "abc"), 3);
    TRUE(buf[0] == 0 && buf[1] == 'b');
    IS(snprintf(NULL, 0, "%d", 12345), 5);
    IS(snprintf(buf, 4, "%*d", INT_MAX, 1), INT_MAX);
    TRUE(strcmp(buf, "   ") == 0);
    FAILS(ERANGE, snprintf(buf, 4, "x%*d", INT_MAX, 1));
    FAILS(ERANGE, snprintf(buf, 4, "x%-*d", INT_MIN, 1));
    FAILS(ERANGE, snprintf(buf, 4, "x%99999999999d", 1));
}

static void reads_number(int line, const char *text, int base, i64 value,
                         i64 taken, int error)
{
    char *end;
    errno = 0;
    i64 got = strtol(text, &end, base);
    if (got != value || end - text != taken || errno != error)
        fail(line,
             "expected %ld of \"%s\" by %ld bytes, errno %d; got %ld, %ld, %d",
             value, text, taken, error, got, end - text, errno);
}
#define READS(...) reads_number(__LINE__, __VA_ARGS__)

TEST(strtol_reads_as_the_standard_says)
{
    READS("", 10, 0, 0, 0);
    READS("  \t\n\v\f\r-42x", 10, -42, 10, 0);
    READS("+", 10, 0, 0, 0);
    READS("- 1", 10, 0, 0, 0);
    READS("--1", 10, 0, 0, 0);
    READS("x1", 10, 0, 0, 0);
    READS("0x", 0, 0, 1, 0);
    READS("0xg", 16, 0, 1, 0);
    READS("0x1F", 0, 31, 4, 0);
    READS("-0X1f", 16, -31, 5, 0);
    READS("0x1F", 10, 0, 1, 0);
    READS("017", 0, 15, 3, 0);
    READS("089", 0, 0, 1, 0);
    READS("1012", 2, 5, 3, 0);
    READS("zZ{", 36, 35 * 37, 2, 0);
    READS("9223372036854775807", 10, LONG_MAX, 19, 0);
    READS("9223372036854775808", 10, LONG_MAX, 19, ERANGE);
    READS("-9223372036854775808", 10, LONG_MIN, 20, 0);
    READS("-9223372036854775809", 10, LONG_MIN, 20, ERANGE);
    READS("99999999999999999999999x", 10, LONG_MAX, 23, ERANGE);
    READS("12", 1, 0, 0, EINVAL);
    READS("12", 37, 0, 0, EINVAL);
    READS("12", -2, 0, 0, EINVAL);
}

TEST(strtoul_reads_to_64_bits)
{
    char *end;
    errno = 0;
    TRUE(strtoul("18446744073709551615", &end, 10) == ~0UL && errno == 0);
    TRUE(strtoul("-1", &end, 10) == ~0UL && errno == 0);
    TRUE(strtoul("18446744073709551616", &end, 10) == ~0UL && errno == ERANGE);
    TRUE(*end == 0);
    errno = 0;
    TRUE(strtoul("-18446744073709551616", &end, 10) == ~0UL && errno == ERANGE);
    errno = 0;
    TRUE(strtoul("8", &end, 99) == 0 && errno == EINVAL && *end == '8');
}

TEST(numbers_of_arguments_are_whole_or_refused)
{
    static const char *const wrong[] = {"",
                                        "-",
                                        "+",
                                        "1x",
                                        "x",
                                        "1 ",
                                        "--1",
                                        "9223372036854775808",
                                        "-9223372036854775809",
                                        "0x10"};
    i64 n = 5;
    u64 size = 5;
    for (u32 i = 0; i < NELEM(wrong); i++)
        TRUE(!parse_i64(wrong[i], &n) && n == 5);
    TRUE(parse_i64("-9223372036854775808", &n) && n == LONG_MIN);
    TRUE(parse_i64(" +7", &n) && n == 7);
    TRUE(parse_size("18446744073709551615", &size) && size == ~0UL);
    TRUE(parse_size("16G", &size) && size == 16UL << 30);
    TRUE(parse_size("0x10k", &size) && size == 16384);
    TRUE(!parse_size("18446744073709551616", &size) && !parse_size("", &size));
    TRUE(!parse_size("17179869184g", &size) && !parse_size("1kk", &size));
    TRUE(!parse_size("-1", &size) && !parse_size("0x", &size));
    TRUE(size == 16384);
}

static void has_date(int line, u64 seconds, const char *wanted)
{
    char text[DATE_BYTES];
    if (strcmp(date_text(text, seconds), wanted) != 0)
        fail(line, "expected \"%s\", got \"%s\"", wanted, text);
}
#define DATE(...) has_date(__LINE__, __VA_ARGS__)

TEST(dates_are_right_at_the_ends_of_months_and_of_64_bits)
{
    DATE(0, "1970-01-01 00:00:00");
    DATE(951782399, "2000-02-28 23:59:59");
    DATE(951782400, "2000-02-29 00:00:00");
    DATE(951868800, "2000-03-01 00:00:00");
    DATE(INT_MAX, "2038-01-19 03:14:07");
    DATE(4107542399, "2100-02-28 23:59:59");
    DATE(4107542400, "2100-03-01 00:00:00");
    DATE(UINT_MAX, "2106-02-07 06:28:15");
    DATE(253402300799, "9999-12-31 23:59:59");
    DATE(253402300800, "10000-01-01 00:00:00");
    DATE(ULONG_MAX, "584554051223-11-09 07:00:15");
}

TEST(text_is_searched_to_its_end_and_no_further)
{
    const char *s = "abcabc";
    TRUE(strchr(s, 'c') == s + 2 && strchr(s, 0) == s + 6 && !strchr(s, 'x'));
    TRUE(strrchr(s, 'c') == s + 5 && strrchr(s, 0) == s + 6 &&
         !strrchr(s, 'x'));
    TRUE(strstr(s, "") == s && strstr(s, "bca") == s + 1 && !strstr(s, "abcd"));
    TRUE(*strstr("", "") == 0 && !strstr("", "a"));
    TRUE(strspn(s, "") == 0 && strspn(s, "cba") == 6 && strspn("", "a") == 0);
    TRUE(strcspn(s, "") == 6 && strcspn(s, "c") == 2 && strcspn("", "a") == 0);
    TRUE(memchr("a\xff", 0x1ff, 2) && !memchr("ab", 'b', 1));
    TRUE(strnlen("abc", 2) == 2 && strnlen("abc", 9) == 3);
    TRUE(strcmp("a", "\xff") < 0 && strcmp("ab", "a") > 0 && !strcmp("", ""));
    TRUE(!strncmp("abc", "abd", 2) && !strncmp("a", "b", 0));
    TRUE(strncmp("a", "ab", 9) < 0 && strncmp("a\0x", "a\0y", 3) == 0);
    TRUE(memcmp("a\0x", "a\0y", 3) < 0 && memcmp("\x80", "\x7f", 1) > 0);
}

TEST(text_is_copied_within_its_room)
{
    char to[6] = "xxxxx";
    TRUE(strlcpy(to, "abc", 3) == 3 && !memcmp(to, "ab\0xx", 5));
    TRUE(strlcpy(to, "abc", 0) == 3 && to[0] == 'a');
    TRUE(strlcat(to, "cdef", 5) == 6 && !strcmp(to, "abcd"));
    TRUE(strlcat(to, "ef", 2) == 4 && !strcmp(to, "abcd"));
    char *rest =
        (char *)"constant"; /* without a delimiter nothing is written */
    TRUE(!strcmp(strsep(&rest, ","), "constant") && !rest);
    TRUE(!strsep(&rest, ","));
}

/* Ranges that overlap in every way, of 0 to 40 bytes. */
TEST(memory_is_moved_and_compared_at_every_alignment)
{
    char *a = buf, *b = buf2;
    for (u64 from = 0; from < 9; from++) {
        for (u64 to = 0; to < 9; to++) {
            for (u64 n = 0; n < 41; n++) {
                pattern(a, 64, 1, 0);
                pattern(b, 64, 1, 0);
                memmove(a + to, a + from, n);
                for (u64 i = 0; i < 64; i++)
                    TRUE(a[i] == b[i >= to && i < to + n ? i - to + from : i]);
                memcpy(a + to, b + from, n);
                TRUE(memcmp(a + to, b + from, n) == 0);
            }
        }
    }
}

static int by_byte(const void *a, const void *b)
{
    return *(const u8 *)a - *(const u8 *)b;
}

/* Each item is one random byte, repeated. Sorted, the items rise, are whole,
 * have the same sum, and the byte behind them is untouched. */
TEST(qsort_sorts_items_of_any_number_and_size)
{
    for (u64 size = 1; size < 20; size++) {
        for (u64 n = 0; n < 40; n++) {
            u64 sum = 0, chance = n;
            for (u64 i = 0; i < n; i++) {
                memset(buf + i * size, (u8)random_u64(&chance), size);
                sum += (u8)buf[i * size];
            }
            buf[n * size] = 'x';
            qsort(buf, n, size, by_byte);
            for (u64 i = 0; i < n; i++) {
                TRUE(i == 0 || (u8)buf[(i - 1) * size] <= (u8)buf[i * size]);
                TRUE(buf[i * size] == buf[i * size + size - 1]);
                sum -= (u8)buf[i * size];
            }
            TRUE(sum == 0 && buf[n * size] == 'x');
        }
    }
}
