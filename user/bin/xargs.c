/* xargs: adds the words of standard input to a command (echo, if none is
 * given) and runs it, as often as all words need. -n: with at most this many
 * words at a time. */
#include "user/lib.h"

#define MOST_WORDS 256
#define MOST_BYTES (64UL << 10) /* of words; exec takes twice that in all */

static char *words[MOST_WORDS + 1];
static int given, count;
static int failed;

/* Run the command with the words collected so far, and forget those. */
static void run_once(void)
{
    words[count] = NULL;
    if (run(words) != 0)
        failed = 123;
    while (count > given)
        free(words[--count]);
}

/* The next word of standard input, or NULL. */
static char *next_word(void)
{
    char *word = xmalloc(1);
    size_t n = 0, room = 1;
    int c = getchar();
    while (isspace(c))
        c = getchar();
    for (; c != EOF && !isspace(c); c = getchar()) {
        if (n + 1 == room)
            word = xrealloc(word, room *= 2);
        word[n++] = c;
    }
    word[n] = 0;
    if (n > 0)
        return word;
    free(word);
    return NULL;
}

int main(int argc, char **argv)
{
    static const char usage[] = "xargs [-n WORDS] [COMMAND [ARGUMENT...]]";
    u64 most = MOST_WORDS;
    while (options(argc, argv, "n:", usage) > 0)
        most = size_arg(optarg, "-n");
    for (; optind < argc && given < MOST_WORDS - 1; optind++)
        words[given++] = argv[optind];
    if (given == 0)
        words[given++] = "echo";
    if (most == 0 || optind < argc)
        usage_exit(usage);
    most = MIN(most, (u64)(MOST_WORDS - given));
    if (is_output(0, "standard input"))
        return 1;
    count = given;
    u64 bytes = 0;
    for (char *word; (word = next_word());) {
        u64 n = strlen(word) + 1;
        if (count > given && bytes + n > MOST_BYTES)
            run_once(), bytes = 0;
        words[count++] = word;
        bytes += n;
        if ((u64)(count - given) == most)
            run_once(), bytes = 0;
    }
    if (count > given)
        run_once();
    return failed | stdin_failed();
}
