/*
 * mix: several users, each doing one small task after another.
 *
 *   mix users=8 dir=/data prepare=1
 *   mix users=8 dir=/data runtime_s=120
 *
 * - With prepare=1 it makes a directory and a file for each user, and ends.
 * - Without it, all users begin at one time. A user draws tasks at random, each
 *   kind with the same probability (the table below), and does them in its own
 *   directory. It begins no task after runtime_s. It is a closed loop without
 *   pauses: what the users get done in the time is the throughput.
 * - The same words give the same work: a user's tasks and blocks come from the
 *   seed and the user's number. How many are done depends on the machine.
 *
 * When all have ended, each user prints a line, `mix {JSON}`, in order: job
 * (name=), pid, user, seed, tasks (done), start_ns, elapsed_ns (to the end of
 * the last task), read_bytes, written_bytes; response_ns {min, max, mean, std}
 * and histogram of the tasks' times.
 *
 * After AIM Technology's multi-user benchmark Suite III, which runs a mix of
 * disk, directory, pipe and arithmetic tests for a growing number of users and
 * reports jobs a minute. The tasks and their sizes are ours.
 */
#include "user/lib.h"
#include "user/lib/compute.h"
#include "user/lib/histogram.h"
#include "user/lib/json.h"
#include "user/lib/random.h"
#include "user/lib/settings.h"

#define KIB        1024UL
#define PIECE      (4 * KIB)        /* of a sequential call */
#define SMALL      KIB              /* of a random one */
#define USERS_MAX  24               /* a pipe each, for what they print */
#define SETTLE_NS  (20 * NS_PER_MS) /* for each user to be forked */
#define NEW_FILES  4                /* of a task that makes and removes files */
#define PIPE_BYTES (32 * KIB)

struct mix {
    const char *name, *dir;
    u64 users, prepare, runtime_s, file_kb, copy_kb, small_ios, work, seed;
};

static struct mix o;

/* A user: each process has its own. */
static u64 chance; /* a generator's state */
static char piece[PIECE];
static char data_path[PATH_BYTES], copy_path[PATH_BYTES], dir_path[PATH_BYTES];
static u64 tasks_done, read_bytes, written_bytes;
static struct histogram times;

#define ROW(name_, type_, unit_, standard_, min_, max_, about_)              \
    {                                                                        \
        .name = #name_, .type = type_, .field = offsetof(struct mix, name_), \
        .unit = unit_, .standard = standard_, .min = min_, .max = max_,      \
        .about = about_,                                                     \
    }
static const struct setting rows[] = {
    ROW(name, TEXT, "WORD", "mix", 0, 0, "name of the job"),
    ROW(dir, TEXT, "PATH", "/data", 0, 0,
        "directory of the users' directories"),
    ROW(users, NUMBER, "USERS", "4", 1, USERS_MAX, "users at once"),
    ROW(prepare, NUMBER, "0|1", "0", 0, 1, "1: make directories and files"),
    ROW(runtime_s, NUMBER, "S", "60", 1, 1000000,
        "begin no task after this time"),
    ROW(file_kb, NUMBER, "KIB", "512", 4, 1 << 20, "size of each user's file"),
    ROW(copy_kb, NUMBER, "KIB", "64", 4, 1 << 20,
        "size of the file that a task writes"),
    ROW(small_ios, NUMBER, "IOS", "32", 1, 1000000,
        "I/Os of 1 KiB of a task with random ones"),
    ROW(work, NUMBER, "INSTRUCTIONS", "20000", 0, 10000000,
        "length of a computing task, in thousands"),
    ROW(seed, NUMBER, "NUMBER", "1", 0, ~0UL, "seed of all random numbers"),
};
static const struct settings table = {rows, NELEM(rows), NULL};

/* ---- I/O; whatever fails ends the program ---- */

static int must_open(const char *path, int flags)
{
    int fd = open(path, flags, 0644);
    if (fd < 0)
        die("%s", path);
    return fd;
}

