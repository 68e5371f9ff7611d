/* wc: counts lines (-l), words (-w) and bytes (-c) of files or of standard
 * input; without an option all three. */
#include "user/lib.h"

static bool want[3]; /* lines, words, bytes */
static u64 total[3];

/* Print the counts that are wanted: lines, words, bytes. */
static void print(const u64 count[3], const char *name)
{
    const char *space = "";
    for (int i = 0; i < 3; i++) {
        if (want[i]) {
            printf("%s%*lu", space, want[0] + want[1] + want[2] > 1 ? 7 : 0,
                   count[i]);
            space = " ";
        }
    }
    printf("%s%s\n", *name ? " " : "", name);
}

/* Count what a descriptor gives. A word ends at a blank, or at the end. */
static int count(int fd, const char *name)
{
    static char buf[64 << 10];
    u64 here[3] = {0};
    bool in_word = false;
    i64 n;
    while ((n = read(fd, buf, sizeof buf)) > 0) {
        here[2] += n;
        for (i64 i = 0; i < n; i++) {
            bool space = isspace(buf[i]);
            here[0] += buf[i] == '\n';
            here[1] += in_word && space;
            in_word = !space;
        }
    }
    here[1] += in_word;
    if (n < 0) {
        warn("%s", name);
        return 1;
    }
    for (int i = 0; i < 3; i++)
        total[i] += here[i];
    print(here, name);
    return 0;
}

int main(int argc, char **argv)
{
    int failed = 0;
    for (int c; (c = options(argc, argv, "lwc", "wc [-lwc] [FILE...]")) > 0;)
        want[c == 'l' ? 0 : c == 'w' ? 1 : 2] = true;
    if (!want[0] && !want[1] && !want[2])
        want[0] = want[1] = want[2] = true;
    if (optind == argc)
        return count(0, "");
    bool several = argc - optind > 1;
    for (; optind < argc; optind++) {
        int fd = open(argv[optind], O_RDONLY);
        if (fd < 0) {
            warn("%s", argv[optind]);
            failed = 1;
            continue;
        }
        failed |= count(fd, argv[optind]);
        close(fd);
    }
    if (several)
        print(total, "total");
    return failed;
}
