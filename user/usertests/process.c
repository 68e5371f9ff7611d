/* Processes: fork, exit, wait, kill, groups, exec, and their time. */
#include "user/usertests/usertests.h"

/* ---- fork, exit, wait ---- */

TEST(wait_gives_the_status_kept_to_eight_bits)
{
    const u32 statuses[] = {0, 1, 42, 255, 256, 0x1234};
    for (u32 i = 0; i < NELEM(statuses); i++)
        IS(STATUS(SPAWN(exits, statuses[i])), statuses[i] & 255);
    OK(wait(SPAWN(exits, 7), NULL, 0));
}

TEST(wait_finds_every_child_once)
{
    enum { N = 30 };
    int pids[N], status;
    for (int i = 0; i < N; i++)
        pids[i] = SPAWN(exits, i);
    for (int i = 0; i < N; i++) {
        int pid = OK(wait(-1, &status, 0)), k = 0;
        while (k < N && pids[k] != pid)
            k++;
        TRUE(k < N);
        IS(status, k);
        pids[k] = 0;
    }
    FAILS(ECHILD, wait(-1, &status, 0));
}

TEST(wait_can_choose_a_child_and_need_not_block)
{
    int fds[2], status;
    OK(pipe(fds));
    int slow = SPAWN(waits_for_end, (u64)fds), fast = SPAWN(exits, 3);
    IS(wait(fast, &status, 0), fast);
    IS(status, 3);
    IS(wait(slow, &status, WNOHANG), 0);
    IS(wait(-1, &status, WNOHANG), 0);
    FAILS(ECHILD, wait(fast, &status, 0));
    FAILS(ECHILD, wait(getpid(), &status, WNOHANG));
    FAILS(EINVAL, wait(-1, &status, 2));
    FAILS(EINVAL, wait(0, &status, 0));
    close_both(fds);
    JOIN(slow);
}

TEST(wait_with_a_bad_address_keeps_the_child)
{
    int pid = SPAWN(exits, 5);
    for (u32 i = 1; i < NELEM(bad_addresses); i++)
        FAILS(EFAULT, wait(pid, (int *)bad_addresses[i], 0));
    FAILS(EFAULT, wait(pid, (int *)pattern, 0));
    IS(STATUS(pid), 5);
}

static void orphan(u64 report)
{
    if (OK(fork()) > 0)
        return;
    while (getppid() != 1)
        OK(sleep(0));
    int pid = getpid();
    IS(write(report, &pid, sizeof pid), sizeof pid);
    _exit(0);
}

TEST(an_orphan_becomes_a_child_of_init)
{
    int fds[2], pid;
    OK(pipe(fds));
    JOIN(SPAWN(orphan, fds[1]));
    IS(read(fds[0], &pid, sizeof pid), sizeof pid);
    while (kill(pid) == 0) /* till init has waited for it */
        OK(sleep(0));
    IS(errno, ESRCH);
}

static void knows_its_parent(u64 parent)
{
    IS(getppid(), parent);
    TRUE(getpid() != (int)parent);
}

TEST(a_child_knows_its_parent)
{
    JOIN(SPAWN(knows_its_parent, getpid()));
}

TEST(fork_fails_cleanly_when_there_is_no_room)
{
    int fds[2], pid = 1, n = 0;
    OK(pipe(fds));
    for (; gauge("mem.free") > 1000 && (pid = fork()) > 0; n++)
        ;
    if (pid == 0) {
        waits_for_end((u64)fds);
        _exit(0);
    }
    TRUE(n > 0);
    TRUE(pid > 0 || errno == EAGAIN || errno == ENOMEM);
    close_both(fds);
    while (n-- > 0)
        OK(wait(-1, NULL, 0));
    FAILS(ECHILD, wait(-1, NULL, 0));
    JOIN(SPAWN(exits, 0));
}

/* ---- kill and groups ---- */

TEST(kill_ends_a_process_whatever_it_does)
{
    int in[2], out[2];
    OK(pipe(in));
    OK(pipe(out));
    const int pids[] = {SPAWN(never_ends, 0), SPAWN(sleeps_for_ever, 0),
                        SPAWN(reads_for_ever, in[0]),
                        SPAWN(writes_for_ever, out[1])};
    for (u32 i = 0; i < NELEM(pids); i++) {
        OK(kill(pids[i]));
        IS(STATUS(pids[i]), WKILLED);
        FAILS(ESRCH, kill(pids[i]));
    }
}

TEST(kill_refuses_what_cannot_be_killed)
{
    FAILS(EPERM, kill(1));
    FAILS(EINVAL, kill(0));
    FAILS(ESRCH, kill(0x7fffffff));
    FAILS(ESRCH, kill(-0x7fffffff));
    IS(raw_call(SYS_kill, 1UL << 40, 0, 0), -EINVAL);
    IS(raw_call(SYS_kill, 1UL << 63, 0, 0), -EINVAL);
}

TEST(a_group_is_killed_whole_and_alone)
{
    int fds[2], pids[3];
    OK(pipe(fds));
    for (int i = 0; i < 3; i++)
        pids[i] = SPAWN(sleeps_for_ever, 0);
    OK(setpgrp(pids[0], 0));
    OK(setpgrp(pids[1], pids[0]));
    OK(kill(-pids[0]));
    IS(STATUS(pids[0]), WKILLED);
    IS(STATUS(pids[1]), WKILLED);
    IS(wait(pids[2], NULL, WNOHANG), 0);
    OK(kill(pids[2]));
    IS(STATUS(pids[2]), WKILLED);
    FAILS(ESRCH, kill(-pids[0]));
}

