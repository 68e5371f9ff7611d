/*
 * Buffered streams.
 *
 * - A stream has one direction: it reads or it writes, as opened.
 * - A reader's bytes not yet taken are buf[at..have), a writer's bytes not yet
 *   written buf[0..have).
 * - Every open stream is on the list `streams`, for fflush(NULL) and exit.
 */
#include "user/lib.h"
#include "user/lib/sink.h"

#define PRINTED_BYTES (256 << 10) /* the most that a read gets of a device */
#define TEXT_BYTES    (8U << 20)  /* the room of a text at most */

enum buffering { UNDECIDED, FULL, LINE, CALL };

struct stream {
    int fd;
    bool writes;
    bool ended;               /* a read has come to the end */
    int error;                /* the first E number, or 0 */
    enum buffering buffering; /* of a writer, settled at its first write */
    size_t at, have;
    struct stream *next;
    char *buf; /* BUFSIZ bytes */
};

static char in_buf[BUFSIZ], out_buf[BUFSIZ], err_buf[BUFSIZ];
static struct stream in = {.fd = 0, .buf = in_buf};
static struct stream out = {
    .fd = 1, .writes = true, .buf = out_buf, .next = &in};
static struct stream err = {
    .fd = 2, .writes = true, .buffering = CALL, .buf = err_buf, .next = &out};
static struct stream *streams = &err;

FILE *const stdin = &in, *const stdout = &out, *const stderr = &err;

static FILE *stream_of(int fd, bool writes)
{
    FILE *f = malloc(sizeof *f + BUFSIZ);
    if (!f)
        return NULL;
    *f = (FILE){.fd = fd, .writes = writes, .buf = (char *)(f + 1)};
    f->next = streams;
    streams = f;
    return f;
}

/* The flags of open() for a mode; -1 and EINVAL if there is no such stream. */
static int flags_of(const char *mode)
{
    if (!mode[0] || !mode[1] || strcmp(mode + 1, "b") == 0) {
        switch (mode[0]) {
        case 'r':
            return O_RDONLY;
        case 'w':
            return O_WRONLY | O_CREAT | O_TRUNC;
        case 'a':
            return O_WRONLY | O_CREAT | O_APPEND;
        }
    }
    errno = EINVAL;
    return -1;
}

FILE *fopen(const char *path, const char *mode)
{
    int flags = flags_of(mode);
    int fd = flags < 0 ? -1 : open(path, flags, 0666);
    if (fd < 0)
        return NULL;
    FILE *f = stream_of(fd, flags != O_RDONLY);
    if (!f)
        close(fd);
    return f;
}

/* True if the stream has this direction; if not, set its error. */
static bool goes(FILE *f, bool writes)
{
    if (f->writes != writes)
        f->error = errno = EBADF;
    return f->writes == writes;
}

/* Write the buffer out. If the reader of a pipe has gone, end the program. */
static int flush(FILE *f)
{
    size_t n = f->writes ? f->have : 0;
    if (n > 0) {
        f->have = 0;
        if (write_all(f->fd, f->buf, n) != (i64)n)
            f->error = errno;
        if (f->error == EPIPE)
            _exit(1);
    }
    errno = f->error ? f->error : errno;
    return f->error ? EOF : 0;
}

int fflush(FILE *f)
{
    if (f)
        return flush(f);
    int result = 0;
    for (f = streams; f; f = f->next)
        result |= f->writes ? flush(f) : 0;
    return result;
}

int fclose(FILE *f)
{
    int result = flush(f);
    struct stream **link = &streams;
    while (*link != f)
        link = &(*link)->next;
    *link = f->next;
    if (close(f->fd) < 0)
        result = EOF;
    if (f->buf == (char *)(f + 1))
        free(f);
    return result;
}

int fileno(FILE *f)
{
    return f->fd;
}

/* Return whether the stream had an error, and set errno to the error again,
 * because later calls may have changed it. */
int ferror(FILE *f)
{
    errno = f->error ? f->error : errno;
    return f->error != 0;
}

bool stdin_failed(void)
{
    if (!ferror(stdin))
        return false;
    warn("standard input");
    return true;
}

void clearerr(FILE *f)
{
    f->error = 0;
    f->ended = false;
}

/* ---- reading ---- */

/* Read more bytes. False at the end, at which the stream stays. Before reading
 * from the console, prompts on standard output are written out. */
static bool refill(FILE *f)
{
    if (f->ended)
        return false;
    if (f == stdin && stdout->buffering == LINE)
        flush(stdout);
    i64 n = read(f->fd, f->buf, BUFSIZ);
    f->at = 0;
    f->have = n > 0 ? n : 0;
    f->ended = n == 0;
    if (n < 0)
        f->error = errno;
    return n > 0;
}

/* True if there is a byte to take. */
static bool more(FILE *f)
{
    return goes(f, false) && (f->at < f->have || refill(f));
}

int getc(FILE *f)
{
    if (!more(f))
        return EOF;
    return (u8)f->buf[f->at++];
}

int getchar(void)
{
    return getc(stdin);
}

/* Make room for this many bytes in *line. */
static bool grow_line(char **line, size_t *size, size_t bytes, FILE *f)
{
    if (*line && bytes <= *size)
        return true;
    size_t room = MAX(2 * bytes, 128);
    char *bigger = realloc(*line, room);
    if (!bigger) {
        f->error = errno;
        return false;
    }
    *line = bigger;
    *size = room;
    return true;
}

/* Read a line of any length, with its newline. Returns its length, -1 at the
 * end. */
