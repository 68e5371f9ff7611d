/* This process's use of the host's resources (usage.h). */
#define _GNU_SOURCE
#include "sluice/blocks/usage.h"

#include <stdio.h>
#include <sys/resource.h>

/* getrusage has the parent's, too. */
u64 usage_memory_kb(void)
{
    char line[128];
    u64 kb = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && !kb && fgets(line, sizeof line, f))
        sscanf(line, "VmHWM: %lu", &kb);
    if (f)
        fclose(f);
    return kb;
}

static double seconds(struct timeval t)
{
    return t.tv_sec + t.tv_usec / 1e6;
}

double usage_cpu_s(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}
