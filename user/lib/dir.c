/* Directories, read a buffer of entries at a time. */
#include "user/lib.h"

struct dir {
    int fd;
    u32 at, have;
    char buf[4096] __attribute__((aligned(8)));
};

DIR *opendir(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        return NULL;
    DIR *d = malloc(sizeof *d);
    if (!d) {
        close(fd);
        return NULL;
    }
    d->fd = fd;
    d->at = d->have = 0;
    return d;
}

struct dirent *readdir(DIR *d)
{
    if (d->at == d->have) {
        errno = 0;
        i64 n = getdents(d->fd, d->buf, sizeof d->buf);
        if (n <= 0)
            return NULL;
        d->at = 0;
        d->have = n;
    }
    struct dirent *e = (struct dirent *)(d->buf + d->at);
    d->at += e->length;
    return e;
}

int closedir(DIR *d)
{
    int result = close(d->fd);
    free(d);
    return result;
}

bool is_dot(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}
