/* The twin's variables before its first trial (pristine.h). */
#define _GNU_SOURCE
#include "sluice/twin/pristine.h"

#include <string.h>
#include <sys/mman.h>

#include "sluice/twin/used.h"
#include "kernel/base/types.h"
#include "kernel/machine/panic.h"

/* The linker's: where variables begin, where those do that begin as zeros, and
 * where all end. Those that are KEPT lie in between. */
extern char __data_start[], __bss_start[], _end[];
extern char __start_kept[], __stop_kept[];

static char *copy; /* of __data_start and what follows */

static void save(u64 from, u64 to, void *arg)
{
    (void)arg;
    memcpy(copy + (from - (u64)__data_start), (void *)from, to - from);
}

/* Only touched pages have a copy: to read the others would make Linux supply
 * pages for them, which would be put back after each trial. */
void pristine_save(void)
{
    u64 bytes = _end - __data_start;
    assert(&__data_start[0] <= &__start_kept[0] && &__stop_kept[0] <= &_end[0]);
    copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED)
        panic("twin: no memory for a copy of its variables");
    save((u64)__data_start, (u64)__bss_start, NULL);
    each_used((u64)__bss_start, (u64)_end, save, NULL);
    mprotect(copy, bytes, PROT_READ);
}

static void put_back(u64 from, u64 to, void *arg)
{
    (void)arg;
    memcpy((void *)from, copy + (from - (u64)__data_start), to - from);
}

void pristine_restore(void)
{
    each_used((u64)__data_start, (u64)__start_kept, put_back, NULL);
    each_used((u64)__stop_kept, (u64)_end, put_back, NULL);
}
