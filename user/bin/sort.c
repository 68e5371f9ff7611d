/* sort: prints the lines of files in order. -n: by the number at the start
 * of the line; -r: in reverse; -u: equal lines only once. */
#include "user/lib.h"

static bool by_number, reverse, unique;
static struct line {
    char *text; /* with a 0 behind it */
    size_t length;
} * lines;
static size_t count, room;

/* The digits of the number at the start of a line, without zeros before them,
 * and *minus if it is less than 0. Any number of digits. */
static const char *digits(const char *line, size_t *n, bool *minus)
{
    line += strspn(line, " \t\n\v\f\r");
    *minus = *line == '-';
    line += *line == '-' || *line == '+';
    line += strspn(line, "0");
    *n = strspn(line, "0123456789");
    *minus &= *n > 0;
    return line;
}

/* Compare the numbers at the beginnings of two lines, of any length: first by
 * sign, then by the count of digits, then by digits. */
static int compare_numbers(const char *x, const char *y)
{
    size_t m, n;
    bool x_minus, y_minus;
    x = digits(x, &m, &x_minus);
    y = digits(y, &n, &y_minus);
    if (x_minus != y_minus)
        return x_minus ? -1 : 1;
    int order = m != n ? (m > n) - (m < n) : strncmp(x, y, n);
    return x_minus ? -order : order;
}

/* Compare by all bytes, which may be 0, too. If one line is the beginning of
 * the other one, it comes first. */
static int compare_bytes(const struct line *x, const struct line *y)
{
    int order = memcmp(x->text, y->text, MIN(x->length, y->length));
    return order ? order : (x->length > y->length) - (x->length < y->length);
}

static int compare(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    int order = 0;
    if (by_number)
        order = compare_numbers(x->text, y->text);
    if (order == 0)
        order = compare_bytes(x, y);
    return reverse ? -order : order;
}

/* Append the lines of a file to `lines`, without their ends. */
static void read_lines(FILE *f)
{
    static char *line;
    static size_t size;
    for (i64 n; (n = getline(&line, &size, f)) > 0;) {
        if (line[n - 1] == '\n')
            line[--n] = 0;
        if (count == room) {
            room = 2 * room + 1024;
            lines = xrealloc(lines, room * sizeof lines[0]);
        }
        char *text = memcpy(xmalloc(n + 1), line, n + 1);
        lines[count++] = (struct line){text, n};
    }
}

int main(int argc, char **argv)
{
    for (int c;
         (c = options(argc, argv, "nru", "sort [-nru] [FILE...]")) > 0;) {
        by_number |= c == 'n';
        reverse |= c == 'r';
        unique |= c == 'u';
    }
    if (optind == argc)
        read_lines(stdin);
    if (stdin_failed())
        return 1;
    for (; optind < argc; optind++) {
        FILE *f = fopen(argv[optind], "r");
        if (f)
            read_lines(f);
        if (!f || ferror(f))
            die("%s", argv[optind]);
        fclose(f);
    }
    qsort(lines, count, sizeof lines[0], compare);
    for (size_t i = 0; i < count; i++) {
        if (unique && i > 0 && compare_bytes(&lines[i], &lines[i - 1]) == 0)
            continue;
        fwrite(lines[i].text, 1, lines[i].length, stdout);
        putchar('\n');
    }
    return 0;
}
