/* The event trace (trace.h). A record's place is taken atomically; nothing is
 * locked, so a reader beside writers may see the newest records half done. */
#include "kernel/trace.h"
#include "kernel/args.h"
#include "kernel/clock.h"
#include "kernel/dev.h"
#include "kernel/lock.h"
#include "kernel/mem.h"
#include "kernel/stat.h"

#define MAX_K (1UL << 20) /* 2^30 records, 32 GiB */

bool trace_on;
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

static u64 lost(void)
{
    u64 n = written();
    return n && n > trace_ring->records ? n - trace_ring->records : 0;
}

GAUGE(phys_gauge, "trace.phys", "address", "physical, of the ring", ring_phys);
GAUGE(written_gauge, "trace.written", "records", "ever written", written);
GAUGE(lost_gauge, "trace.lost", "records", "overwritten by newer ones", lost);

void trace_init(void)
{
    u64 n = arg_number("trace_k", 0, 0, MAX_K) * 1024;
    if (!n)
        return;
    struct trace_ring *ring =
        mem_reserve(sizeof *ring + n * sizeof ring->record[0]);
    if (!ring)
        boot_fail("trace_k=%lu: no memory for so many records", n / 1024);
    *ring = (struct trace_ring){.magic = TRACE_MAGIC, .records = n};
    trace_ring = ring;
    trace_on = true;
}

void trace_write_at(u64 time_ns, enum trace_event event, u32 disk, u64 block,
                    u32 pid, u64 argument)
{
    u64 i = __atomic_fetch_add(&trace_ring->written, 1, __ATOMIC_RELAXED);
    trace_ring->record[i % trace_ring->records] =
        (struct trace_record){.time_ns = time_ns,
                              .block = block,
                              .argument = argument,
                              .pid = pid,
                              .event = event,
                              .disk = disk};
}

/* An interrupt between the two, the time and its place, would have what it
 * traces stand before what was earlier. */
void trace_write(enum trace_event event, u32 disk, u64 block, u32 pid,
                 u64 argument)
{
    irq_push_off();
    trace_write_at(clock_ns(), event, disk, block, pid, argument);
    irq_pop_off();
}

static void print_trace(struct text *t)
{
    u64 end = written();
    for (u64 i = lost(); i < end; i++) {
        const struct trace_record *r =
            &trace_ring->record[i % trace_ring->records];
        text_printf(t, "%lu %s%s disk%u %lu %u %lu\n", r->time_ns,
                    event_names[r->event],
                    r->argument & TRACE_WRITE ? "-write" : "", r->disk,
                    r->block, r->pid, r->argument & ~TRACE_WRITE);
    }
}

static int trace_read(u32 unit, struct uio *uio)
{
    (void)unit;
    return text_read(uio, print_trace);
}

static const struct device trace_device = {
    .id = 10, .name = "trace", .read = trace_read};
DEVICE(trace_device);
