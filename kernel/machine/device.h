/*
 * Devices that are files: one table each, gathered by the linker. Any room may
 * declare a device, to show something or to be controlled; file/ makes the
 * nodes in /dev and moves the bytes.
 *
 *   static const struct device null = {.id = 2, .name = "null", ...};
 *   DEVICE(null);
 *
 * - A device number is id << 8 | unit; ids are given once and not reused.
 * - A device of text has `print` instead of read, and may have `control`
 *   instead of write.
 */
#pragma once

#include "kernel/base/types.h"

struct uio;

#define TEXT_PAGES 64 /* most that one read keeps */

/*
 * Text made on reading: a function prints the whole text by text_printf, and
 * the part that was asked for is kept. The text may have any length; one
 * text_printf prints less than a page.
 */
struct text {
    u64 at;                 /* offset of the next byte printed */
    u64 from, to;           /* the part wanted */
    u64 until;              /* what the device's `end` said at the opening */
    char *page[TEXT_PAGES]; /* it goes here; allocated as needed */
    char *line;             /* a page to format in */
    int error;              /* -ENOMEM */
};

void text_printf(struct text *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Print everything and keep [t->from, t->to), at most TEXT_PAGES pages. The
 * caller frees the pages. 0 or -ENOMEM. */
int text_make(struct text *t, void (*print)(struct text *));

#define DEVICE_LINE_BYTES 128 /* a line written to a device is shorter */

struct device {
    u32 id;             /* 1 to 255 */
    const char *name;   /* of the node; with units, "disk%u" */
    u32 (*units)(void); /* how many there are; NULL: one */
    /* Move bytes; advance the uio. 0 or -errno. Bytes read before an error
     * count, bytes written before it do not. NULL: -ENODEV. */
    int (*read)(u32 unit, struct uio *);
    int (*write)(u32 unit, struct uio *);
    void (*print)(struct text *); /* all of the text; may sleep */
    /* Of a text that grows while it is read: called when a file is opened,
     * and print finds the answer in text.until. NULL: 0. */
    u64 (*end)(void);
    int (*control)(const char *line); /* a line written to it: 0 or -errno */
    int (*ioctl)(u32 unit, u32 request, u64 arg); /* NULL: -ENOTTY */
    u64 (*size)(u32 unit); /* bytes, for stat and SEEK_END; NULL: 0 */
};

#define DEVICE(d)                                       \
    static const struct device *const d##_device        \
        __attribute__((used, section("devices"))) = &d; \
    static const char *const d##_file                   \
        __attribute__((used, section("device_files"))) = __FILE__
