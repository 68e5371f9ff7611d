/* advise: tells the system that parts of files will be needed soon, or not, by
 * the call of that name. The prefetch policy decides what follows. The advice
 * that reads are sequential or random is about an open file, so only the
 * program that reads can give it. */
#include "user/lib.h"

static const struct {
    const char *word;
    int advice;
} words[] = {{"willneed", ADVICE_WILLNEED}, {"dontneed", ADVICE_DONTNEED}};

static int advice_named(const char *word)
{
    for (u32 i = 0; i < NELEM(words); i++)
        if (strcmp(words[i].word, word) == 0)
            return words[i].advice;
    return -1;
}

int main(int argc, char **argv)
{
    static const char usage[] =
        "advise [-o OFFSET] [-n BYTES] willneed|dontneed FILE...";
    u64 offset = 0, n = 0;
    int c, failed = 0;
    while ((c = options(argc, argv, "o:n:", usage)) > 0)
        *(c == 'o' ? &offset : &n) = size_arg(optarg, c == 'o' ? "-o" : "-n");
    if (n > ULONG_MAX - offset)
        diex("-o %lu and -n %lu: the end is beyond 64 bits", offset, n);
    int advice = optind < argc ? advice_named(argv[optind]) : -1;
    if (advice < 0 || ++optind == argc)
        usage_exit(usage);
    for (; optind < argc; optind++) {
        int fd = open(argv[optind], O_RDONLY);
        if (fd < 0 || advise(fd, offset, n, advice) < 0) {
            warn("%s", argv[optind]);
            failed = 1;
        }
        if (fd >= 0)
            close(fd);
    }
    return failed;
}
