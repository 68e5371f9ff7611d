/*
 * The C library of user programs, whole: system calls, strings, numbers,
 * memory, streams, directories, options, time and the keys of the console.
 *
 * - What C programmers know has its usual name and contract; where less is
 *   done than elsewhere the comment says so. No floating point, no locale,
 *   no environment, no threads.
 * - A call that fails returns -1 (or NULL) and sets errno.
 * - A program is a file or a folder in user/bin/ (commands) or user/load/
 *   (workloads), with main(argc, argv); it becomes /bin/NAME.
 */
#ifndef SLUICE_USER_LIB_H
#define SLUICE_USER_LIB_H

#include <limits.h>
#include <stdarg.h>
#include "kernel/base/abi.h"
#include "kernel/base/units.h"

#define PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define NORETURN          __attribute__((noreturn))

/* ---- system calls (kernel/base/abi.h), stubs in lib/syscall.c ---- */

int fork(void); /* fflush() first, or both print what is in the buffers */
void _exit(int status) NORETURN;
int wait(int pid, int *status, int flags);
int exec(const char *path, char *const argv[]);
int kill(int pid);
int getpid(void);
int getppid(void);
int setpgrp(int pid, int pgrp);
void *sbrk(i64 increment); /* (void *)-1 on failure */
int sleep(u64 ns);
u64 gettime(int clock);
int rusage(int who, struct rusage *);
int poweroff(int status, bool sync_first);
int open(const char *path, int flags, ...); /* mode only with O_CREAT */
int close(int fd);
i64 read(int fd, void *buf, size_t n);
i64 write(int fd, const void *buf, size_t n);
i64 lseek(int fd, i64 offset, int whence);
i64 pread(int fd, void *buf, size_t n, u64 offset);
i64 pwrite(int fd, const void *buf, size_t n, u64 offset);
int dup(int fd);
int dup2(int fd, int to);
int pipe(int fds[2]);
int ioctl(int fd, int request, u64 arg);
int fstat(int fd, struct stat *);
int stat(const char *path, struct stat *);
int lstat(const char *path, struct stat *);
int statfs(const char *path, struct statfs *);
i64 getdents(int fd, void *buf, size_t n);
int link(const char *existing, const char *name);
int symlink(const char *target, const char *name);
i64 readlink(const char *path, char *buf, size_t n);
int unlink(const char *path);
int mkdir(const char *path, u32 mode);
int rmdir(const char *path);
int mknod(const char *path, u32 mode, u32 device);
int rename(const char *from, const char *to);
int chmod(const char *path, u32 mode);
int utime(const char *path, u64 access_s, u64 modification_s);
int truncate(const char *path, u64 size);
int ftruncate(int fd, u64 size);
int chdir(const char *path);
int getcwd(char *buf, size_t n);
int mount(const char *disk, const char *dir, int flags);
int umount(const char *dir, bool force);
int sync(void);
int fsync(int fd);
int fdatasync(int fd);
int smoothsync(u64 age_ns);
int advise(int fd, u64 offset, u64 n, int advice);
int charge(u64 instructions); /* see compute.h */
int socket(int kind, u32 port);
i64 sendto(int fd, const void *buf, size_t n, const struct net_address *);
i64 recvfrom(int fd, void *buf, size_t n, struct net_address *, u64 timeout_ns);
int nfssvc(int fd, const char *directory);

/* ---- addresses of the network (lib/address.c) ---- */

/* A host as text, such as 10.0.0.1. False if it is none. */
bool parse_host(const char *text, u32 *host);
u32 host_arg(const char *text); /* dies if the text is no address */

#define HOST_BYTES 16
char *host_text(char text[HOST_BYTES], u32 host); /* returns text */

/* ---- errors (lib/error.c) ---- */

extern int errno;
extern const char *progname; /* last part of argv[0] */

const char *strerror(int error);

/* Print `prog: message: words of errno` on stderr; die exits with 1. The
 * ones that end in x leave the words away. */
void warn(const char *fmt, ...) PRINTF(1, 2);
void warnx(const char *fmt, ...) PRINTF(1, 2);
void die(const char *fmt, ...) PRINTF(1, 2) NORETURN;
void diex(const char *fmt, ...) PRINTF(1, 2) NORETURN;

/* ---- processes (lib/process.c) ---- */

/* Flushes the streams. If one fails, a status of 0 becomes 1; if it is stdout,
 * that is reported. */
void exit(int status) NORETURN;

/* exec argv[0], in /bin unless it has a slash; a file that is no program is
 * run as a script by sh. Returns only on failure. */
int execp(char *const argv[]);

/* Fork, execp, wait. The exit status, 128 + 2 if killed, 127 if there is no
 * such program (said on stderr), -1 if there is no more process. */
int run(char *const argv[]);

/* After execp of name has failed: why, and the status to exit with. */
const char *exec_error(const char *name);
int exec_status(void);

/* ---- characters and text (lib/string.c) ---- */

