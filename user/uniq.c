/* uniq: prints equal lines that follow each other only once. -c: with their
 * number; -d: only lines that are repeated. */
#include "user/lib.h"

static bool counts, doubles;

static void print(const char *line, u64 times)
{
    if (times == 0 || (doubles && times == 1))
        return;
    if (counts)
        printf("%7lu ", times);
    puts(line);
}

int main(int argc, char **argv)
{
    char *line = NULL, *last = NULL;
    size_t size = 0, last_size = 0;
    u64 times = 0;
    for (int c; (c = options(argc, argv, "cd", "uniq [-cd] [FILE]")) > 0;) {
        counts |= c == 'c';
        doubles |= c == 'd';
    }
    FILE *f = optind < argc ? fopen(argv[optind], "r") : stdin;
    if (!f)
        die("%s", argv[optind]);
    if (is_output(fileno(f), optind < argc ? argv[optind] : "input"))
        return 1;
    for (i64 n; (n = getline(&line, &size, f)) > 0;) {
        line[n - 1] = line[n - 1] == '\n' ? 0 : line[n - 1];
        if (times > 0 && strcmp(line, last) == 0) {
            times++;
            continue;
        }
        print(last, times);
        char *t = last;
        last = line;
        line = t;
        size_t t_size = last_size;
        last_size = size;
        size = t_size;
        times = 1;
    }
    print(last, times);
    if (!ferror(f))
        return 0;
    warn("input");
    return 1;
}
