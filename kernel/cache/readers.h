/*
 * How many sequential streams read each disk, for drives whose caches adapt to
 * that. It is counted here because only here are the reads of an open file told
 * apart into streams, while a disk knows requests and no files; no policy is
 * asked.
 */
#ifndef SLUICE_READERS_H
#define SLUICE_READERS_H

#include "kernel/disk/disk.h"
#include "kernel/cache/stream.h"

/* A stream of a file on the disk has gone on. */
void readers_go_on(struct disk *, const struct stream *);

/* The open file is closed: nobody reads its streams any more. */
void readers_end(const struct disk *, const struct streams *);

#endif
