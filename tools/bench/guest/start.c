/* See start.h. */
#include "tools/bench/guest/start.h"
#include "tools/bench/guest/linux.h"

enum { LINUX_MS_RDONLY = 1, LINUX_MS_REMOUNT = 32 };

void power_off(void)
{
    fflush(NULL);
    linux_call(LINUX_MOUNT, 0, (u64) "/", 0, LINUX_MS_REMOUNT | LINUX_MS_RDONLY,
               0);
    linux_call(LINUX_SYNC, 0, 0, 0, 0, 0);
    for (;;)
        linux_call(LINUX_REBOOT, 0xfee1dead, 672274793, 0x4321fedc, 0, 0);
}

void must(i64 result, const char *what)
{
    if (result >= 0)
        return;
    warn("%s", what);
    power_off();
}

void load_modules(void)
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

void mount_type(const char *what, const char *where, const char *type)
{
    must(linux_call(LINUX_MOUNT, (u64)what, (u64)where, (u64)type, 0, 0),
         where);
}