static int gate[2]; /* a pipe that only the test writes */

/* Fork until no process is left, in a group of its own, with much memory, so
 * that each fork takes long. A child that was not killed says so as soon as the
 * gate is open. A child that was killed wakes in the gate and ends. */
static void forks_for_ever(u64 report)
{
    close(gate[1]);
    OK(setpgrp(0, 0));
    memset((char *)OK(sbrk(8 << 20)), 1, 8 << 20);
    int pid;
    while ((pid = fork()) > 0)
        IS(write(report, "+", 1), 1);
    if (pid < 0) {
        TRUE(errno == EAGAIN || errno == ENOMEM); /* a slow kill: all of them */
        sleeps_for_ever(0);
    }
    HEAR(gate);
    IS(write(report, "-", 1), 1);
}

TEST(a_group_that_forks_is_killed_whole)
{
    for (int round = 0; round < 20; round++) {
        int fds[2];
        OK(pipe(fds));
        OK(pipe(gate));
        int pid = SPAWN(forks_for_ever, fds[1]);
        close(fds[1]);
        close(gate[0]);
        HEAR(fds);
        OK(kill(-pid));
        close(gate[1]);
        IS(STATUS(pid), WKILLED);
        for (i64 n; (n = OK(read(fds[0], buf, 100))) > 0;)
            TRUE(!memchr(buf, '-', n));
        close(fds[0]);
    }
}

TEST(only_oneself_and_children_change_group)
{
    FAILS(ESRCH, setpgrp(getppid(), 0));
    FAILS(ESRCH, setpgrp(1, 0));
    FAILS(EINVAL, setpgrp(-1, 0));
    FAILS(EINVAL, setpgrp(0, -1));
    OK(setpgrp(0, 0));
    OK(setpgrp(getpid(), 0));
    int pid = SPAWN(sleeps_for_ever, 0);
    OK(setpgrp(pid, 0));
    OK(kill(-pid));
    IS(STATUS(pid), WKILLED);
    FAILS(ESRCH, setpgrp(pid, 0));
}

/* ---- exec ---- */

static void runs_echo(u64 fd)
{
    OK(dup2(fd, 1));
    exec("/bin/echo", (char *[]){"echo", "one two", "", "three", NULL});
    fail(__LINE__, "expected exec not to return, got \"%s\"", strerror(errno));
}

TEST(exec_passes_arguments_and_descriptors)
{
    int fds[2];
    OK(pipe(fds));
    int pid = SPAWN(runs_echo, fds[1]);
    close(fds[1]);
    const char *wanted = "one two  three\n";
    IS(read_all(fds[0], buf, sizeof buf), strlen(wanted));
    IS(memcmp(buf, wanted, strlen(wanted)), 0);
    JOIN(pid);
}

TEST(exec_refuses_what_is_no_program)
{
    char *argv[] = {"x", NULL};
    WRITE_FILE("text", 5000, 1);
    OK(chmod("text", 0755));
    WRITE_FILE("empty", 0, 1);
    OK(chmod("empty", 0755));
    FAILS(ENOEXEC, exec("text", argv));
    FAILS(ENOEXEC, exec("empty", argv));
    FAILS(ENOEXEC, exec(".", argv));
    FAILS(ENOEXEC, exec("/dev/zero", argv));
    FAILS(ENOENT, exec("missing", argv));
    FAILS(ENOENT, exec("", argv));
    FAILS(ENOTDIR, exec("text/x", argv));
}

TEST(exec_refuses_a_program_cut_short)
{
    char *argv[] = {"echo", NULL};
    OK(copy_file("/bin/echo", "program"));
    OK(chmod("program", 0644));
    FAILS(ENOEXEC, exec("program", argv));
    OK(chmod("program", 0755));
    for (u64 size = STAT("program").st_size; size > 8; size /= 2) {
        OK(truncate("program", size / 2));
        FAILS(ENOEXEC, exec("program", argv));
    }
}

TEST(exec_refuses_too_many_arguments)
{
    static char *argv[40000];
    for (u32 i = 0; i < NELEM(argv) - 1; i++)
        argv[i] = "x";
    FAILS(E2BIG, exec("/bin/echo", argv));
    memset(buf, 'a', sizeof buf - 1);
    FAILS(E2BIG, exec("/bin/echo", (char *[]){buf, buf, buf, buf, NULL}));
}

/* ---- time ---- */

TEST(clocks_go_forward_and_sleep_is_not_short)
{
    u64 virtual = gettime(CLOCK_VIRTUAL), wall = gettime(CLOCK_WALL);
    u64 counter = ticks();
    OK(sleep(2 * NS_PER_MS));
    TRUE(gettime(CLOCK_VIRTUAL) >= virtual + 2 * NS_PER_MS);
    TRUE(gettime(CLOCK_WALL) >= wall);
    TRUE(ticks() >= counter + 2 * NS_PER_MS / 100);
    FAILS(EINVAL, gettime(2));
    FAILS(EINVAL, sleep(1UL << 63));
    OK(sleep(0));
}

TEST(processor_time_is_counted_and_inherited)
{
    struct rusage before, after, children;
    OK(rusage(RUSAGE_SELF, &before));
    u64 wanted = computes();
    OK(rusage(RUSAGE_SELF, &after));
    u64 spent = after.user_ns - before.user_ns;
    TRUE(spent > 0 && after.system_ns >= before.system_ns);
    JOIN(SPAWN(computes_right, wanted));
    OK(rusage(RUSAGE_CHILDREN, &children));
    TRUE(children.user_ns > spent / 10 && children.system_ns > 0);
    FAILS(EINVAL, rusage(2, &before));
}
