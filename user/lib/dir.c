/* Read directories, a buffer of entries at a time. */
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

/* Put a copy of name into names[count], which has room for *room pointers. */
static char **add_name(char **names, size_t count, size_t *room,
                       const char *name)
{
    if (count + 1 >= *room) {
        *room = 2 * *room + 16;
        names = xrealloc(names, *room * sizeof names[0]);
    }
    names[count] = strdup(name);
    names[count + 1] = NULL;
    return names;
}

/* Return the names in a directory, without "." and "..", and NULL at the end;
 * NULL if it cannot be read. */
char **read_names(const char *path)
{
    size_t count = 0, room = 1;
    DIR *d = opendir(path);
    if (!d)
        return NULL;
    char **names = xmalloc(sizeof names[0]);
    names[0] = NULL;
    for (struct dirent *e; (e = readdir(d));)
        if (!is_dot(e->name))
            names = add_name(names, count++, &room, e->name);
    int error = errno;
    closedir(d);
    if (error) {
        free_names(names);
        errno = error;
        return NULL;
    }
    return names;
}

void free_names(char **names)
{
    for (char **name = names; *name; name++)
        free(*name);
    free(names);
}

bool is_dot(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}
