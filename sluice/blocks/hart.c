/*
 * The machine under the replayer: a hart that takes one interrupt, the timer's;
 * locks that nobody contends for; memory; and a disk that moves no data.
 *
 * - The clock is the charged one (kernel/machine/clock.h), and computing costs
 *   nothing: time goes on only where every fiber waits.
 * - Interrupts come where they would in the kernel: a timer that is due fires
 *   at once, or when the last lock is released.
 */
#define _GNU_SOURCE
#include "sluice/blocks/hart.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel/driver/driver.h"
#include "kernel/driver/ramdisk.h"
#include "kernel/machine/clock.h"
#include "kernel/machine/counter.h"
#include "kernel/machine/cpu.h"
#include "kernel/machine/lock.h"
#include "kernel/machine/machine.h"
#include "kernel/machine/mem.h"
#include "kernel/machine/uart.h"
#include "kernel/measure/cost.h"
#include "kernel/measure/hist.h"
#include "kernel/measure/trace.h"

struct machine machine = {.nharts = 1, .tick_ns = 100};
struct hart_registers hart_registers = {.sstatus = SSTATUS_SIE};
struct cpu cpus[MAX_HARTS];

struct cpu *mycpu(void)
{
    return &cpus[0];
}

/* ---- the timer's interrupt ---- */

static bool rings;

/* Allow interrupts, and take the ones that came meanwhile. */
void irq_on(void)
{
    hart_registers.sstatus |= SSTATUS_SIE;
    while (rings && mycpu()->irq_depth == 0) {
        rings = false;
        hart_registers.sstatus &= ~(u64)SSTATUS_SIE;
        clock_interrupt();
        hart_registers.sstatus |= SSTATUS_SIE;
    }
}

void counter_ring(void)
{
    rings = true;
    if (irq_is_on())
        irq_on();
}

void counter_quiet(void)
{
    rings = false;
}

void counter_init(bool may_be_lab)
{
    (void)may_be_lab;
}

void counter_hart_init(void)
{
}

void counter_wait(u64 due_ns)
{
    (void)due_ns;
    panic("every request waits, and nothing will happen");
}

/* clock_ns does not use this: it returns the charged time. */
u64 counter_ns(void)
{
    return 0;
}

u64 counter_boot_wall_ns(void)
{
    return 0;
}

bool counter_is_virtual(void)
{
    return true;
}

void counter_alarm(u64 when_ns)
{
    (void)when_ns;
}

void counter_stop(void)
{
}

void counter_rest(void)
{
}

/* ---- locks ---- */

void irq_push_off(void)
{
    mycpu()->irq_depth++;
}

void irq_pop_off(void)
{
    if (--mycpu()->irq_depth == 0 && rings && irq_is_on())
        irq_on();
}

void spin_lock(struct spinlock *l)
{
    irq_push_off();
    assert(!l->locked);
    l->locked = 1;
}

void spin_unlock(struct spinlock *l)
{
    l->locked = 0;
    irq_pop_off();
}

bool spin_held(const struct spinlock *l)
{
    return l->locked;
}

/* ---- computing ---- */

void cost_charge(u32 row, u64 n)
{
    (void)row, (void)n;
}

void cost_charge_bytes(u32 row, u64 bytes)
{
    (void)row, (void)bytes;
}

/* There are no processes to be told apart. */
void prochist_init(u32 histograms)
{
    (void)histograms;
}

void prochist_add(const struct histogram *h, u32 pid, u32 bucket, u64 value)
{
    (void)h, (void)pid, (void)bucket, (void)value;
}

/* ---- memory ---- */

static void *map(u64 bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    if (bytes >= 4UL << 20)
        madvise(at, bytes, MADV_HUGEPAGE);
    return at;
}

void *host_memory(u64 bytes)
{
    void *at = map(bytes);
    if (!at)
        panic("no memory for %lu MiB", bytes >> 20);
    return at;
}

void *mem_reserve(u64 bytes)
{
    return map(ROUND_UP(MAX(bytes, 1), PAGE_SIZE));
}

/* Memory just reserved is zeros. Of tables as large as a large disk's, little
 * will be used: only the small pages of this part are to take memory. */
void *mem_clear(void *start, u64 bytes)
{
    if (start && bytes >= 1UL << 30)
        madvise(start, bytes, MADV_NOHUGEPAGE);
    return start;
}

void mem_release(void *start, u64 bytes)
{
    if (start)
        munmap(start, ROUND_UP(bytes, PAGE_SIZE));
}

void *page_alloc(void)
{
    return mem_reserve(PAGE_SIZE);
}

void page_free(void *page)
{
    mem_release(page, PAGE_SIZE);
}

u64 mem_total_pages(void)
{
    return 0;
}

/* ---- what is said, and the end ---- */

void uart_put(const char *text, u64 n)
{
    if (write(STDERR_FILENO, text, n) < 0)
        _exit(STATUS_PANIC);
}

void power_off(int status)
{
    _exit(status);
}

bool panicking(void)
{
    return false;
}

void panic(const char *fmt, ...)
{
    va_list list;
    va_start(list, fmt);
    kprintf("panic: ");
    kvprintf(fmt, list);
    kprintf("\n");
    va_end(list);
    power_off(STATUS_PANIC);
}

/* ---- the trace: the replayer keeps it in memory ---- */

bool trace_on;
static struct trace_ring *ring;

/* Begin the trace's ring or append a record to it, as machine mode would. */
i64 machine_call(u64 w0, u64 w1, u64 w2, u64 w3, u64 call)
{
    if (call == TRACE_BEGIN) {
        ring = (struct trace_ring *)w0;
        trace_on = w0;
    } else if (call == TRACE_APPEND) {
        u64 *record = (u64 *)&ring->record[ring->written++ % ring->records];
        record[0] = w0;
        record[1] = w1;
        record[2] = w2;
        record[3] = w3;
    }
    return 0;
}

const struct trace_ring *trace_kept(void)
{
    return ring;
}

/* ---- the disk ---- */

static struct ramdisk {
    u64 nsectors;
    const struct device_client *client;
    void *arg;
} volume;

void volume_make(u64 nsectors)
{
    volume.nsectors = nsectors;
}

struct ramdisk *ramdisk_open(u32 i, const struct device_client *client,
                             void *arg, struct device_facts *facts)
{
    if (i)
        return NULL;
    volume.client = client;
    volume.arg = arg;
    *facts = (struct device_facts){.nsectors = volume.nsectors,
                                   .can_flush = true,
                                   .depth = 256,
                                   .max_segments = 256};
    return &volume;
}

/* A trace has no contents, so there is nothing to move. */
void ramdisk_do(struct ramdisk *r, enum command_kind kind, u64 sector,
                struct span *first)
{
    (void)kind, (void)sector;
    r->client->begin(r->arg);
    r->client->ended(r->arg, first, 0);
    r->client->end(r->arg);
}
