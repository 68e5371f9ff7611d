/* Copy a regular file, for cp and, across disks, mv; and choose a temporary
 * name for a file that will replace another. */
#include "user/lib.h"

#define COPY_BYTES (64UL << 10)

/* Copy all that `from` gives to `to`. Returns -1, after a message, if that
 * failed. */
static int copy_bytes(int from, int to, const char *from_name,
                      const char *to_name)
{
    static char buf[COPY_BYTES];
    i64 n;
    while ((n = read(from, buf, sizeof buf)) > 0) {
        if (write_all(to, buf, n) != n) {
            warn("%s", to_name);
            return -1;
        }
    }
    if (n < 0)
        warn("%s", from_name);
    return n;
}

static bool same_file(const struct stat *st, const char *path)
{
    struct stat other;
    return S_ISREG(st->st_mode) && stat(path, &other) == 0 &&
           st->st_dev == other.st_dev && st->st_ino == other.st_ino;
}

int copy_file(const char *from, const char *to)
{
    struct stat st;
    int in = open(from, O_RDONLY);
    if (in < 0 || fstat(in, &st) < 0) {
        warn("%s", from);
        if (in >= 0)
            close(in);
        return -1;
    }
    if (same_file(&st, to)) {
        warnx("%s and %s are the same file", from, to);
        close(in);
        return -1;
    }
    int out = open(to, O_WRONLY | O_CREAT | O_TRUNC, st.st_mode & 0777);
    int result = -1;
    if (out < 0)
        warn("%s", to);
    else
        result = copy_bytes(in, out, from, to);
    close(in);
    if (out >= 0 && close(out) < 0) {
        warn("%s", to);
        result = -1;
    }
    return result;
}

/* Find a name beside the path that no file has: DIRECTORY/.newN. Returns -1 if
 * it would be too long. */
int spare_name(char spare[PATH_BYTES], const char *path)
{
    struct stat st;
    int n = basename(path) - path; /* of the directory, with its slash */
    u32 number = 0;
    do {
        if (snprintf(spare, PATH_BYTES, "%.*s.new%u", n, path, number++) >=
            PATH_BYTES) {
            errno = ENAMETOOLONG;
            return -1;
        }
    } while (lstat(spare, &st) == 0);
    return 0;
}
