/* uniq: prints equal lines that follow each other only once. -c: with their
 * number; -d: only lines that are repeated. */
#include "user/lib.h"

static bool counts, doubles;

struct line {
    char *text;
    size_t room, length; /* without its newline; any bytes */
};

/* Print a line that came so many times in a row, if the options want it. */
static void print(const struct line *l, u64 times)
{
    if (times == 0 || (doubles && times == 1))
        return;
    if (counts)
        printf("%7lu ", times);
    fwrite(l->text, 1, l->length, stdout);
    putchar('\n');
}

static bool is_equal(const struct line *a, const struct line *b)
{
    return a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

int main(int argc, char **argv)
{
    static const char usage[] = "uniq [-cd] [FILE]";
    struct line line = {0}, last = {0};
    u64 times = 0;
    for (int c; (c = options(argc, argv, "cd", usage)) > 0;) {
        counts |= c == 'c';
        doubles |= c == 'd';
    }
    if (argc - optind > 1)
        usage_exit(usage);
    const char *name = optind < argc ? argv[optind] : "standard input";
    FILE *f = optind < argc ? fopen(name, "r") : stdin;
    if (!f)
        die("%s", name);
    if (is_output(fileno(f), name))
        return 1;
    for (i64 n;
         !ferror(stdout) && (n = getline(&line.text, &line.room, f)) > 0;) {
        line.length = n - (line.text[n - 1] == '\n');
        if (times > 0 && is_equal(&line, &last)) {
            times++;
            continue;
        }
        print(&last, times);
        struct line other = last;
        last = line;
        line = other;
        times = 1;
    }
    print(&last, times);
    if (!ferror(f))
        return 0;
    warn("%s", name);
    return 1;
}
