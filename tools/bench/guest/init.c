/*
 * init of the Linux guest, process 1 (`make bench LINUX=1`). It takes the place
 * of Sluice's kernel start and shell:
 *
 *   1. loads the modules that /modules names, a path a line, in this order;
 *   2. mounts the disk, as the type that /type names, and makes it the root, so
 *      that files and programs are at the paths that they have in Sluice;
 *   3. runs each line typed at the console as a program with its words, prints
 *      `status NUMBER`, and asks for the next one. `poweroff` ends it.
 *
 * What fails is said at the console, and the machine is switched off.
 */
#include "tools/bench/guest/linux.h"
#include "tools/bench/guest/start.h"
#include "user/lib.h"

#define DISK      "/dev/vda"
#define MOST_ARGS 16

static void mount_disk(void)
{
    char *type = NULL;
    size_t size = 0;
    FILE *f = fopen("/type", "r");
    must(f ? getline(&type, &size, f) : -1, "/type");
    fclose(f);
    mount_type(DISK, "/disk", strsep(&type, "\n"));
}

static void enter_disk(void)
{
    mount_type("dev", "/dev", "devtmpfs");
    mount_disk();
    must(linux_call(LINUX_CHROOT, (u64) "/disk", 0, 0, 0, 0), "chroot");
    must(linux_call(LINUX_CHDIR, (u64) "/", 0, 0, 0, 0), "chdir");
    must(linux_call(LINUX_MKDIRAT, LINUX_HERE, (u64) "/dev", 0755, 0, 0),
         "mkdir /dev");
    must(linux_call(LINUX_MKDIRAT, LINUX_HERE, (u64) "/proc", 0755, 0, 0),
         "mkdir /proc");
    mount_type("dev", "/dev", "devtmpfs");
    mount_type("proc", "/proc", "proc");
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
