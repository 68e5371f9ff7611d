/*
 * The table of devices, their nodes in /dev, and the text devices' common
 * part. See dev.h.
 *
 * - The linker gathers the tables of all device files in the section
 *   "devices"; nothing here names one.
 * - A text is printed whole at each read. Only the bytes in [from, to) are
 *   kept, in pages allocated when the first of them comes; the others are
 *   counted. So no text has to fit anywhere, and no device keeps state
 *   between reads. A text that changes its length between two reads may show
 *   a torn line where they meet.
 * - A printing function may hold spin locks while it calls text_printf, but
 *   none inside RANK_MEM.
 */
#include "kernel/file/dev.h"
#include "kernel/ext2/ext2.h"
#include "kernel/machine/mem.h"
#include "kernel/machine/print.h"
#include "kernel/base/string.h"

extern const struct device *const __start_devices[];
extern const struct device *const __stop_devices[];

static u32 device_units(const struct device *d)
{
    return d->units ? d->units() : 1;
}

const struct device *device_find(u32 number)
{
    for (const struct device *const *d = __start_devices; d < __stop_devices;
         d++)
        if ((*d)->id == number >> 8 && (number & 0xff) < device_units(*d))
            return *d;
    return NULL;
}

void device_each(void (*fn)(const char *name, u32 number))
{
    for (const struct device *const *d = __start_devices; d < __stop_devices;
         d++) {
        u32 units = device_units(*d);
        for (u32 unit = 0; unit < units; unit++) {
            char name[16];
            ksnprintf(name, sizeof(name), (*d)->name, unit);
            fn(name, (*d)->id << 8 | unit);
        }
    }
}

/* Is there a node of that number at path? 0, -ENOENT, -EEXIST: something
 * else is there; or another error. */
static int node_check(const char *path, u32 number)
{
    struct inode *ip;
    int error = namei(path, NAMEI_NOFOLLOW, &ip);
    if (error)
        return error;
    ilock(ip);
    error = ivalid(ip);
    if (!error && !(S_ISCHR(ip->mode) && ip->rdev == number))
        error = -EEXIST;
    iunlock(ip);
    iput(ip);
    return error;
}

static void node_make(const char *name, u32 number)
{
    char path[32];
    ksnprintf(path, sizeof(path), "/dev/%s", name);
    int error = node_check(path, number);
    if (error == -EEXIST) {
        error = ext2_unlink(path);
        if (!error)
            error = -ENOENT;
    }
    if (error == -ENOENT)
        error = ext2_mknod(path, S_IFCHR | 0600, number);
    if (error)
        kprintf("dev: cannot make %s: error %d\n", path, -error);
}

void dev_make_nodes(void)
{
    int error = ext2_mkdir("/dev", 0755);
    if (error && error != -EEXIST)
        kprintf("dev: cannot make /dev: error %d\n", -error);
    else
        device_each(node_make);
}

/* Keep the piece of line[n] that lies in the page of the wanted part at
 * offset t->at; returns its length. */
static u64 text_keep(struct text *t, const char *line, u64 n)
{
    u64 place = t->at - t->from;
    char **page = &t->page[place / PAGE_SIZE];
    if (!*page)
        *page = page_alloc();
    if (!*page) {
        t->error = -ENOMEM;
        return n;
    }
    u64 piece = MIN(n, PAGE_SIZE - place % PAGE_SIZE);
    memcpy(*page + place % PAGE_SIZE, line, piece);
    return piece;
}

static void text_put(struct text *t, const char *line, u64 n)
{
    u64 before = t->at < t->from ? MIN(n, t->from - t->at) : 0;
    t->at += before;
    line += before;
    n -= before;
    while (n > 0 && t->at < t->to && !t->error) {
        u64 piece = text_keep(t, line, MIN(n, t->to - t->at));
        t->at += piece;
        line += piece;
        n -= piece;
    }
    t->at += n;
}

void text_printf(struct text *t, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    u64 n = kvsnprintf(t->line, PAGE_SIZE, fmt, args);
    va_end(args);
    assert(n < PAGE_SIZE);
    text_put(t, t->line, n);
}

/* Move what has been kept, and free the pages. */
static int text_move(struct text *t, struct uio *u)
{
    u64 end = MIN(t->at, t->to);
    u64 left = end > t->from ? end - t->from : 0;
    int error = t->error;
    for (u32 i = 0; i < TEXT_PAGES && t->page[i]; i++) {
        u64 n = MIN(left, PAGE_SIZE);
        if (!error)
            error = uio_move(t->page[i], n, u);
        left -= n;
        page_free(t->page[i]);
    }
    return error;
}

int text_read(struct uio *u, void (*print)(struct text *))
{
    u64 most = MIN(u->left, TEXT_PAGES * PAGE_SIZE);
    struct text t = {.from = u->offset, .to = u->offset + most};
    t.line = page_alloc();
    if (!t.line)
        return -ENOMEM;
    print(&t);
    page_free(t.line);
    return text_move(&t, u);
}
