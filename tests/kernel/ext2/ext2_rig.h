/*
 * What unit tests of ext2 stand on: a small image (ext2_image.h), mounted at
 * /m of a root that is of no interest, above ext2_shim.c. Its blocks have the
 * size that the first image has.
 */
#ifndef SLUICE_EXT2_RIG_H
#define SLUICE_EXT2_RIG_H

#include "tests/kernel/ext2/ext2_commands.h"
#include "tests/kernel/ext2/ext2_image.h"
#include "tests/kernel/ext2/ext2_shim.h"
#include "tests/support/native/test.h"

extern struct disk *rig_disk; /* the image's */

/* A new image, not mounted. May be called again. */
void rig_make(const struct image_options *);
u8 *rig_image(void); /* what is on the disk */
/* Remember the image, which is not mounted; go back to it. */
void rig_keep(void);
const u8 *rig_kept(void);
u64 rig_bytes(void);
void rig_restore(void);

/* One command, and what it returns; rig_said is what it printed. */
int rig_do(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
const char *rig_said(void);
/* Commands, one a line, that must succeed. */
void rig_script(const char *lines);
/* Unmount, and complain about the image if it is not whole. */
void rig_end(void);

/* Return the list of an image's files (image_look), to be freed. If anything is
 * wrong with the image, the test fails. after: what was done to the image
 * before, for the message. */
char *rig_look(const u8 *, enum image_state, const char *after);

/* A referenced, locked, valid inode; and let it go. */
struct inode *rig_open(const char *path);
void rig_close(struct inode *);

#endif
