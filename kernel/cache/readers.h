/*
 * How many sequential streams read each disk, for drives whose caches adapt to
 * that number. They are counted in this room because it tells the streams of an
 * open file apart, while a disk knows requests and no files. No policy is
 * asked.
 */
#pragma once

#include "kernel/disk/disk.h"
#include "kernel/cache/stream.h"

/* A stream of a file on the disk has gone on. */
void readers_go_on(struct disk *, const struct stream *);

/* The open file is closed: its streams end. */
void readers_end(const struct disk *, const struct streams *);
