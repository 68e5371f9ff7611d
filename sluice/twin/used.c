/*
 * Which pages were used (used.h), as Linux says (its documentation,
 * admin-guide, mm/pagemap): the two highest bits of a page's word say that it
 * is in memory, or swapped out. If Linux does not say, all pages count as used.
 */
#define _GNU_SOURCE
#include "sluice/twin/used.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "sluice/twin/pristine.h"
#include "kernel/machine/mem.h"

#define PAGES_ASKED 512 /* of Linux at a time */

/* Open the page map of this process; a child of fork must open its own. */
static int pagemap(void)
{
    KEPT static int file = -1;
    KEPT static pid_t opened_by;
    if (opened_by != getpid()) {
        close(file);
        file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
        opened_by = getpid();
    }
    return file;
}

/* Set used[i] to whether page i from `at` on has ever been touched: present, or
 * swapped out. */
static void ask(u64 at, u64 page_bytes, u64 *used, u64 n)
{
    u64 bytes = n * sizeof *used, offset = at / page_bytes * sizeof *used;
    if (pread(pagemap(), used, bytes, offset) != (i64)bytes)
        memset(used, 0xff, bytes);
    for (u64 i = 0; i < n; i++)
        used[i] >>= 62;
}

/* The host is asked about PAGES_ASKED pages at a time. fn gets the part of each
 * page in use that lies in the range. */
void each_used(u64 from, u64 to, void (*fn)(u64, u64, void *), void *arg)
{
    static u64 used[PAGES_ASKED];
    u64 page_bytes = sysconf(_SC_PAGESIZE), n;
    for (u64 at = ROUND_DOWN(from, page_bytes); at < to; at += n * page_bytes) {
        n = MIN(PAGES_ASKED, (to - at + page_bytes - 1) / page_bytes);
        ask(at, page_bytes, used, n);
        for (u64 i = 0; i < n; i++) {
            u64 page = at + i * page_bytes;
            if (used[i])
                fn(MAX(from, page), MIN(to, page + page_bytes), arg);
        }
    }
}
