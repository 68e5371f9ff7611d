/*
 * Commands that do one thing to an ext2 above ext2_shim.c: lines of words, for
 * ext2_tool and the unit tests. The table is at the end of ext2_commands.c.
 */
#ifndef SLUICE_EXT2_COMMANDS_H
#define SLUICE_EXT2_COMMANDS_H

#include <stdio.h>

#include "kernel/ext2/ext2.h"

struct command {
    const char *name;
    u32 words; /* least, with the name */
    int (*run)(char **words);
};

extern FILE *command_out;         /* where commands print */
extern struct disk *command_disk; /* what `mount` mounts */
extern bool command_failed;       /* a comparison has */

/* Run a command line, which is cut into words. Returns 0 or -errno. More
 * commands may be given, up to a row without a name. Panics if there is no such
 * one. */
int command_run(char *line, const struct command *more);

u64 command_number(const char *word); /* 0 if there is none */

/* The byte at an offset of a file that is written with a seed. */
u8 command_pattern(u64 seed, u64 at);

/* An inode, valid, referenced and locked; made if need be. */
int command_open(const char *path, bool create, struct inode **);
void command_close(struct inode *);
int command_write_at(const char *path, u64 offset, u64 size, u64 seed);

#endif
