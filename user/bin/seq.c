/* seq: prints the whole numbers from FIRST (1 if not given) to LAST, in steps
 * of STEP (1 if not given). */
#include "user/lib.h"

static i64 number(const char *text)
{
    i64 n;
    if (!parse_i64(text, &n))
        diex("%s: not a whole number of 64 bits", text);
    return n;
}

int main(int argc, char **argv)
{
    if (argc < 2 || argc > 4 || strcmp(argv[1], "-h") == 0)
        usage_exit("seq [FIRST [STEP]] LAST");
    i64 first = argc > 2 ? number(argv[1]) : 1;
    i64 step = argc > 3 ? number(argv[2]) : 1;
    i64 last = number(argv[argc - 1]);
    if (step == 0)
        diex("a step of 0 leads nowhere");
    for (i64 n = first; step > 0 ? n <= last : n >= last;) {
        if (printf("%ld\n", n) < 0 || __builtin_add_overflow(n, step, &n))
            break;
    }
    return 0;
}