static inline bool isdigit(int c)
{
    return c >= '0' && c <= '9';
}
static inline bool isupper(int c)
{
    return c >= 'A' && c <= 'Z';
}
static inline bool islower(int c)
{
    return c >= 'a' && c <= 'z';
}
static inline bool isalpha(int c)
{
    return isupper(c) || islower(c);
}
static inline bool isalnum(int c)
{
    return isalpha(c) || isdigit(c);
}
static inline bool isspace(int c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}
static inline bool isprint(int c)
{
    return c >= ' ' && c <= '~';
}
static inline int tolower(int c)
{
    return isupper(c) ? c + 'a' - 'A' : c;
}
static inline int toupper(int c)
{
    return islower(c) ? c + 'A' - 'a' : c;
}

void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int byte, size_t n);
int memcmp(const void *a, const void *b, size_t n);
void *memchr(const void *, int byte, size_t n);
size_t strlen(const char *);
size_t strnlen(const char *, size_t n);
int strcmp(const char *, const char *);
int strncmp(const char *, const char *, size_t n);
char *strchr(const char *, int c);
char *strrchr(const char *, int c);
char *strstr(const char *text, const char *part);
size_t strspn(const char *, const char *set);
size_t strcspn(const char *, const char *set);
char *strsep(char **rest, const char *delimiters);
char *strdup(const char *); /* by xmalloc */

/* Copy or append within n bytes, the final 0 included; returns the length
 * wanted: too long if >= n. */
size_t strlcpy(char *to, const char *from, size_t n);
size_t strlcat(char *to, const char *from, size_t n);

const char *basename(const char *path); /* after the last slash */

void strip_slashes(char *path); /* off its end */

/* dir/name into path[n]. False with a message and ENAMETOOLONG if it does not
 * fit. */
bool join_path(char *path, size_t n, const char *dir, const char *name);

/* ---- numbers (lib/number.c) ---- */

/* Bases 0 and 2 to 36. A number that does not fit becomes the nearest one that
 * does, and ERANGE. */
i64 strtol(const char *, char **end, int base);
u64 strtoul(const char *, char **end, int base);
int atoi(const char *);

/* All of text as a decimal number, with blanks and a sign before it or not.
 * False if anything else is in it or it exceeds 64 bits. */
bool parse_i64(const char *text, i64 *value);

/* All of text as a size: decimal, 0x..., or with k, m, g after it (powers of
 * 1024). False if anything else is in it or it exceeds 64 bits. */
bool parse_size(const char *text, u64 *value);
/* The size that the text says; exits with `what: bad number` if it is none. */
u64 size_arg(const char *text, const char *what);
/* Decimal seconds such as 0.25; dies if the text is no such number. */
u64 seconds_arg_ns(const char *text, const char *what);

void qsort(void *base, size_t n, size_t size,
           int (*compare)(const void *, const void *));

/* One generator for all: splitmix64. *state is the seed. */
u64 random_u64(u64 *state);

/* ---- memory (lib/malloc.c) ---- */

void *malloc(size_t n); /* 16-byte aligned */
void *calloc(size_t n, size_t size);
void *realloc(void *, size_t n);
void free(void *);
void *xmalloc(size_t n); /* die when there is no memory */
void *xrealloc(void *, size_t n);

/* ---- formatted output (lib/format.c) and streams (lib/stdio.c) ---- */

/* Conversions d i u x X o c s p %, flags - 0 + space #, width, precision,
 * *, and lengths hh h l ll z j t. All of them return the number of bytes of
 * the text, or -1 and ERANGE if an int cannot hold it. */
int vsnprintf(char *buf, size_t n, const char *fmt, va_list);
int snprintf(char *buf, size_t n, const char *fmt, ...) PRINTF(3, 4);

/* Buffered streams. One that writes to the console is flushed at each line,
 * stderr at each call, others when full, on fflush and at exit. There are no
 * signals: writing to a pipe nobody reads ends the program with status 1.
 * - A stream reads or writes. A call that goes the other way fails with EBADF.
 * - An error stays with a stream: until clearerr(), each call that writes to
 *   it, fflush() and fclose() return EOF. So does the end: until clearerr(),
 *   nothing more is read, also if the file grows or the user types on. */
#define EOF    (-1)
#define BUFSIZ 16384

typedef struct stream FILE;
extern FILE *const stdin, *const stdout, *const stderr;

/* "r", "w" or "a", with a b after it or not; EINVAL for other modes. */
FILE *fopen(const char *path, const char *mode);
int fclose(FILE *); /* EOF if something was not written */
int fflush(FILE *); /* NULL: all */
int fileno(FILE *);
int ferror(FILE *); /* if it is true, errno is the stream's error */
void clearerr(FILE *);
bool stdin_failed(void); /* after a message, if an error ended the input */
int getc(FILE *);
int getchar(void);
int putchar(int c);
int fputs(const char *, FILE *);
int puts(const char *);
size_t fread(void *, size_t size, size_t n, FILE *);
size_t fwrite(const void *, size_t size, size_t n, FILE *);
int fprintf(FILE *, const char *fmt, ...) PRINTF(2, 3);
int printf(const char *fmt, ...) PRINTF(1, 2);

