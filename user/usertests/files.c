/* Files and devices for tests to use. */
#include "user/usertests/usertests.h"

/* ---- files ---- */

/* Differs from byte to byte, from seed to seed, and from sector to sector. */
char pattern_byte(u64 seed, u64 offset)
{
    return seed * 31 + offset * 7 + (offset >> 9);
}

void pattern(char *to, u64 n, u64 seed, u64 offset)
{
    for (u64 i = 0; i < n; i++)
        to[i] = pattern_byte(seed, offset + i);
}

void write_file(int line, const char *path, u64 n, u64 seed)
{
    int fd =
        expect_ok(line, path, open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644));
    for (u64 at = 0; at < n; at += sizeof buf) {
        u64 piece = MIN(n - at, sizeof buf);
        pattern(buf, piece, seed, at);
        expect_is(line, path, write(fd, buf, piece), piece);
    }
    expect_ok(line, path, close(fd));
}

void check_file(int line, const char *path, u64 n, u64 seed)
{
    int fd = expect_ok(line, path, open(path, O_RDONLY));
    for (u64 at = 0; at < n; at += sizeof buf) {
        u64 piece = MIN(n - at, sizeof buf);
        expect_is(line, path, read(fd, buf, piece), piece);
        for (u64 i = 0; i < piece; i++)
            if (buf[i] != pattern_byte(seed, at + i))
                fail(line, "expected %s to hold its pattern, got %#x at %lu",
                     path, buf[i], at + i);
    }
    expect_is(line, path, read(fd, buf, 1), 0);
    close(fd);
}

bool is_zero(const char *p, u64 n)
{
    while (n > 0 && !*p)
        p++, n--;
    return n == 0;
}

int create(const char *path)
{
    return open(path, O_RDWR | O_CREAT, 0644);
}

bool exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

struct stat stat_of(int line, const char *path)
{
    struct stat st;
    expect_ok(line, path, lstat(path, &st));
    return st;
}

struct statfs space(void)
{
    struct statfs st;
    OK(statfs("/", &st));
    return st;
}

void remove_tree(const char *path)
{
    if (unlink(path) == 0 || errno != EISDIR)
        return;
    char below[PATH_BYTES], **names = read_names(path);
    for (char **name = names; name && *name; name++)
        if (join_path(below, sizeof below, path, *name))
            remove_tree(below);
    if (names)
        free_names(names);
    rmdir(path);
}

/* ---- devices ---- */

void read_device(const char *path, char *to, u64 n)
{
    int fd = OK(open(path, O_RDONLY));
    to[OK(read_all(fd, to, n - 1))] = 0;
    close(fd);
}

i64 gauge(const char *name)
{
    static char text[16384];
    read_device("/dev/stat", text, sizeof text);
    for (char *line, *rest = text; (line = strsep(&rest, "\n"));) {
        u64 n = strlen(name);
        if (!strncmp(line, name, n) && line[n] == ' ')
            return strtol(line + n, NULL, 10);
    }
    fail(__LINE__, "expected a row %s in /dev/stat, got none", name);
}

/* ---- calls with wrong arguments ---- */

i64 raw_call(u64 number, u64 a, u64 b, u64 c)
{
    register u64 a0 asm("a0") = a;
    register u64 a1 asm("a1") = b;
    register u64 a2 asm("a2") = c;
    register u64 a7 asm("a7") = number;
    asm volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a7) : "memory");
    return a0;
}

const u64 bad_addresses[BAD_ADDRESSES] = {
    0,
    8,
    0xfff,
    0xffff,
    NOT_MAPPED,
    USER_TOP,
    1UL << 38,
    1UL << 40,
    1UL << 63,
    KERNEL_TEXT,
    KERNEL_TEXT + 0x1000,
    ~0UL - 4095,
    ~0UL - 7,
    ~0UL,
};
