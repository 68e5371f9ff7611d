/* chmod: sets the permissions of files, as an octal number. */
#include "user/lib.h"

int main(int argc, char **argv)
{
    static const char usage[] = "chmod OCTAL FILE...";
    char *end;
    int failed = 0;
    while (options(argc, argv, "", usage) > 0)
        ;
    if (argc - optind < 2)
        usage_exit(usage);
    u64 mode = strtoul(argv[optind], &end, 8);
    if (!isdigit(*argv[optind]) || *end || mode > 07777)
        diex("%s: not an octal mode", argv[optind]);
    for (optind++; optind < argc; optind++) {
        if (chmod(argv[optind], mode) < 0) {
            warn("%s", argv[optind]);
            failed = 1;
        }
    }
    return failed;
}
