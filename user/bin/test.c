/*
 * test, and [ in the shell: is a condition true? Status 0: yes, 1: no, 2: it is
 * not a condition.
 *   -e -f -d -L -s -r FILE   FILE exists; is a regular file; a directory; a
 *                            symbolic link; not empty; can be opened to read
 *   -n -z TEXT               TEXT is not empty; is empty
 *   TEXT = != TEXT           the texts are equal; differ
 *   N -eq -ne -lt -le -gt -ge N
 *   ! CONDITION              CONDITION is false
 */
#include "user/lib.h"

static void NORETURN wrong(const char *what)
{
    warnx("%s: not understood", what);
    exit(2);
}

static bool readable(const char *path)
{
    int fd = open(path, O_RDONLY);
    return fd >= 0 && close(fd) == 0;
}

/* True if a test such as -f holds of its argument. */
static bool unary(const char *op, const char *arg)
{
    struct stat st;
    if (op[0] != '-' || !op[1] || op[2] || !strchr("efdLsrnz", op[1]))
        wrong(op);
    switch (op[1]) {
    case 'n':
        return *arg;
    case 'z':
        return !*arg;
    case 'L':
        return lstat(arg, &st) == 0 && S_ISLNK(st.st_mode);
    case 'r':
        return readable(arg);
    }
    if (stat(arg, &st) < 0)
        return false;
    switch (op[1]) {
    case 'f':
        return S_ISREG(st.st_mode);
    case 'd':
        return S_ISDIR(st.st_mode);
    case 's':
        return st.st_size > 0;
    }
    return true;
}

static i64 number(const char *text)
{
    i64 n;
    if (!parse_i64(text, &n))
        wrong(text);
    return n;
}

static const char *const ops[] = {"-eq", "-ne", "-lt", "-le",
                                  "-gt", "-ge", "=",   "!="};

static u32 find_op(const char *word)
{
    u32 i = 0;
    while (i < NELEM(ops) && strcmp(word, ops[i]) != 0)
        i++;
    return i;
}

static bool is_binary(const char *word)
{
    return find_op(word) < NELEM(ops);
}

/* True if the comparison holds: of texts by = and !=, of numbers by -eq and so
 * on. */
static bool binary(const char *a, const char *op, const char *b)
{
    if (!is_binary(op))
        wrong(op);
    if (op[0] != '-')
        return (strcmp(a, b) == 0) == (op[0] == '=');
    i64 x = number(a), y = number(b);
    bool answers[] = {x == y, x != y, x<y, x <= y, x> y, x >= y};
    return answers[find_op(op)];
}

/* True if the words are a true statement. How many they are decides what they
 * mean, as POSIX says. */
static bool statement(int count, char **words)
{
    if (count > 1 && count != 3 && strcmp(words[0], "!") == 0)
        return !statement(count - 1, words + 1);
    switch (count) {
    case 0:
        return false;
    case 1:
        return *words[0];
    case 2:
        return unary(words[0], words[1]);
    case 3:
        if (strcmp(words[0], "!") == 0 && !is_binary(words[1]))
            return !unary(words[1], words[2]);
        return binary(words[0], words[1], words[2]);
    }
    wrong(words[3]);
}

int main(int argc, char **argv)
{
    if (strcmp(progname, "[") == 0 && strcmp(argv[--argc], "]") != 0)
        wrong("[ without ]");
    return !statement(argc - 1, argv + 1);
}
