/*
 * Drives the kernel's ext2 on disk images, on the host, under the sanitizers of
 * addresses and of undefined behaviour.
 *
 *   ext2_tool [option=number ...] IMAGE [IMAGE2] < commands
 *
 * Options are those of struct shim_options, by name, and save=0 (leave the
 * images as they were). IMAGE is mounted as root, IMAGE2 is disk1. Commands
 * are lines of words, see ext2_commands.c and below; a command that fails
 * prints "command: -errno" and the next one is done. The exit status is 1 if a
 * comparison failed; a broken invariant aborts. The images are written back
 * after the shutdown at the end, if `crash` was not among the commands.
 *
 * link: kernel/ext2/alloc.c kernel/ext2/claim.c
 * link: kernel/ext2/dir.c kernel/ext2/data.c
 * link: kernel/ext2/features.c kernel/ext2/order.c kernel/ext2/vfs.c
 * link: kernel/ext2/recover.c kernel/journal/recover.c
 * link: kernel/journal/append.c kernel/journal/transaction.c
 * link: kernel/ext2/inode.c kernel/ext2/make.c kernel/ext2/map.c
 * link: kernel/ext2/redo.c kernel/ext2/remove.c kernel/ext2/rename.c
 * link: kernel/ext2/walk.c kernel/ext2/super.c tests/kernel/ext2/ext2_shim.c
 * link: kernel/cache/lost.c tests/support/native/text.c
 * link: tests/support/native/random.c
 * link: tests/kernel/ext2/ext2_model.c tests/kernel/ext2/ext2_commands.c
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kernel/ext2/ext2_commands.h"
#include "tests/kernel/ext2/ext2_model.h"
#include "tests/kernel/ext2/ext2_shim.h"
#include "kernel/proc/proc.h"

static struct disk *disk0, *disk1;
static bool crashed;
static u64 save_images = 1;

/* random N MAX_FILE_BYTES DIR MOVE_DIRECTORIES FACTS: N operations at random,
 * compared with the model (ext2_model.h) */
static int cmd_random(char **w)
{
    struct model_options o = {
        .max_file_bytes = w[2] ? command_number(w[2]) : 400000,
        .dir = w[2] && w[3] && strcmp(w[3], "/") ? w[3] : "",
        .move_directories = !w[2] || !w[3] || !w[4] || command_number(w[4]),
        .facts = w[2] && w[3] && w[4] ? w[5] : NULL,
    };
    model_run(&o, command_number(w[1]));
    return 0;
}

/* Return a mask of the first 1 to 8 sectors of a block. */
static u32 first_of(u32 random)
{
    return (2U << random % 8) - 1;
}

/* cuts N DIR: images DIR/cut.K after the first K writes, for N Ks; and
 * DIR/torn.K of each K whose next write can be torn, after some of its sectors
 */
static int cmd_cuts(char **w)
{
    char name[PATH_BYTES];
    for (u64 i = 0; i < command_number(w[1]); i++) {
        u64 k = shim_random(shim_log_length() + 1);
        snprintf(name, sizeof(name), "%s/cut.%lu", w[2], k);
        shim_save_prefix(disk0, name, k, 0);
        u32 sectors = k < shim_log_length() ? shim_random(UINT32_MAX) : 0;
        snprintf(name, sizeof(name), "%s/torn.%lu", w[2], k);
        if (sectors)
            shim_save_prefix(disk0, name, k,
                             i % 2 ? sectors : first_of(sectors));
    }
    return 0;
}

/* facts FILE WRITES TORN: after so many writes the facts of the file must
 * hold */
static int cmd_facts(char **w)
{
    command_failed |=
        model_check_facts(w[1], command_number(w[2]), command_number(w[3])) > 0;
    return 0;
}

/* nomemory N: the N-th request for memory from now on fails; N 0: none fails.
 * Prints whether the request of the nomemory before has failed. */
