/* tail: prints the last lines (-n, 10) of files. */
#include "user/lib.h"

/* Keeps the last `lines` lines in a ring. */
static void tail(FILE *f, u64 lines)
{
    char **ring = calloc(lines, sizeof ring[0]);
    size_t *room = calloc(lines, sizeof room[0]);
    if (!ring || !room)
        die("-n %lu", lines);
    u64 n = 0;
    while (lines > 0 && getline(&ring[n % lines], &room[n % lines], f) > 0)
        n++;
    for (u64 i = n > lines ? n - lines : 0; i < n; i++)
        fputs(ring[i % lines], stdout);
    for (u64 i = 0; i < lines; i++)
        free(ring[i]);
    free(ring);
    free(room);
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
    return failed;
}