/* A line of any length, with its newline if it has one, into *line, which
 * malloc made (or NULL) with room for *size. Its length; -1 at the end, or
 * without memory. */
i64 getline(char **line, size_t *size, FILE *);

/* All n bytes, or for reading those before the end of the file; or -1. */
i64 read_all(int fd, void *buf, size_t n);
i64 write_all(int fd, const void *buf, size_t n);

/* A whole file as text of malloc with a 0 behind it, or NULL: EFBIG beyond
 * 8 MiB, as of a device that has no end. */
char *read_text(const char *path, size_t *length);

/* read_text of what a device prints, as it was at one time: in one read, of up
 * to 256 KiB (kernel/file/dev.c). */
char *read_printed(const char *path);

bool isatty(int fd); /* is it the console? */

/* True if both are open on one regular file. */
bool is_same_file(int fd, int other);

/* True after a message if fd is open on the regular file that standard output
 * is: a program that prints what it reads would not end. */
bool is_output(int fd, const char *name);

/* ---- directories and files (lib/dir.c, tree.c, glob.c, copy.c) ---- */

typedef struct dir DIR;
DIR *opendir(const char *path);
struct dirent *readdir(DIR *); /* NULL at the end; after an error, errno */
int closedir(DIR *);
bool is_dot(const char *name); /* "." or ".." */

/* The names in a directory except . and .., in its order, in memory of malloc
 * that free_names() frees; NULL ends them. NULL on failure. No descriptor stays
 * open, so that a walk down a tree holds none for each level. */
char **read_names(const char *path);
void free_names(char **names);

/* A file that tree_walk() has come to. */
struct tree_entry {
    const char *path; /* for messages; it may be longer than PATH_BYTES */
    const char *name; /* for calls, in the directory where the walk is */
    struct stat st;   /* of the file itself, also if it is a link */
    size_t depth;     /* 0: what the walk began with */
    bool failed;      /* something below it failed */
};

/*
 * Call visit for the file at `path` and, if it is a directory, first for all
 * that is below it; each directory comes after its contents. Symbolic links
 * are not followed. A tree may be of any depth: the walk goes down by chdir(),
 * and returns in the end. Returns 1 if it or any visit failed (visit returned
 * other than 0), after messages, or 0. A file that is not there is left out
 * without a message if `may_miss`.
 */
int tree_walk(const char *path, bool may_miss,
              int (*visit)(const struct tree_entry *));

/* Call found for each file that matches a pattern with or without slashes
 * (* ? [a-z] [!a-z], and \\ takes a meaning away), in no order; names that
 * begin with a dot only if the pattern does. */
void glob(const char *pattern, void (*found)(void *, const char *path),
          void *arg);

/* Copy a regular file's bytes and permissions. -1 after a warning. */
int copy_file(const char *from, const char *to);

/* A name that no file has, in the directory of the file at `path`: for a file
 * that is made there, and renamed to `path` when it is whole. -1 and an error
 * if the name is too long. */
int spare_name(char spare[PATH_BYTES], const char *path);

/* ---- options (lib/options.c) ---- */

/*
 * The next option letter of argv, -1 after the last. `letters` as "ln:": a
 * colon means the letter takes a value, left in optarg. argv[optind] is then
 * the first operand. -h prints the usage and exits with 0; an option not in
 * `letters` does so on stderr, with 2.
 */
extern char *optarg;
extern int optind;
int options(int argc, char **argv, const char *letters, const char *usage);
void usage_exit(const char *usage) NORETURN; /* wrong operands: status 2 */

/* ---- time (lib/time.c) ---- */

/* Seconds since 1970 as 2026-11-21 09:07:03 (UTC) into text, which is
 * returned. */
#define DATE_BYTES 32
char *date_text(char text[DATE_BYTES], u64 seconds);

/* The hart's time counter, 100 ns a tick on QEMU's virt machine. */
static inline u64 ticks(void)
{
    u64 t;
    asm volatile("rdtime %0" : "=r"(t));
    return t;
}

/* ---- keys of the console (lib/keys.c) ---- */

#define CTRL(c)         ((c) - '@')
#define KEY_DELETE_BACK 0x7f

/* Keys that are no byte. */
enum {
    KEY_UP = 256,
    KEY_DOWN,
    KEY_LEFT,
    KEY_RIGHT,
    KEY_HOME,
    KEY_END,
    KEY_PAGE_UP,
    KEY_PAGE_DOWN,
    KEY_DELETE,
    KEY_SCREEN_SIZE, /* no key: the terminal has told its size */
    KEY_UNKNOWN
};

/* The next key from descriptor 0, the console in raw mode; EOF at its end. */
int read_key(void);

/* 24 and 80 until the terminal has answered ask_screen_size(), which comes
 * as KEY_SCREEN_SIZE; a terminal that does not know the question is silent. */
extern u32 screen_rows, screen_columns;
void ask_screen_size(void);

#endif