static int cmd_nomemory(char **w)
{
    printf("memory %s\n", shim_failed() ? "failed" : "was there");
    shim_fail(FAULT_PAGE, NULL, command_number(w[1]), false);
    return 0;
}

/* crash: the program is to end without a shutdown */
static int cmd_crash(char **w)
{
    (void)w;
    crashed = true;
    return 0;
}

/* ---- abuse: whatever can be done with a damaged disk ---- */

static void abuse(const char *path, u32 depth, u32 *budget);

/* Read a file, and perhaps write, truncate or sync it; whatever it says is
 * right. */
static void abuse_file(struct inode *ip)
{
    static u8 data[16384];
    u64 at = 0;
    for (u32 i = 0; i < 40; i++, at += sizeof(data)) {
        struct uio u = {.addr = (u64)data, .left = sizeof(data), .offset = at};
        ext2_read(ip, &u, NULL);
    }
    struct uio end = {.addr = (u64)data,
                      .left = 5000,
                      .offset = ip->size > 5000 ? ip->size - 5000 : 0};
    ext2_read(ip, &end, NULL);
    u32 choice = shim_random(4);
    struct uio u = {.addr = (u64)data, .left = 7000, .write = true};
    u.offset = shim_random(2) ? shim_random(300000) : ip->size;
    if (choice == 0)
        ext2_write(ip, &u);
    else if (choice == 1)
        ext2_truncate(ip, shim_random(ip->size + 1));
    else if (choice == 2)
        ext2_fsync(ip);
}

/* Abuse what a directory names, and remove, rename and link some of it. */
static void abuse_names(const char *dir, u32 *budget)
{
    char path[PATH_BYTES], other[PATH_BYTES + 8];
    u64 place = 0;
    for (u32 rounds = 0; rounds < 60; rounds++) {
        char buf[2048];
        struct inode *ip;
        struct uio u = {.addr = (u64)buf, .left = sizeof(buf), .offset = place};
        if (command_open(dir, false, &ip))
            return;
        int error = ext2_getdents(ip, &u, NULL);
        command_close(ip);
        if (error || u.left == sizeof(buf))
            return;
        place = u.offset;
        for (u64 at = 0; at < sizeof(buf) - u.left;) {
            struct dirent *d = (void *)(buf + at);
            at += d->length;
            if (strcmp(d->name, ".") == 0 || strcmp(d->name, "..") == 0 ||
                strlen(dir) + d->name_len > PATH_BYTES - 10 || *budget == 0)
                continue;
            --*budget;
            snprintf(path, sizeof(path), "%.700s/%.255s", dir, d->name);
            snprintf(other, sizeof(other), "%s.x", path);
            abuse(path, strlen(path), budget);
            switch (shim_random(8)) {
            case 0:
                ext2_unlink(path);
                break;
            case 1:
                ext2_rmdir(path);
                break;
            case 2:
                ext2_rename(path, other);
                break;
            case 3:
                ext2_link(path, other);
                break;
            case 4:
                ext2_rename(path, "/moved");
                break;
            case 5:
                ext2_rename("/moved", path);
                break;
            }
        }
    }
}

/* Do all that can be done with a path, and with what is below it. At most
 * *budget names are visited, so that a directory that contains itself comes to
 * an end. */
