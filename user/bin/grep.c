/*
 * grep: prints the lines that match a pattern.
 * -c: prints only their number; -i: ignores case; -n: with line numbers; -q:
 * prints nothing; -v: prints the lines that do not match.
 * In a pattern, . is any character; [a-z] and [^a-z] are one of a set, or not
 * of it; * + ? after an item: any number of times, at least once, at most once;
 * ^ and $ are the line's ends; \ before a character makes it an ordinary one.
 * Exit status: 0 if a line was printed, 1 if none, 2 after an error. With -q
 * the first line that would be printed ends it, with 0.
 * A [ needs its ].
 */
#include "user/lib.h"

static bool count_only, ignore_case, numbers, quiet, inverted;

/* The end of the item at p: a character, an escaped one, a set. NULL if it is
 * a set without an end. */
static const char *item_end(const char *p)
{
    if (*p == '\\' && p[1])
        return p + 2;
    if (*p != '[')
        return p + 1;
    p += 1 + (p[1] == '^');
    p += *p == ']'; /* a ] that comes first is a member */
    p = strchr(p, ']');
    return p ? p + 1 : NULL;
}

static void check_pattern(const char *pattern)
{
    for (const char *p = pattern, *end; *p; p = end) {
        end = item_end(p);
        if (!end) {
            warnx("%s: the [ in the pattern has no ]", p);
            exit(2);
        }
    }
}

/* True if a set [...] has c. p and end are its first character and its end; a ^
 * in front negates it, and a-z is a range. */
static bool in_set(const char *p, const char *end, u8 c)
{
    bool negated = *p == '^', has = false;
    for (p += negated; p < end; p++) {
        if (p + 2 < end && p[1] == '-') {
            has |= (u8)*p <= c && c <= (u8)p[2];
            p += 2;
        } else {
            has |= (u8)*p == c;
        }
    }
    return has != negated;
}

/* True if an item of the pattern, from p to end, matches the character c. */
static bool item_matches(const char *p, const char *end, u8 c)
{
    if (!c)
        return false;
    if (*p == '[')
        return in_set(p + 1, end - 1, c);
    return *p == '.' || (u8)p[*p == '\\' && p[1]] == c;
}

static bool match_here(const char *p, const char *s);

/* The item p..end between least and most times, then what follows `rest`. */
static bool match_many(const char *p, const char *end, int least, int most,
                       const char *rest, const char *s)
{
    int n = 0;
    while (n < most && item_matches(p, end, s[n]))
        n++;
    for (; n >= least; n--) {
        if (match_here(rest, s + n))
            return true;
    }
    return false;
}

/* True if the pattern matches a beginning of s. An item is a character, ".", or
 * a set, perhaps with "*", "+" or "?" behind it. */
static bool match_here(const char *p, const char *s)
{
    while (*p) {
        if (*p == '$' && !p[1])
            return !*s;
        const char *end = item_end(p);
        if (*end == '*')
            return match_many(p, end, 0, INT_MAX, end + 1, s);
        if (*end == '+')
            return match_many(p, end, 1, INT_MAX, end + 1, s);
        if (*end == '?')
            return match_many(p, end, 0, 1, end + 1, s);
        if (!item_matches(p, end, *s++))
            return false;
        p = end;
    }
    return true;
}

/* True if the pattern matches anywhere in the line. */
static bool match(const char *pattern, const char *line)
{
    if (*pattern == '^')
        return match_here(pattern + 1, line);
    do {
        if (match_here(pattern, line))
            return true;
    } while (*line++);
    return false;
}

static void lower(char *s)
{
    for (; *s; s++)
        *s = tolower(*s);
}

/* Make a text of a line, to compare it. A byte 0 in the line would end the
 * text, so a newline, which no line contains, replaces it. */
static bool matches(const char *pattern, const char *line, size_t n)
{
    static char *copy;
    static size_t room;
    if (!ignore_case && !memchr(line, 0, n))
        return match(pattern, line);
    if (n >= room)
        copy = xrealloc(copy, room = 2 * n + 1);
    for (size_t i = 0; i < n; i++)
        copy[i] = !line[i] ? '\n' : ignore_case ? tolower(line[i]) : line[i];
    copy[n] = 0;
    return match(pattern, copy);
}

/* Print the selected lines of f. Returns their number. `name`: printed before
 * each line, or NULL. */
static u64 grep(const char *pattern, FILE *f, const char *name)
{
    static char *line;
    static size_t size;
    u64 found = 0;
    i64 n;
    for (u64 number = 1; !ferror(stdout) && (n = getline(&line, &size, f)) > 0;
         number++) {
        if (line[n - 1] == '\n')
            line[--n] = 0;
        bool selected = matches(pattern, line, n) != inverted;
        found += selected;
        if (selected && quiet)
            exit(0);
        if (!selected || count_only)
            continue;
        printf("%s%s", name ? name : "", name ? ":" : "");
        if (numbers)
            printf("%lu:", number);
        fwrite(line, 1, n, stdout);
        putchar('\n');
    }
    if (count_only)
        printf("%s%s%lu\n", name ? name : "", name ? ":" : "", found);
    return found;
}

int main(int argc, char **argv)
{
    static const char usage[] = "grep [-cinqv] PATTERN [FILE...]";
    bool failed = false;
    for (int c; (c = options(argc, argv, "cinqv", usage)) > 0;) {
        count_only |= c == 'c';
        ignore_case |= c == 'i';
        numbers |= c == 'n';
        quiet |= c == 'q';
        inverted |= c == 'v';
    }
    if (optind == argc)
        usage_exit(usage);
    char *pattern = argv[optind++];
    check_pattern(pattern);
    if (ignore_case)
        lower(pattern);
    bool named = argc - optind > 1;
    u64 found = 0;
    if (optind == argc && is_output(0, "standard input"))
        failed = true;
    else if (optind == argc)
        found = grep(pattern, stdin, NULL);
    failed |= stdin_failed();
    for (; optind < argc; optind++) {
        FILE *f = fopen(argv[optind], "r");
        bool same = f && is_output(fileno(f), argv[optind]);
        failed |= same;
        if (f && !same)
            found += grep(pattern, f, named ? argv[optind] : NULL);
        if (!f || ferror(f)) {
            warn("%s", argv[optind]);
            failed = true;
        }
        if (f)
            fclose(f);
    }
    return failed ? 2 : found == 0;
}
