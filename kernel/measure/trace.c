/* The event trace (trace.h). A record's place is taken atomically and there is
 * no lock, so a reader may see the newest records half written.
 *
 * From trace_init on, the ring and trace_on belong to machine mode. It appends
 * records at our call; no other code can write there (entry.S). */
#include "kernel/measure/trace.h"
#include "kernel/machine/args.h"
#include "kernel/machine/clock.h"
#include "kernel/machine/device.h"
#include "kernel/machine/lock.h"
#include "kernel/machine/machine.h"
#include "kernel/machine/mem.h"
#include "kernel/base/stat.h"

#define MAX_K (1UL << 20) /* 2^30 records, 32 GiB */

/* entry.S knows the layout. */
_Static_assert(offsetof(struct trace_ring, records) == 8, "entry.S");
_Static_assert(offsetof(struct trace_ring, written) == 16, "entry.S");
_Static_assert(offsetof(struct trace_ring, astray) == 24, "entry.S");
_Static_assert(offsetof(struct trace_ring, record) == 32, "entry.S");
_Static_assert(sizeof(struct trace_record) == 32, "entry.S");

static struct trace_ring *trace_ring; /* NULL: off */

static const char *const event_names[] = {
#define X(name, meaning) #name,
    TRACE_EVENTS(X)
#undef X
};

static u64 ring_phys(void)
{
    return trace_ring ? phys_of(trace_ring) : 0;
}

static u64 written(void)
{
    return trace_ring ? trace_ring->written : 0;
}

/* Return how many records were overwritten. */
static u64 lost(void)
{
    u64 n = written();
    return n && n > trace_ring->records ? n - trace_ring->records : 0;
}

GAUGE(phys_gauge, "trace.phys", "address", "physical, of the ring", ring_phys);
GAUGE(written_gauge, "trace.written", "records", "ever written", written);
GAUGE(lost_gauge, "trace.lost", "records", "overwritten by newer ones", lost);

/* At boot: make the ring, and hand it to machine mode for good. */
void trace_init(void)
{
    u64 n = arg_number("trace_k", 0, 0, MAX_K) * 1024;
    if (!n) {
        machine_call(0, 0, 0, 0, TRACE_BEGIN);
        return;
    }
    u64 bytes = sizeof(struct trace_ring) + n * sizeof(struct trace_record);
    struct trace_ring *ring = mem_reserve(bytes);
    if (!ring)
        boot_fail("trace_k=%lu: no memory for so many records", n / 1024);
    *ring = (struct trace_ring){.magic = TRACE_MAGIC, .records = n};
    trace_ring = ring;
    u64 end = (u64)ring + ROUND_UP(bytes, PAGE_SIZE);
    if (machine_call((u64)ring, end, 0, 0, TRACE_BEGIN))
        boot_fail("trace_k=%lu: machine mode refuses the trace", n / 1024);
}

/* Have machine mode append a record. */
void trace_write_at(u64 time_ns, enum trace_event event, u32 disk, u64 block,
                    u32 pid, u64 argument)
{
    machine_call(time_ns, block, argument,
                 pid | (u64)event << 32 | (u64)disk << 48, TRACE_APPEND);
}

/* Record an event of now. An interrupt between the reading of the clock and the
 * append would put a later record before this one. */
void trace_write(enum trace_event event, u32 disk, u64 block, u32 pid,
                 u64 argument)
{
    irq_push_off();
    trace_write_at(clock_ns(), event, disk, block, pid, argument);
    irq_pop_off();
}

/* Print what the ring holds. A reader's own reads and writes may be traced, so
 * its text ends with the events that there were when it opened the file. */
static void print_trace(struct text *t)
{
    for (u64 i = lost(); i < t->until; i++) {
        const struct trace_record *r =
            &trace_ring->record[i % trace_ring->records];
        text_printf(t, "%lu %s%s disk%u %lu %u %lu\n", r->time_ns,
                    event_names[r->event],
                    r->argument & TRACE_WRITE ? "-write" : "", r->disk,
                    r->block, r->pid, r->argument & ~TRACE_WRITE);
    }
}

static const struct device trace_device = {
    .id = 10, .name = "trace", .print = print_trace, .end = written};
DEVICE(trace_device);
