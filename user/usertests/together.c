/* Processes that change the same files at the same time. */
#include "user/usertests/usertests.h"

TEST(appends_of_several_processes_are_all_there)
{
    int pids[WRITERS], fd = OK(open("f", O_WRONLY | O_CREAT | O_APPEND, 0644));
    SPAWN_ALL(pids, sends_records, fd);
    JOIN_ALL(pids);
    check_records(OK(open("f", O_RDONLY)));
}

TEST(processes_change_one_directory_at_the_same_time)
{
    int pids[4];
    SPAWN_ALL(pids, makes_and_removes, 40);
    JOIN_ALL(pids);
    OK(mkdir("d", 0755));
    IS(STAT(".").st_nlink, 3);
}

/* Rename one of four files or directories there and back, 200 times. Others
 * make some of these calls fail. */
static void moves_back_and_forth(u64 which)
{
    static const char *const ends[][2] = {
        {"a/x", "b/x"}, {"a/d", "b/d"}, {"b/y", "a/d/y"}, {"b", "a/d/b"}};
    for (int i = 0; i < 200; i++) {
        rename(ends[which][0], ends[which][1]);
        rename(ends[which][1], ends[which][0]);
    }
}

TEST(renames_across_directories_never_deadlock)
{
    int pids[4];
    OK(mkdir("a", 0755));
    OK(mkdir("b", 0755));
    OK(mkdir("a/d", 0755));
    WRITE_FILE("a/x", 10, 1);
    WRITE_FILE("b/y", 10, 2);
    for (u32 i = 0; i < NELEM(pids); i++)
        pids[i] = SPAWN(moves_back_and_forth, i);
    JOIN_ALL(pids);
}

static void takes_many(u64 fd)
{
    char name[20], taken = 0;
    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof name, "once-%d", i);
        int file = open(name, O_RDWR | O_CREAT | O_EXCL, 0644);
        TRUE(file >= 0 || errno == EEXIST);
        taken += file >= 0;
        close(file);
    }
    IS(write(fd, &taken, 1), 1);
}

TEST(an_exclusive_create_has_one_winner)
{
    int fds[2], pids[4];
    OK(pipe(fds));
    SPAWN_ALL(pids, takes_many, fds[1]);
    JOIN_ALL(pids);
    IS(read(fds[0], buf, 100), 4);
    IS(buf[0] + buf[1] + buf[2] + buf[3], 50);
}