i64 getline(char **line, size_t *size, FILE *f)
{
    size_t length = 0;
    while (more(f)) {
        char *from = f->buf + f->at;
        char *newline = memchr(from, '\n', f->have - f->at);
        size_t n = newline ? (size_t)(newline + 1 - from) : f->have - f->at;
        if (!grow_line(line, size, length + n + 1, f))
            return -1;
        memcpy(*line + length, from, n);
        length += n;
        (*line)[length] = 0;
        f->at += n;
        if (newline)
            break;
    }
    return length > 0 ? (i64)length : -1;
}

size_t fread(void *to, size_t size, size_t n, FILE *f)
{
    size_t want = size > 0 ? size * MIN(n, ULONG_MAX / size) : 0, done = 0;
    while (done < want && more(f)) {
        size_t part = MIN(want - done, f->have - f->at);
        memcpy((char *)to + done, f->buf + f->at, part);
        f->at += part;
        done += part;
    }
    return size > 0 ? done / size : 0;
}

/* ---- writing ---- */

/* Put bytes into the stream's buffer, which is flushed when it is full, and at
 * a newline if the stream is a console. */
static void put(FILE *f, const char *from, size_t n)
{
    if (!goes(f, true))
        return;
    if (f->buffering == UNDECIDED)
        f->buffering = isatty(f->fd) ? LINE : FULL;
    bool line = f->buffering == LINE && memchr(from, '\n', n);
    while (n > 0) {
        size_t part = MIN(n, BUFSIZ - f->have);
        memcpy(f->buf + f->have, from, part);
        f->have += part;
        from += part;
        n -= part;
        if (f->have == BUFSIZ)
            flush(f);
    }
    if (line)
        flush(f);
}

/* Return the result of a call that wrote: 0, or EOF if it failed. */
static int done(FILE *f)
{
    if (f->buffering == CALL)
        flush(f);
    return f->error ? EOF : 0;
}

int putchar(int c)
{
    char byte = c;
    put(stdout, &byte, 1);
    return done(stdout) ? EOF : (u8)c;
}

int fputs(const char *s, FILE *f)
{
    put(f, s, strlen(s));
    return done(f);
}

int puts(const char *s)
{
    put(stdout, s, strlen(s));
    return putchar('\n') == EOF ? EOF : 0;
}

size_t fwrite(const void *from, size_t size, size_t n, FILE *f)
{
    if (size == 0 || n == 0)
        return 0;
    if (n > ULONG_MAX / size) {
        f->error = errno = EINVAL;
        return 0;
    }
    put(f, from, size * n);
    return done(f) ? 0 : n;
}

struct stream_sink {
    struct sink sink;
    FILE *f;
    size_t total;
};

static void stream_put(struct sink *sink, const char *text, size_t n)
{
    struct stream_sink *s = (struct stream_sink *)sink;
    put(s->f, text, n);
    s->total += n;
}

static int print(FILE *f, const char *fmt, va_list args)
{
    struct stream_sink s = {{stream_put}, f, 0};
    sink_format(&s.sink, fmt, args);
    return done(f) ? EOF : format_result(s.total);
}

int fprintf(FILE *f, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int total = print(f, fmt, args);
    va_end(args);
    return total;
}

int printf(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int total = print(stdout, fmt, args);
    va_end(args);
    return total;
}

/* ---- without a buffer ---- */

i64 read_all(int fd, void *buf, size_t n)
{
    size_t done = 0;
    while (done < n) {
        i64 r = read(fd, (char *)buf + done, n - done);
        if (r < 0)
            return -1;
        if (r == 0)
            break;
        done += r;
    }
    return done;
}

i64 write_all(int fd, const void *buf, size_t n)
{
    size_t done = 0;
    while (done < n) {
        i64 r = write(fd, (const char *)buf + done, n - done);
        if (r <= 0)
            return -1;
        done += r;
    }
    return done;
}

/* Double the memory of a text. Returns NULL and sets errno if there is none. */
static char *grow_text(char *text, size_t *size)
{
    *size = MAX(2 * *size, 8192);
    if (*size <= TEXT_BYTES)
        return realloc(text, *size);
    errno = EFBIG;
    return NULL;
}

/* All that can be read from fd, and its length; NULL and an error. */
static char *read_whole(int fd, size_t *length)
{
    size_t size = 0, have = 0;
    char *text = NULL;
    for (i64 n = 1; n > 0; have += n) {
        char *bigger = size - have < 4096 ? grow_text(text, &size) : text;
        text = bigger ? bigger : text;
        n = bigger ? read(fd, text + have, size - have - 1) : -1;
        if (n < 0) {
            free(text);
            return NULL;
        }
    }
    text[have] = 0;
    *length = have;
    return text;
}

char *read_text(const char *path, size_t *length)
{
    size_t n;
    int fd = open(path, O_RDONLY);
    if (fd < 0)
        return NULL;
    char *text = read_whole(fd, &n);
    int error = errno;
    close(fd);
    errno = error;
    if (text && length)
        *length = n;
    return text;
}

/* Return the text of a file of /dev, which is read in one call so that it is of
 * one moment. */
char *read_printed(const char *path)
{
    int fd = open(path, O_RDONLY);
    if (fd < 0)
        return NULL;
    char *text = xmalloc(PRINTED_BYTES + 1);
    i64 n = read(fd, text, PRINTED_BYTES);
    close(fd);
    if (n < 0) {
        free(text);
        return NULL;
    }
    text[n] = 0;
    return text;
}

bool is_same_file(int fd, int other)
{
    struct stat a, b;
    return fstat(fd, &a) == 0 && fstat(other, &b) == 0 && S_ISREG(a.st_mode) &&
           a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool is_output(int fd, const char *name)
{
    bool same = is_same_file(fd, 1);
    if (same)
        warnx("%s: is the output too", name);
    return same;
}

bool isatty(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) &&
           st.st_rdev == CONSOLE_NUMBER;
}
