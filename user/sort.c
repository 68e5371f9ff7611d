/* sort: prints the lines of files in order. -n: by the number at the start
 * of the line; -r: in reverse; -u: equal lines only once. */
#include "user/lib.h"

static bool by_number, reverse, unique;
static char **lines;
static size_t count, room;

static int compare(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    int order = 0;
    if (by_number) {
        i64 m = strtol(x, NULL, 10), n = strtol(y, NULL, 10);
        order = (m > n) - (m < n);
    }
    if (order == 0)
        order = strcmp(x, y);
    return reverse ? -order : order;
}

static void read_lines(FILE *f)
{
    static char *line;
    static size_t size;
    for (i64 n; (n = getline(&line, &size, f)) > 0;) {
        if (line[n - 1] == '\n')
            line[n - 1] = 0;
        if (count == room) {
            room = 2 * room + 1024;
            lines = xrealloc(lines, room * sizeof lines[0]);
        }
        lines[count++] = strdup(line);
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
        if (!unique || i == 0 || strcmp(lines[i], lines[i - 1]) != 0)
            puts(lines[i]);
    }
    return 0;
}
