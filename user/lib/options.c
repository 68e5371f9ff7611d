/* Options of one letter, alone or together: -l -a, -la, -n 5, -n5. `--` ends
 * them; so does the first operand. */
#include "user/lib.h"

char *optarg;
int optind = 1;
static const char *letter = ""; /* the next of this argument */

void usage_exit(const char *usage)
{
    fprintf(stderr, "usage: %s\n", usage);
    exit(2);
}

/* Return the next option's letter, with its value in optarg; -1 if there are no
 * more. `letter` is where in a word such as -abc the last call stopped. */
int options(int argc, char **argv, const char *letters, const char *usage)
{
    if (!*letter) {
        char *arg = optind < argc ? argv[optind] : "";
        if (arg[0] != '-' || !arg[1])
            return -1;
        optind++;
        if (strcmp(arg, "--") == 0)
            return -1;
        letter = arg + 1;
    }
    int c = *letter++;
    const char *known = c == ':' ? NULL : strchr(letters, c);
    if (!known && (c == 'h' || (c == '-' && strcmp(letter, "help") == 0))) {
        printf("usage: %s\n", usage);
        exit(0);
    }
    if (!known) {
        warnx("unknown option -%c", c);
        usage_exit(usage);
    }
    if (known[1] != ':')
        return c;
    if (!*letter && optind == argc) {
        warnx("option -%c takes a value", c);
        usage_exit(usage);
    }
    optarg = *letter ? (char *)letter : argv[optind++];
    letter = "";
    return c;
}
