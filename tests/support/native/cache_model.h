/*
 * A model of the cache on the host, on which the calls of policy.h for update
 * and write policies work, with a clock that the test sets. A test is an
 * example worked by hand:
 *
 *   model_start("aipu");
 *   run_to_ms(1500);
 *   dirty(7);
 *   run_to_ms(60000);
 *   check_writes("32000: 7");
 *
 * - The update daemon works as in kernel/cache/updated.c: it calls next_ns
 *   after a scan, when it wakes and when a tunable is set, but not when blocks
 *   become dirty. Time passes only in run_to_ms; scans and writes take no time.
 * - A block has the buffer after those used before, as in a cache that is
 *   never full.
 * - A policy that scans again and again at one time fails the test.
 */
#ifndef SLUICE_CACHE_MODEL_H
#define SLUICE_CACHE_MODEL_H

#include "tests/support/native/script.h"

/* State that a test may set and read. model_start resets it. */
extern struct cache_model {
    u64 now_ns;
    u64 bad_blkno;           /* writes of this block fail; UNLIMITED: none */
    struct cache_state now;  /* buffers: 1000; dirty is counted by the model */
    struct disk_state queue; /* at disk 0 */
    u32 disks;               /* 1 */
    struct disk_state others[MAX_DISKS - 1]; /* at disks 1 to disks - 1 */
    u64 scanned;                             /* blocks that flushes looked at */
    u64 looks;                               /* of the update policy */
} model;

/* An empty cache at time 0 with this update policy, its tunables at their
 * defaults, and the write policy `delayed`. The table. */
const struct policy *model_start(const char *update);

/* Swap the update policy, as the kernel does. */
const struct policy *model_use_update(const char *name);
const struct policy *model_use_write(const char *name);

/* `policy set` and a counter, of the update or the write policy in use; the
 * daemon asks again. */
void tune(const char *tunable, u64 value);
void tune_write(const char *tunable, u64 value);
u64 counter(const char *name);
u64 counter_write(const char *name);

/* The daemon runs, and time passes, until then. */
void run_to_ms(u64 ms);

/* Let time pass while the daemon cannot run, as if writes took long. */
void stall_to_ms(u64 ms);

/* Change a block: file data of file 1, file data of a file, what maps that,
 * metadata of no file. It becomes dirty, or is modified again. */
struct block *dirty(u64 blkno);
struct block *dirty_file(u64 blkno, u64 owner);
struct block *dirty_map(u64 blkno, u64 owner);
struct block *dirty_meta(u64 blkno);

/* Write file data, as the write policy decides: at once (then it is in
 * check_writes), or later. The mode. */
enum write_mode write_data(u64 blkno, bool filled);

/* Free a dirty block; report a read of a block to the policy. */
void drop(u64 blkno);
void read_block(u64 blkno, bool hit);

/* Expect these writes since the last check: "MS: BLOCK BLOCK; MS: BLOCK", in
 * the order they were started; `BLOCK!` is one that failed. */
#define check_writes(want) check_writes_at(want, __FILE__, __LINE__)
void check_writes_at(const char *want, const char *file, u32 line);

/*
 * An example as a script (script.h), which begins with model_start:
 *
 *   at 1500          the daemon runs, and time passes, until then
 *   dirty 7 10-12    file data of file 1 is changed
 *   file 3/20        file data of file 20 is; map 3/20, what maps that
 *   meta 5           metadata of no file is
 *   drop 9           a dirty block is freed
 *   hit 9; miss 9    a read wants a block
 *   set NAME=VALUE   a tunable of the update policy
 *   use NAME         another update policy takes over
 *   restart NAME     model_start again
 *   buffers 600      sets model.now.buffers. The words bad, writing, reads
 *                    (queued), writes (queued) and busy (in flight) set theirs
 *   wrote 32000: 7 3, 33000: 9     check_writes; wrote alone: none
 *   dirty_now 9      checks model.now.dirty; written_now and looks_now check
 *                    theirs
 *   NAME 3           a counter of the update policy is this; NAME-NAME 3: the
 *                    difference of two is
 */
void model_script(const char *update, const char *steps);

struct timeline {
    const char *name, *policy, *steps;
};

#endif
