/* head: prints the first lines (-n, 10) or bytes (-c) of files. */
#include "user/lib.h"

/* Returns the status: 1 if f is the output, after a message, or writing failed.
 */
static int head(FILE *f, const char *name, u64 lines, u64 bytes)
{
    int c;
    if (is_output(fileno(f), name))
        return 1;
    while (lines > 0 && bytes > 0 && (c = getc(f)) != EOF) {
        if (putchar(c) == EOF)
            return 1;
        bytes--;
        lines -= c == '\n';
    }
    return 0;
}

int main(int argc, char **argv)
{
    u64 lines = 10, bytes = ~0UL;
    int failed = 0;
    static const char usage[] = "head [-n LINES | -c BYTES] [FILE...]";
    if (argc > 1 && argv[1][0] == '-' && isdigit(argv[1][1]))
        lines = size_arg(argv[optind++] + 1, "lines"); /* -5 */
    for (int c; (c = options(argc, argv, "n:c:", usage)) > 0;) {
        lines = c == 'n' ? size_arg(optarg, "-n") : ~0UL;
        bytes = c == 'c' ? size_arg(optarg, "-c") : ~0UL;
    }
    if (optind == argc)
        failed = head(stdin, "standard input", lines, bytes);
    bool several = argc - optind > 1;
    for (; optind < argc; optind++) {
        FILE *f = fopen(argv[optind], "r");
        if (f && several)
            printf("==> %s <==\n", argv[optind]);
        if (f)
            failed |= head(f, argv[optind], lines, bytes);
        if (!f || ferror(f)) {
            warn("%s", argv[optind]);
            failed = 1;
        }
        if (f)
            fclose(f);
    }
    return failed | stdin_failed();
}
