/* See crash.h. */
#include "tools/bench/guest/crash.h"

static void copy_word(char **line, char *to, size_t n)
{
    char *word = strsep(line, " \n");
    strlcpy(to, word ? word : "", n);
}

static u64 number_word(char **line)
{
    char *word = strsep(line, " \n");
    return word ? strtoul(word, NULL, 10) : 0;
}

struct crash_machine crash_machine(void)
{
    static char text[512];
    struct crash_machine m = {0};
    char *line = text;
    int fd = open("/machine", O_RDONLY);
    if (fd < 0 || read_all(fd, text, sizeof text - 1) <= 0)
        die("/machine");
    close(fd);
    copy_word(&line, m.type, sizeof m.type);
    copy_word(&line, m.options, sizeof m.options);
    m.bytes = number_word(&line);
    m.count = number_word(&line);
    m.pace = MAX(number_word(&line), 1UL);
    return m;
}