static void put(int fd, u64 bytes)
{
    if (write(fd, piece, bytes) != (i64)bytes)
        die("%s: write", dir_path);
    written_bytes += bytes;
}

/* Read up to this many bytes. Returns how many there were. */
static u64 get(int fd, u64 bytes)
{
    i64 n = read(fd, piece, bytes);
    if (n < 0)
        die("%s: read", dir_path);
    read_bytes += n;
    return n;
}

static void write_file(const char *path, u64 kb)
{
    int fd = must_open(path, O_WRONLY | O_CREAT | O_TRUNC);
    for (u64 at = 0; at < kb * KIB; at += PIECE)
        put(fd, PIECE);
    close(fd);
}

/* Seek to a small block of the user's file: each has the same probability. */
static void seek_somewhere(int fd)
{
    u64 block = random_below(&chance, o.file_kb * KIB / SMALL);
    if (lseek(fd, block * SMALL, SEEK_SET) < 0)
        die("%s: seek", data_path);
}

/* ---- the tasks ---- */

static void task_read(void)
{
    int fd = must_open(data_path, O_RDONLY);
    while (get(fd, PIECE) > 0)
        ;
    close(fd);
}

/* Read small pieces at random places of the data file. */
static void task_random_read(void)
{
    int fd = must_open(data_path, O_RDONLY);
    for (u64 i = 0; i < o.small_ios; i++) {
        seek_somewhere(fd);
        get(fd, SMALL);
    }
    close(fd);
}

static void task_write(void)
{
    write_file(copy_path, o.copy_kb);
}

/* Write small pieces at random places of the data file. */
static void task_random_write(void)
{
    int fd = must_open(data_path, O_WRONLY);
    for (u64 i = 0; i < o.small_ios; i++) {
        seek_somewhere(fd);
        put(fd, SMALL);
    }
    close(fd);
}

/* Copy the beginning of the data file, copy_kb long, to the file of copies. */
static void task_copy(void)
{
    int from = must_open(data_path, O_RDONLY);
    int to = must_open(copy_path, O_WRONLY | O_CREAT | O_TRUNC);
    for (u64 at = 0; at < o.copy_kb * KIB; at += PIECE)
        put(to, get(from, PIECE));
    close(from);
    close(to);
}

/* Make NEW_FILES files of one piece each, then remove them all. */
static void task_make_files(void)
{
    char path[NEW_FILES][PATH_BYTES];
    for (int i = 0; i < NEW_FILES; i++) {
        snprintf(path[i], sizeof path[i], "%s/new%d", dir_path, i);
        write_file(path[i], PIECE / KIB);
    }
    for (int i = 0; i < NEW_FILES; i++)
        if (unlink(path[i]) < 0)
            die("%s", path[i]);
}

/* Ask for the attributes of every file in the directory. */
static void task_search(void)
{
    char path[PATH_BYTES];
    struct dirent *entry;
    struct stat st;
    DIR *dir = opendir(dir_path);
    if (!dir)
        die("%s", dir_path);
    while ((entry = readdir(dir))) {
        snprintf(path, sizeof path, "%s/%s", dir_path, entry->name);
        if (stat(path, &st) < 0)
            die("%s", path);
    }
    closedir(dir);
}

/* Send PIPE_BYTES through a pipe to this process itself, a small piece at a
 * time. */
static void task_pipe(void)
{
    int fds[2];
    if (pipe(fds) < 0)
        die("pipe");
    for (u64 i = 0; i < PIPE_BYTES; i += SMALL) {
        put(fds[1], SMALL);
        get(fds[0], SMALL);
    }
    close(fds[0]);
    close(fds[1]);
}

static void task_compute(void)
{
    compute(o.work);
}

static void (*const tasks[])(void) = {
    task_read,       task_random_read, task_write, task_random_write, task_copy,
    task_make_files, task_search,      task_pipe,  task_compute,
};

/* ---- a user ---- */

