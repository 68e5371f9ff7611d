/* hexdump: prints bytes as numbers and as text, 16 on a line; lines equal to
 * the one before become a single *. -s: skips this many bytes; -n: prints this
 * many; -C is accepted and changes nothing. */
#include "user/lib.h"

#define LINE 16

static void print_line(u64 offset, const u8 *byte, u32 n)
{
    char text[LINE + 1] = {0};
    printf("%08lx ", offset);
    for (u32 i = 0; i < LINE; i++) {
        if (i == LINE / 2)
            putchar(' ');
        if (i < n)
            printf(" %02x", byte[i]);
        else
            printf("   ");
    }
    for (u32 i = 0; i < n; i++)
        text[i] = isprint(byte[i]) ? byte[i] : '.';
    printf("  |%s|\n", text);
}

/* Returns the status: 1, after a message, if f is the output. */
static int hexdump(FILE *f, const char *name, u64 skip, u64 limit)
{
    u8 line[LINE], last[LINE];
    u64 offset = 0;
    bool starred = false;
    if (is_output(fileno(f), name))
        return 1;
    if (lseek(fileno(f), skip, SEEK_SET) >= 0)
        offset = skip;
    while (offset < skip && getc(f) != EOF)
        offset++;
    u64 first = offset;
    for (size_t n;
         !ferror(stdout) && (n = fread(line, 1, MIN(limit, LINE), f)) > 0;) {
        bool same = n == LINE && offset > first && !memcmp(line, last, LINE);
        if (!same)
            print_line(offset, line, n);
        else if (!starred)
            puts("*");
        starred = same;
        memcpy(last, line, n);
        offset += n;
        limit -= n;
    }
    printf("%08lx\n", offset);
    return 0;
}

int main(int argc, char **argv)
{
    static const char usage[] = "hexdump [-C] [-s BYTES] [-n BYTES] [FILE...]";
    u64 skip = 0, limit = ~0UL;
    int failed = 0;
    for (int c; (c = options(argc, argv, "Cs:n:", usage)) > 0;) {
        if (c == 's')
            skip = size_arg(optarg, "-s");
        if (c == 'n')
            limit = size_arg(optarg, "-n");
    }
    if (optind == argc)
        failed = hexdump(stdin, "standard input", skip, limit);
    for (; optind < argc; optind++) {
        FILE *f = fopen(argv[optind], "r");
        if (f)
            failed |= hexdump(f, argv[optind], skip, limit);
        if (!f || ferror(f)) {
            warn("%s", argv[optind]);
            failed = 1;
        }
        if (f)
            fclose(f);
    }
    return failed | stdin_failed();
}
