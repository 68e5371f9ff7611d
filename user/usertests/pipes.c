/* Pipes. */
#include "user/usertests/usertests.h"

TEST(a_pipe_ends_with_its_last_writer)
{
    int fds[2];
    OK(pipe(fds));
    int copy = OK(dup(fds[1]));
    IS(write(fds[1], "abc", 3), 3);
    close(fds[1]);
    IS(write(copy, "de", 2), 2);
    close(copy);
    IS(read(fds[0], buf, 4), 4);
    IS(read(fds[0], buf, 100), 1);
    IS(read(fds[0], buf, 100), 0);
}

static void writes_until_epipe(u64 fds)
{
    close(((int *)fds)[0]);
    writes_for_ever(((int *)fds)[1]);
    IS(errno, EPIPE);
}

TEST(a_pipe_without_readers_gives_epipe)
{
    int fds[2];
    OK(pipe(fds));
    int pid = SPAWN(writes_until_epipe, (u64)fds);
    IS(read(fds[0], buf, 1), 1);
    close(fds[0]);
    FAILS(EPIPE, write(fds[1], "x", 1));
    JOIN(pid);
}

static void sends_a_megabyte(u64 fd)
{
    for (u64 at = 0, n; at < 1 << 20; at += n) {
        n = MIN(1 + at % 20011, (1 << 20) - at);
        pattern(buf, n, 3, at);
        IS(write(fd, buf, n), n);
    }
}

TEST(a_pipe_keeps_every_byte_in_order)
{
    int fds[2];
    u64 at = 0;
    OK(pipe(fds));
    int pid = SPAWN(sends_a_megabyte, fds[1]);
    close(fds[1]);
    for (i64 n; (n = OK(read(fds[0], buf, 1 + at % 9973))) > 0; at += n) {
        pattern(buf2, n, 3, at);
        IS(memcmp(buf, buf2, n), 0);
    }
    IS(at, 1 << 20);
    JOIN(pid);
}

TEST(what_one_call_writes_to_a_pipe_stays_together)
{
    int fds[2], pids[WRITERS];
    OK(pipe(fds));
    SPAWN_ALL(pids, sends_records, fds[1]);
    close(fds[1]);
    check_records(fds[0]);
    JOIN_ALL(pids);
}
