/* Reads a file into the text, and writes the text back. */
#include "user/bin/edit/edit.h"

static char chunk[16384];

/* Append bytes to the text. */
static const char *add_bytes(const char *bytes, u32 n)
{
    while (n > 0) {
        const char *newline = memchr(bytes, '\n', n);
        u32 part = newline ? (u32)(newline - bytes) : n, row = text.count - 1;
        u32 end = text.line[row].length;
        if (!text_insert(row, end, bytes, part))
            return text_refused();
        if (newline && !text_split(row, end + part))
            return text_refused();
        part += newline != NULL;
        bytes += part;
        n -= part;
    }
    return NULL;
}

/* Read a file into the text. Returns what went wrong, or NULL, also if there is
 * no such file. */
const char *file_read(const char *path)
{
    struct stat st;
    i64 n;
    if (!text_begin())
        return text_refused();
    int fd = open(path, O_RDONLY);
    if (fd < 0)
        return errno == ENOENT ? NULL : strerror(errno);
    if (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode)) {
        close(fd);
        return "not a regular file";
    }
    while ((n = read(fd, chunk, sizeof chunk)) > 0) {
        const char *why = add_bytes(chunk, n);
        if (why)
            return why;
    }
    text.changed = false;
    const char *why = n < 0 ? strerror(errno) : NULL;
    close(fd);
    return why;
}

static bool flush_chunk(int fd, u32 *have)
{
    bool done = write_all(fd, chunk, *have) == *have;
    *have = 0;
    return done;
}

/* Put bytes into the chunk, and write the chunk each time that it is full. */
static bool write_bytes(int fd, u32 *have, const char *bytes, u32 n)
{
    while (n > 0) {
        u32 part = MIN(n, (u32)sizeof chunk - *have);
        memcpy(chunk + *have, bytes, part);
        *have += part;
        bytes += part;
        n -= part;
        if (*have == sizeof chunk && !flush_chunk(fd, have))
            return false;
    }
    return true;
}

/* Write the text with a line end between lines, and fsync it. Returns false if
 * a write fails. */
static bool write_text(int fd)
{
    u32 have = 0;
    for (u32 i = 0; i < text.count; i++) {
        const struct line *l = &text.line[i];
        if (!write_bytes(fd, &have, l->at, l->length) ||
            (i + 1 < text.count && !write_bytes(fd, &have, "\n", 1)))
            return false;
    }
    return flush_chunk(fd, &have) && fsync(fd) == 0;
}

/* Write the text into this file; 0, or an error number. */
static int write_to(const char *path, u32 mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
    if (fd < 0)
        return errno;
    int error = write_text(fd) ? 0 : errno;
    return close(fd) < 0 && !error ? errno : error;
}

/* Write a new file, under a name that is free, and rename it over the old one
 * once it is whole. */
static int replace(const char *path, u32 mode)
{
    char other[PATH_BYTES];
    if (spare_name(other, path) < 0)
        return errno;
    int error = write_to(other, mode);
    if (!error && (chmod(other, mode) < 0 || rename(other, path) < 0))
        error = errno;
    if (error)
        unlink(other);
    return error;
}

/* Write the text to a file. A plain file with one name is replaced by a new
 * one, others are overwritten. Returns what went wrong, or NULL. */
const char *file_write(const char *path)
{
    struct stat st;
    bool there = lstat(path, &st) == 0;
    bool simple = there && S_ISREG(st.st_mode) && st.st_nlink == 1;
    int error =
        simple ? replace(path, st.st_mode & 07777) : write_to(path, 0666);
    if (error)
        return strerror(error);
    text.changed = false;
    return NULL;
}
