/* tail: prints the last lines (-n, 10) of files. */
#include "user/lib.h"

struct line {
    char *text;
    size_t room, length;
};

/* Keep the last `lines` lines in a ring, which grows with the file up to this
 * number of lines. */
static void tail(FILE *f, u64 lines)
{
    struct line *ring = NULL;
    u64 room = 0, n = 0;
    while (lines > 0) {
        if (n == room && room < lines) {
            u64 bigger = MIN(2 * room + 16, lines);
            ring = xrealloc(ring, bigger * sizeof ring[0]);
            memset(ring + room, 0, (bigger - room) * sizeof ring[0]);
            room = bigger;
        }
        struct line *l = &ring[n % room];
        i64 length = getline(&l->text, &l->room, f);
        if (length < 0)
            break;
        l->length = length;
        n++;
    }
    for (u64 i = n > lines ? n - lines : 0; i < n; i++)
        fwrite(ring[i % room].text, 1, ring[i % room].length, stdout);
    for (u64 i = 0; i < room; i++)
        free(ring[i].text);
    free(ring);
}

int main(int argc, char **argv)
{
    u64 lines = 10;
    int failed = 0;
    if (argc > 1 && argv[1][0] == '-' && isdigit(argv[1][1]))
        lines = size_arg(argv[optind++] + 1, "lines"); /* -5 */
    while (options(argc, argv, "n:", "tail [-n LINES] [FILE...]") > 0)
        lines = size_arg(optarg, "-n");
    if (optind == argc)
        tail(stdin, lines);
    bool several = argc - optind > 1;
    for (; optind < argc; optind++) {
        FILE *f = fopen(argv[optind], "r");
        if (f && several)
            printf("==> %s <==\n", argv[optind]);
        if (f)
            tail(f, lines);
        if (!f || ferror(f)) {
            warn("%s", argv[optind]);
            failed = 1;
        }
        if (f)
            fclose(f);
    }
    return failed | stdin_failed();
}
