/*
 * A model of a file system in plain memory, and random operations that are
 * done to it and to ext2 alike (ext2_model.c), for ext2_tool.c.
 */
#ifndef SLUICE_EXT2_MODEL_H
#define SLUICE_EXT2_MODEL_H

#include "kernel/base/types.h"

struct model_options {
    const char *dir; /* all happens below it; "" is the root */
    u64 max_file_bytes;
    bool move_directories; /* from one directory to another */
    const char *facts;     /* what must be so after a power cut: a file */
};

/* Do n operations, compare the outcome of each, then everything. Panics at a
 * difference. */
void model_run(const struct model_options *, u64 n);

/* Check the facts that hold after the first n writes and, if torn, a part of
 * the next one, which may belong to a change of the file; the number broken. */
u32 model_check_facts(const char *facts, u64 n, bool torn);

#endif
