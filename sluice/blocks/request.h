/* A request of a trace, as it goes to the cache (request.c). */
#ifndef SLUICE_BLOCKS_REQUEST_H
#define SLUICE_BLOCKS_REQUEST_H

#include "kernel/cache/prefetch.h"
#include "kernel/disk/disk.h"

#define BLOCK_BYTES 4096

/* How many bytes of a request lie in blocks that the cache has, or whose read
 * is under way: they need no read of this request's. Changes nothing. */
u64 request_hit_bytes(const struct disk *, u64 offset, u64 bytes);

/* Bring what a request of one block will look up into the processor's cache:
 * its bucket; then, with that at hand, its buffer; then what that is linked to.
 * These change nothing. */
void request_warm_bucket(const struct disk *, u64 offset);
void request_warm_buffer(const struct disk *, u64 offset);
void request_warm_links(const struct disk *, u64 offset);

/* Read or write these bytes of the disk, through the cache. The streams are
 * those of all readers of the disk. 0 or -EIO. */
int request_do(struct disk *, struct streams *, u64 offset, u64 bytes,
               bool write);

/* Make the disk and its cache, as the boot arguments want them (boot.c). */
void volume_boot(const char *arguments);

#endif
