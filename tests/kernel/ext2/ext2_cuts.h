/*
 * What a power cut may leave of one command, and how it is judged: for tests
 * that cut commands of their own (ext2_torn.c).
 */
#ifndef SLUICE_EXT2_CUTS_H
#define SLUICE_EXT2_CUTS_H

#include "kernel/base/types.h"

struct outcome {
    char *before,
        *after;    /* the tree, when the command has not begun; is done */
    bool asks;     /* a directory may have two names until a mount, about
                    * which e2fsck -p asks */
    u32 cuts, bad; /* judged */
};

/* Do a command on the rig's disk, which is not mounted before nor after, and
 * gather the images that cuts leave: at each of its writes and within them.
 * Returns what the command does. */
int cuts_gather(const char *line, struct outcome *);
/* Mount each image: its tree must be `before` or `after`. One of preen_one_of
 * images is first repaired by e2fsck -p. The disk's contents are lost. */
void cuts_judge(struct outcome *, u32 preen_one_of);
void cuts_end(struct outcome *);

#endif
