/* Expectations, and processes that the tests start. */
#include "user/usertests/usertests.h"

/* ---- expectations ---- */

void fail(int line, const char *fmt, ...)
{
    char text[400];
    va_list args;
    int n = snprintf(text, sizeof text, "FAIL %s: line %d: ", current, line);
    va_start(args, fmt);
    vsnprintf(text + n, sizeof text - n - 1, fmt, args);
    va_end(args);
    strlcat(text, "\n", sizeof text);
    write(1, text, strlen(text));
    _exit(SAID);
}

i64 expect_ok(int line, const char *what, i64 got)
{
    if (got < 0)
        fail(line, "expected success, got \"%s\" from %s", strerror(errno),
             what);
    return got;
}

void expect_is(int line, const char *what, i64 got, i64 wanted)
{
    if (got != wanted)
        fail(line, "expected %ld, got %ld from %s (errno: %s)", wanted, got,
             what, strerror(errno));
}

void expect_fails(int line, const char *what, int error, i64 got)
{
    if (got != -1)
        fail(line, "expected \"%s\", got %ld from %s", strerror(error), got,
             what);
    if (errno != error)
        fail(line, "expected \"%s\", got \"%s\" from %s", strerror(error),
             strerror(errno), what);
}

/* ---- processes ---- */

int spawn(int line, void (*fn)(u64), u64 arg)
{
    int pid = expect_ok(line, "fork()", fork());
    if (pid == 0) {
        fn(arg);
        _exit(0);
    }
    return pid;
}

int status_of(int line, int pid)
{
    int status;
    expect_is(line, "wait(pid)", wait(pid, &status, 0), pid);
    if (status == SAID)
        _exit(SAID);
    return status;
}

void close_both(const int fds[2])
{
    close(fds[0]);
    close(fds[1]);
}

void never_ends(u64 unused)
{
    (void)unused;
    for (;;)
        asm volatile("");
}

void exits(u64 status)
{
    _exit(status);
}

/* ---- what processes do ---- */

void waits_for_end(u64 fds)
{
    close(((int *)fds)[1]);
    HEAR((int *)fds);
}

void reads_for_ever(u64 fd)
{
    read(fd, buf, 1);
}

void writes_for_ever(u64 fd)
{
    while (write(fd, buf, sizeof buf) > 0)
        ;
}

void sleeps_for_ever(u64 unused)
{
    (void)unused;
    sleep(~0UL >> 1);
}

u64 computes(void)
{
    u64 state = 1, sum = 0;
    for (int i = 0; i < 1000000; i++)
        sum += random_u64(&state);
    return sum;
}

void computes_right(u64 wanted)
{
    TRUE(computes() == wanted);
}

void makes_and_removes(u64 rounds)
{
    char name[20], other[20];
    u64 random = getpid();
    for (u64 i = 0; i < rounds; i++) {
        u64 size = random_u64(&random) % 20000;
        snprintf(name, sizeof name, "f%d-%lu", getpid(), i % 7);
        snprintf(other, sizeof other, "g%d", getpid());
        WRITE_FILE(name, size, random);
        OK(rename(name, other));
        CHECK_FILE(other, size, random);
        OK(link(other, name));
        OK(unlink(other));
        CHECK_FILE(name, size, random);
        OK(unlink(name));
    }
}

void sends_records(u64 fd)
{
    char record[RECORD];
    memset(record, getpid() & 0x7f, sizeof record);
    for (int i = 0; i < RECORDS; i++)
        IS(write(fd, record, sizeof record), sizeof record);
}

void check_records(int fd)
{
    int count = 0;
    for (i64 n; (n = OK(read_all(fd, buf, RECORD))) > 0; count++) {
        IS(n, RECORD);
        IS(memcmp(buf, buf + 1, RECORD - 1), 0);
    }
    IS(count, WRITERS * RECORDS);
}
