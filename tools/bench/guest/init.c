/*
 * init of the Linux guest, process 1 (`make bench LINUX=1`). It takes the place
 * of Sluice's kernel start and shell:
 *
 *   1. loads the modules that /modules names, a path a line, in this order;
 *   2. mounts the disk and makes it the root, so that files and programs are at
 *      the paths that they have in Sluice;
 *   3. runs each line typed at the console as a program with its words, prints
 *      `status NUMBER`, and asks for the next one. `poweroff` ends it.
 *
 * What fails is said at the console, and the machine is switched off.
 */
#include "tools/bench/guest/linux.h"
#include "user/lib.h"

#define DISK      "/dev/vda"
#define MOST_ARGS 16

enum { LINUX_MS_RDONLY = 1, LINUX_MS_REMOUNT = 32 };

static void NORETURN power_off(void)
{
    fflush(NULL);
    linux_call(LINUX_MOUNT, 0, (u64) "/", 0, LINUX_MS_REMOUNT | LINUX_MS_RDONLY,
               0);
    linux_call(LINUX_SYNC, 0, 0, 0, 0, 0);
    for (;;)
        linux_call(LINUX_REBOOT, 0xfee1dead, 672274793, 0x4321fedc, 0, 0);
}

static void must(i64 result, const char *what)
{
    if (result >= 0)
        return;
    warn("%s", what);
    power_off();
}

static void load_modules(void)
{
    char *path = NULL;
    size_t size = 0;
    FILE *list = fopen("/modules", "r");
    must(list ? 0 : -1, "/modules");
    for (i64 n; (n = getline(&path, &size, list)) > 0;) {
        path[n - 1] = 0;
        int fd = open(path, O_RDONLY);
        must(fd, path);
        must(linux_call(LINUX_FINIT_MODULE, fd, (u64) "", 0, 0, 0), path);
        close(fd);
    }
    fclose(list);
}

static void mount_type(const char *what, const char *where, const char *type)
{
    must(linux_call(LINUX_MOUNT, (u64)what, (u64)where, (u64)type, 0, 0),
         where);
}

static void enter_disk(void)
{
    mount_type("dev", "/dev", "devtmpfs");
    mount_type(DISK, "/disk", "ext2");
    must(linux_call(LINUX_CHROOT, (u64) "/disk", 0, 0, 0, 0), "chroot");
    must(linux_call(LINUX_CHDIR, (u64) "/", 0, 0, 0, 0), "chdir");
    must(linux_call(LINUX_MKDIRAT, LINUX_HERE, (u64) "/dev", 0755, 0, 0),
         "mkdir /dev");
    mount_type("dev", "/dev", "devtmpfs");
    must(linux_call(LINUX_SYMLINKAT, (u64)DISK, LINUX_HERE, (u64) "/dev/disk0",
                    0, 0),
         "/dev/disk0");
    linux_call(LINUX_SYNC, 0, 0, 0, 0, 0);
}

/* The words of a line, and NULL after the last. */
static void split(char *line, char *argv[MOST_ARGS + 1])
{
    int argc = 0;
    for (char *word; argc < MOST_ARGS && (word = strsep(&line, " \n"));)
        if (*word)
            argv[argc++] = word;
    argv[argc] = NULL;
}

int main(void)
{
    char *line = NULL, *argv[MOST_ARGS + 1];
    size_t size = 0;

    load_modules();
    enter_disk();
    for (;;) {
        printf("linux$ ");
        fflush(stdout);
        if (getline(&line, &size, stdin) <= 0)
            power_off();
        split(line, argv);
        if (argv[0] && strcmp(argv[0], "poweroff") == 0)
            power_off();
        if (argv[0])
            printf("status %d\n", run(argv));
    }
}