static void abuse(const char *path, u32 depth, u32 *budget)
{
    struct inode *ip;
    char text[PATH_BYTES];
    if (namei(path, NAMEI_NOFOLLOW, &ip))
        return;
    ilock(ip);
    bool dir = ivalid(ip) == 0 && S_ISDIR(ip->mode);
    if (ivalid(ip) == 0 && S_ISREG(ip->mode))
        abuse_file(ip);
    struct uio u = {.addr = (u64)text, .left = sizeof(text)};
    if (ivalid(ip) == 0 && S_ISLNK(ip->mode))
        ext2_readlink(ip, &u);
    iunlock(ip);
    ext2_path(ip, text, sizeof(text));
    iput(ip);
    if (namei(path, 0, &ip) == 0)
        iput(ip);
    if (!dir || depth > 600)
        return;
    abuse_names(path, budget);
    snprintf(text, sizeof(text), "%.700s/new", path);
    ext2_mkdir(text, 0755);
    snprintf(text, sizeof(text), "%.700s/file%lu", path, shim_random(100));
    command_write_at(text, 0, shim_random(30000), 1);
    snprintf(text, sizeof(text), "%.700s/link", path);
    ext2_symlink("a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t/u/v/w/x/y/z/0/1/2",
                 text);
}

/* abuse [N]: use all paths, whatever the disk says, but at most N names */
static int cmd_abuse(char **w)
{
    u32 budget = w[1] ? command_number(w[1]) : 500;
    abuse("/.", 0, &budget);
    shim_check_idle("after the abuse");
    ext2_sync();
    return 0;
}

/* ---- several processes ---- */

static u64 steps_each;
static bool swaps; /* processes also swap the order policy */

/* Paths chosen from few, so that processes meet. */
static void any_path(char *path)
{
    int n = 0;
    for (u32 depth = 1 + shim_random(shim_random(4) ? 2 : 3); depth; depth--)
        n += sprintf(path + n, "/%c", (char)('a' + shim_random(3)));
}

/* A process that does operations at random. Their errors do not matter, but
 * each must let go of what it holds. */
static void busy_process(u32 i)
{
    char a[40], b[40], text[PATH_BYTES];
    struct inode *ip;
    u32 bytes;
    for (u64 n = 0; n < steps_each; n++) {
        any_path(a);
        any_path(b);
        switch (shim_random(swaps ? 13 : 12)) {
        case 0:
        case 1:
            ext2_mkdir(a, 0755);
            break;
        case 2:
            ext2_rmdir(a);
            break;
        case 3:
        case 4:
            ext2_rename(a, b);
            break;
        case 5:
            ext2_unlink(a);
            break;
        case 6:
            ext2_link(a, b);
            break;
        case 7:
            bytes = shim_random(9000); /* before the place */
            command_write_at(a, shim_random(20000), bytes, i);
            break;
        case 8:
            ext2_sync();
            break;
        case 9:
            if (namei(a, 0, &ip) == 0) {
                ext2_path(ip, text, sizeof(text));
                iput(ip);
            }
            break;
        case 10:
            if (command_open(a, false, &ip) == 0) {
                ext2_truncate(ip, shim_random(30000));
                ext2_fsync(ip);
                command_close(ip);
            }
            break;
        case 11:
            ext2_symlink(b, a);
            break;
        case 12:
            shim_use_order(shim_random(3));
            break;
        }
        shim_check_idle("after a step");
    }
}

/* processes N STEPS [swaps]: let N processes do so many operations each. With
 * `swaps` they swap the order, too. */
static int cmd_processes(char **w)
{
    steps_each = command_number(w[2]);
    swaps = w[3];
    shim_fibres(command_number(w[1]), busy_process, 0);
    return 0;
}

static char **meeting; /* the command's words */

/* Process 1 calls fsync; process 2 swaps the order policy, and then changes an
 * inode, which may be in the same block as the inode of process 1. */
static void fsync_or_swap(u32 i)
{
    struct inode *ip;
    if (i == 2)
        shim_use_order(command_number(meeting[5]));
    int error = command_open(meeting[i], false, &ip);
    error = error ?: i == 2 ? ext2_chmod(ip, 0600) : ext2_fsync(ip);
    if (error)
        panic("fsync or chmod: error %d", error);
    command_close(ip);
}

/* meet FILE OTHER DIR FROM TO: append a byte to the file, then fsync it while
 * another process swaps the order policy and changes the other file, again and
 * again: that process runs before the fsync's first step, its second one, ...
 * The image DIR/N is what a power cut leaves after the N-th. */
