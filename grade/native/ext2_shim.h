/*
 * The kernel beneath ext2, on the host: what ext2_shim.c offers the program
 * that drives it (ext2_tool.c), beside the kernel's own interfaces.
 *
 * - Processes are fibres. One runs till it waits for a lock, or now and then
 *   where a transfer would take time; all waiting at once is a deadlock.
 * - A buffer's data is fresh memory each time it is held, so a use after its
 *   release is a use of freed memory. bdwrite delays; dirty buffers are
 *   written at random times, clean ones forgotten when there are too many.
 * - Every completed write can be kept in a log, to cut the power later.
 */
#ifndef SLUICE_EXT2_SHIM_H
#define SLUICE_EXT2_SHIM_H

#include "kernel/disk.h"
#include "kernel/ext2.h"

struct shim_options {
    u64 seed;
    u32 block_bytes;    /* the cache's; 0: as the first image's superblock */
    u32 buffers;        /* kept when clean */
    u32 flush_permille; /* chance at a getblk that a dirty one is written */
    u32 far;            /* 1: indirect=far */
    u32 read_errors_permyriad, write_errors_permyriad;
    bool log;
    bool quiet; /* kprintf prints nothing */
};

extern struct shim_options shim;

u64 shim_random(u64 below);
struct disk *shim_disk(const char *image); /* read into memory */
void shim_save(struct disk *, const char *image);
/* The image after the first n writes of the log. */
void shim_save_prefix(struct disk *, const char *image, u64 n);
u64 shim_log_length(void);
u64 shim_writes_waited(void); /* bwrites so far */
/* Nothing may be held by the running fibre; panics with the place. */
void shim_check_idle(const char *where);
/* Run n fibres of fn(i) to their ends. */
void shim_fibres(u32 n, void (*fn)(u32 i));
/* User memory: reads and writes of it fail from this address on. */
#define SHIM_FAULT_NEVER (~0UL)
extern u64 shim_fault_at;

#endif
