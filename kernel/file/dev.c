/*
 * The table of devices, their nodes in /dev, and reading and writing them.
 *
 * - The linker gathers the tables of all devices in the section "devices";
 *   nothing here names one.
 */
#include "kernel/file/dev.h"
#include "kernel/ext2/ext2.h"
#include "kernel/machine/mem.h"

extern const struct device *const __start_devices[], *const __stop_devices[];
extern const char *const __start_device_files[];

#define DEVICE_EACH(d)                                                        \
    for (const struct device *const *d = __start_devices; d < __stop_devices; \
         d++)

/* Return the name of device i of the table, and in *file the file that defines
 * it; NULL after the last. */
const char *device_name(u32 i, const char **file)
{
    if (i >= __stop_devices - __start_devices)
        return NULL;
    *file = __start_device_files[i];
    return __start_devices[i]->name;
}

/* Return how many units the device has: disk0, disk1 ... are units of one. */
static u32 device_units(const struct device *d)
{
    return d->units ? d->units() : 1;
}

/* Return the device with this number (id << 8 | unit), or NULL. */
const struct device *device_find(u32 number)
{
    DEVICE_EACH (d)
        if ((*d)->id == number >> 8 && (number & 0xff) < device_units(*d))
            return *d;
    return NULL;
}

/* Return 0 if the node at path has that number; -ENOENT, nothing is there;
 * -EEXIST, something else; or another error. */
static int node_check(const char *path, u32 number)
{
    OWNED(inode) struct inode *ip = NULL;
    TRY(namei(path, NAMEI_NOFOLLOW, &ip));
    HOLD(inode, ip);
    TRY(ivalid(ip));
    return S_ISCHR(ip->mode) && ip->rdev == number ? 0 : -EEXIST;
}

/* Make the node of a device, unless it is there with the right number. */
static void node_make(const char *name, u32 number)
{
    char path[32];
    ksnprintf(path, sizeof(path), "/dev/%s", name);
    int error = node_check(path, number);
    if (error == -EEXIST)
        error = ext2_unlink(path) ?: -ENOENT;
    if (error == -ENOENT)
        error = ext2_mknod(path, S_IFCHR | 0600, number);
    if (error)
        kprintf("dev: cannot make %s: error %d\n", path, -error);
}

/* Make a node for each unit of the device. */
static void nodes_make(const struct device *d)
{
    u32 units = device_units(d);
    for (u32 unit = 0; unit < units; unit++) {
        char name[16];
        ksnprintf(name, sizeof(name), d->name, unit);
        node_make(name, d->id << 8 | unit);
    }
}

/* At boot: make /dev with a node for each device. What fails is printed. */
void dev_make_nodes(void)
{
    int error = ext2_mkdir("/dev", 0755);
    if (error && error != -EEXIST) {
        kprintf("dev: cannot make /dev: error %d\n", -error);
        return;
    }
    DEVICE_EACH (d)
        nodes_make(*d);
}

/* ---- moving bytes ---- */

/* Move the text to the reader, and free its pages. */
static int text_move(struct text *t, struct uio *u)
{
    u64 end = MIN(t->at, t->to);
    int error = t->error;
    for (u32 i = 0; i < TEXT_PAGES && t->page[i]; i++) {
        if (!error)
            error = uio_move(t->page[i], MIN(end - u->offset, PAGE_SIZE), u);
        page_free(t->page[i]);
    }
    return error;
}

/* One read sees one printing: as a reader may ask for TEXT_PAGES pages at once,
 * most texts are read as they were at one time. A text that changes its length
 * between two reads may show a torn line where they meet. */
static int text_read(const struct device *d, u64 until, struct uio *u)
{
    u64 most = MIN(u->left, TEXT_PAGES * PAGE_SIZE);
    struct text t = {.from = u->offset, .to = u->offset + most, .until = until};
    text_make(&t, d->print);
    return text_move(&t, u);
}

/* Write one line, with or without a newline: a call of write is a line. */
static int line_write(const struct device *d, struct uio *u)
{
    char line[DEVICE_LINE_BYTES];
    u64 n = u->left;
    if (n == 0 || n >= sizeof line)
        return -EINVAL;
    TRY(uio_move(line, n, u));
    if (line[n - 1] == '\n')
        n--;
    line[n] = 0;
    return d->control(line);
}

/* Read the text that the device prints, or by the device's own function. until:
 * what its `end` said when the file was opened. */
int device_read(const struct device *d, u32 unit, u64 until, struct uio *u)
{
    if (d->print)
        return text_read(d, until, u);
    return d->read ? d->read(unit, u) : -ENODEV;
}

/* Write to a device: a line of control, or by its own function. */
int device_write(const struct device *d, u32 unit, struct uio *u)
{
    if (d->control)
        return line_write(d, u);
    return d->write ? d->write(unit, u) : -ENODEV;
}