/* Be that user: random numbers and paths of its own. */
static void become(u64 user)
{
    chance = random_stream(o.seed, user, 0);
    memset(piece, 'm', sizeof piece);
    snprintf(dir_path, sizeof dir_path, "%s/user%lu", o.dir, user);
    snprintf(data_path, sizeof data_path, "%s/data", dir_path);
    snprintf(copy_path, sizeof copy_path, "%s/copy", dir_path);
}

static void prepare(u64 user)
{
    become(user);
    if (mkdir(dir_path, 0755) < 0)
        die("%s", dir_path);
    write_file(data_path, o.file_kb);
}

/* Print the line of results, as JSON, which the laboratory reads. */
static void report(u64 user, u64 start_ns, u64 end_ns)
{
    printf("mix {\"job\":");
    json_print_string(o.name);
    printf(",\"pid\":%d,\"user\":%lu,\"seed\":%lu,\"tasks\":%lu,"
           "\"start_ns\":%lu,\"elapsed_ns\":%lu,\"read_bytes\":%lu,"
           "\"written_bytes\":%lu,\"response_ns\":",
           getpid(), user, o.seed, tasks_done, start_ns, end_ns - start_ns,
           read_bytes, written_bytes);
    histogram_print_summary(&times);
    printf(",\"histogram\":");
    histogram_print_buckets(&times);
    printf("}\n");
}

/* Do random tasks from start_ns until limit_ns, and note how long each took. */
static void work_until(u64 start_ns, u64 limit_ns)
{
    u64 now_ns = gettime(CLOCK_VIRTUAL);
    if (now_ns > start_ns)
        diex("%s: was forked too late", dir_path);
    sleep(start_ns - now_ns);
    for (now_ns = start_ns; now_ns < limit_ns; tasks_done++) {
        u64 from_ns = now_ns;
        tasks[random_below(&chance, NELEM(tasks))]();
        now_ns = gettime(CLOCK_VIRTUAL);
        histogram_add(&times, now_ns - from_ns);
    }
}

/* Start a user; the descriptor from which to read what it prints. */
static int start(u64 user, u64 start_ns)
{
    int fds[2];
    if (pipe(fds) < 0)
        die("pipe");
    int pid = fork();
    if (pid < 0)
        die("fork");
    if (pid > 0) {
        close(fds[1]);
        return fds[0];
    }
    dup2(fds[1], 1);
    close(fds[0]);
    close(fds[1]);
    become(user);
    work_until(start_ns, start_ns + o.runtime_s * NS_PER_S);
    report(user, start_ns, gettime(CLOCK_VIRTUAL));
    exit(0);
}

/* Pass on what the users print, in order; whether one has failed. */
static bool finish(const int *fds)
{
    static char buf[BUFSIZ];
    bool failed = false;
    i64 n;
    for (u64 user = 0; user < o.users; user++) {
        while ((n = read(fds[user], buf, sizeof buf)) > 0)
            fwrite(buf, 1, n, stdout);
        close(fds[user]);
    }
    for (u64 user = 0; user < o.users; user++) {
        int status = 1;
        if (wait(-1, &status, 0) < 0)
            die("wait");
        failed |= status != 0;
    }
    return failed;
}

/* Fork one process for each user; all begin at the same moment. */
int main(int argc, char **argv)
{
    int fds[USERS_MAX];
    if (argc == 2 && strcmp(argv[1], "-h") == 0) {
        printf("usage: mix NAME=VALUE...\n");
        settings_help(&table);
        return 0;
    }
    settings_default(&table, &o);
    settings_apply(&table, &o, argv + 1, argc - 1);
    if (o.copy_kb > o.file_kb)
        refuse("copy_kb=%lu: more than file_kb=%lu", o.copy_kb, o.file_kb);
    for (u64 user = 0; o.prepare && user < o.users; user++)
        prepare(user);
    if (o.prepare)
        return 0;
    u64 start_ns = gettime(CLOCK_VIRTUAL) + o.users * SETTLE_NS;
    for (u64 user = 0; user < o.users; user++)
        fds[user] = start(user, start_ns);
    return finish(fds);
}
