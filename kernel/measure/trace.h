/*
 * The event trace: a ring of fixed records in memory, written with a few
 * instructions each. Those are its only effect on counted time. In charged time
 * an event costs the same whether it is traced or not.
 *
 * - Off unless the boot argument trace_k=N asks for a ring of N * 1024
 *   records. When the ring is full the oldest records are overwritten;
 *   trace.lost counts them.
 * - /dev/trace prints what the ring holds, the oldest first, a line each:
 *   `TIME_NS EVENT DISK BLOCK PID ARGUMENT`, where EVENT of a write ends in
 *   -write. It ends with the last event before it was opened: so a reader
 *   that causes events, as `cat /dev/trace > file` does, comes to its end.
 *   Events that are overwritten meanwhile are missing in what it reads.
 * - On the host: the ring lies at physical address trace.phys (a gauge), as
 *   struct trace_ring below, little-endian. A machine whose memory is a file
 *   (QEMU's memory-backend-file) leaves it there to be read after power-off.
 */
#pragma once

#include "kernel/measure/cost.h"

/* Events: X(name, what block and argument mean). Numbers from 0, in order;
 * new ones go to the end. */
#define TRACE_EVENTS(X)                                                   \
    X(queued, "sector; sectors, bit 63: a write")                         \
    X(issued, "sector; sectors of the command, bit 63: a write")          \
    X(completed, "sector; response in ns, bit 63: a write")               \
    X(failed, "sector; sectors, bit 63: a write")                         \
    X(hit, "block; 0")                                                    \
    X(miss, "block; 0")                                                   \
    X(evicted, "block; 1: prefetched and never asked for")                \
    X(dirtied, "block; owner")                                            \
    X(absorbed, "block; owner")                                           \
    X(cancelled, "block; 0")                                              \
    X(ahead, "block; 1: asked for by the same call, 0: prefetched")       \
    X(flush, "0; blocks started by one flush or tick")                    \
    X(writing, "block; how long it was dirty in ns, or 0")                \
    X(named, "the process's new name, 8 bytes; the other 8")              \
    X(counted, "0; 0: /dev/stat was printed")                             \
    X(sought, "0: to the first cylinder, 1: the last; told in ns")        \
    X(placed, "sector; another sector to which it goes, bit 63: a write") \
    X(fault, "what a policy answered wrongly about; its kind")            \
    X(pinned, "block; owner: a change that waits for its transaction")    \
    X(committed, "0; blocks: what was pinned is in the journal")          \
    X(carried, "sector of a remote command that begins; bit 63: a write") \
    X(sent, "a datagram's first 8 bytes; its bytes")                      \
    X(framed, "bytes of a frame; when it arrives, as link_send says")     \
    X(received, "a datagram's first 8 bytes; its bytes")

enum trace_event {
#define X(name, meaning) TRACE_##name,
    TRACE_EVENTS(X)
#undef X
};

#define TRACE_WRITE (1UL << 63)
#define TRACE_MAGIC 0x6563617274736c75UL /* "ulstrace" */

struct trace_record {
    u64 time_ns;
    u64 block;
    u64 argument;
    u32 pid;
    u16 event, disk;
};

struct trace_ring {
    u64 magic, records; /* how many fit */
    u64 written;        /* ever; record i is at i % records */
    u64 astray;         /* of them, with a time that was not the clock's */
    struct trace_record record[];
};

void trace_init(void);
void trace_write(enum trace_event, u32 disk, u64 block, u32 pid, u64 argument);
void trace_write_at(u64 time_ns, enum trace_event, u32 disk, u64 block, u32 pid,
                    u64 argument);

extern bool trace_on; /* only machine mode writes it, and the ring */

/* Record an event that happens now. */
static inline void trace(enum trace_event event, u32 disk, u64 block, u32 pid,
                         u64 argument)
{
    if (trace_on)
        trace_write(event, disk, block, pid, argument);
    charge(COST_EVENTS + event, 1);
}

/* Record an event at an earlier time. Since then the hart must have traced
 * nothing and kept interrupts off. */
static inline void trace_at(u64 time_ns, enum trace_event event, u32 disk,
                            u64 block, u32 pid, u64 argument)
{
    if (trace_on)
        trace_write_at(time_ns, event, disk, block, pid, argument);
    charge(COST_EVENTS + event, 1);
}
