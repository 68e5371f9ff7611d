/*
 * The streams of an open file: the sequences in which it is read, told apart,
 * so that two readers that share it, or a merge of two parts of it, are each
 * read ahead. prefetch.c finds the stream to which a read belongs.
 */
#pragma once

#include "kernel/policy/prefetch.h"

#define STREAMS 8 /* remembered of one open file */

/* All zero when the file is opened. */
struct streams {
    struct stream stream[STREAMS];
    u64 reads;  /* reads of the file so far */
    u32 latest; /* the number of the stream that was read last */
    u64 policy; /* the number of the policy's start that the words are of */
    enum hint hint;
};

/*
 * readers.c: how many sequential streams read each disk, for drives whose
 * caches adapt to that number. They are counted in this room because it tells
 * the streams of an open file apart, while a disk knows requests and no files.
 * No policy is asked.
 */
struct disk;

/* Note that a stream of a file on the disk has gone on, or begins as the file
 * is opened. */
void readers_go_on(struct disk *, const struct stream *);

/* End the streams of an open file that is closed. */
void readers_end(const struct disk *, const struct streams *);
