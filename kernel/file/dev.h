/*
 * Devices that are files: one file each, ending in one table, gathered by
 * the linker.
 *
 *   static const struct device null = {.id = 2, .name = "null", ...};
 *   DEVICE(null);
 *
 * - At boot the kernel makes a node /dev/NAME for each that has none. A
 *   device number is id << 8 | unit; ids are given once and not reused.
 */
#ifndef SLUICE_DEV_H
#define SLUICE_DEV_H

#include "kernel/file/uio.h"

struct device {
    u32 id;             /* 1 to 255 */
    const char *name;   /* of the node; with units, "disk%u" */
    u32 (*units)(void); /* how many there are; NULL: one */
    /* Move bytes; advance the uio. 0 or -errno; what was read before an
     * error counts, what was written does not. NULL: -ENODEV. */
    int (*read)(u32 unit, struct uio *);
    int (*write)(u32 unit, struct uio *);
    int (*ioctl)(u32 unit, u32 request, u64 arg); /* NULL: -ENOTTY */
    u64 (*size)(u32 unit); /* bytes, for stat and SEEK_END; NULL: 0 */
};

#define DEVICE(d)                                \
    static const struct device *const d##_device \
        __attribute__((used, section("devices"))) = &d

const struct device *device_find(u32 number); /* or NULL */

/* Call fn with the name and number of every node there should be. */
void device_each(void (*fn)(const char *name, u32 number));

/* Make the nodes in /dev that are missing or have a wrong number. What
 * cannot be made is named in a message. */
void dev_make_nodes(void);

/*
 * Text made on reading: a device's read calls text_read with a function that
 * prints everything by text_printf, and the part the uio asks for is moved.
 * The text may be of any length. One read sees one printing: as a reader may
 * ask for TEXT_PAGES pages at once, most texts are read as they were at one
 * time. One text_printf prints less than a page.
 */
#define TEXT_PAGES 64 /* most that one read returns */

struct text {
    u64 at;                 /* offset of the next byte printed */
    u64 from, to;           /* the part wanted */
    char *page[TEXT_PAGES]; /* it goes here; allocated as needed */
    char *line;             /* a page to format in */
    int error;              /* -ENOMEM */
};
int text_read(struct uio *, void (*print)(struct text *));
void text_printf(struct text *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