static int cmd_meet(char **w)
{
    char line[2 * PATH_BYTES];
    bool more = true;
    meeting = w;
    for (u64 n = 1; more; n++) {
        shim_use_order(command_number(w[4]));
        snprintf(line, sizeof(line), "append %s 1 1", w[1]);
        int error = command_run(line, NULL);
        if (error)
            return error;
        shim.spin_switches = true;
        more = shim_fibres(2, fsync_or_swap, n);
        shim.spin_switches = false;
        snprintf(line, sizeof(line), "%s/%lu", w[3], n);
        shim_save(disk0, line);
    }
    return 0;
}

/* ---- the program ---- */

static const struct command own_commands[] = {
    {"abuse", 1, cmd_abuse},
    {"crash", 1, cmd_crash},
    {"cuts", 3, cmd_cuts},
    {"facts", 4, cmd_facts},
    {"meet", 6, cmd_meet},
    {"nomemory", 2, cmd_nomemory},
    {"processes", 3, cmd_processes},
    {"random", 2, cmd_random},
    {0},
};

/* Do a line of the input, and print its error. */
static void run_line(char *line)
{
    char name[16];
    sscanf(line, "%15s", name);
    int error = command_run(line, own_commands);
    if (error)
        printf("%s: %d\n", name, error);
}

/* Take a word as an option; false: it is none. */
static bool option(const char *word)
{
    static const struct {
        const char *name;
        u32 *value;
    } numbers[] = {
        {"block", &shim.block_bytes},
        {"buffers", &shim.buffers},
        {"far", &shim.far},
        {"delays", &shim.delays},
        {"flush", &shim.flush_permille},
        {"read_errors", &shim.read_errors_permyriad},
        {"write_errors", &shim.write_errors_permyriad},
    };
    const char *value = strchr(word, '=');
    if (!value++)
        return false;
    for (u32 i = 0; i < NELEM(numbers); i++)
        if (strncmp(word, numbers[i].name, value - word - 1) == 0) {
            *numbers[i].value = command_number(value);
            return true;
        }
    if (strncmp(word, "seed=", 5) == 0)
        shim.seed = command_number(value) * 1000003;
    else if (strncmp(word, "log=", 4) == 0)
        shim.log = command_number(value);
    else if (strncmp(word, "quiet=", 6) == 0)
        shim.quiet = command_number(value);
    else if (strncmp(word, "save=", 5) == 0)
        save_images = command_number(value);
    else
        return false;
    return true;
}

int main(int argc, char **argv)
{
    static char line[2 * PATH_BYTES];
    int first = 1;
    setvbuf(stdout, NULL, _IOLBF, 0);
    command_out = stdout;
    while (first < argc && option(argv[first]))
        first++;
    if (first >= argc)
        panic("usage: ext2_tool [option=number ...] IMAGE [IMAGE2]");
    disk0 = shim_disk(argv[first]);
    disk1 = first + 1 < argc ? shim_disk(argv[first + 1]) : NULL;
    command_disk = disk1;
    if (!shim.block_bytes) {
        int bytes = ext2_probe(disk0);
        if (bytes < 0) {
            printf("probe: %d\n", bytes);
            return 0;
        }
        shim.block_bytes = bytes;
    }
    ext2_init();
    int error = ext2_mount_root(disk0);
    shim_check_idle("mount");
    if (error) {
        printf("mount: %d\n", error);
        return 0;
    }
    while (fgets(line, sizeof(line), stdin))
        run_line(line);
    if (!crashed) {
        error = ext2_shutdown();
        if (error)
            printf("shutdown: %d\n", error);
    }
    shim_check_idle("shutdown");
    if (save_images && !crashed) {
        shim_save(disk0, argv[first]);
        if (disk1)
            shim_save(disk1, argv[first + 1]);
    }
    return command_failed;
}
