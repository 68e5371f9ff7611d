/*
 * The machine that the kernel finds in the twin, except its hart and clock: a
 * console, the end, machine mode, and no devices but RAM disks. It uses nothing
 * of the host but host.h.
 */
#include "sluice/twin/costs.h"
#include "sluice/twin/host.h"
#include "kernel/driver/virtio_blk.h"
#include "kernel/machine/cpu.h"
#include "kernel/machine/fdt.h"
#include "kernel/machine/machine.h"
#include "kernel/machine/panic.h"
#include "kernel/machine/print.h"
#include "kernel/machine/uart.h"
#include "kernel/measure/trace.h"

struct machine machine = {
    .memory_phys = MEMORY_PHYS, .nharts = 1, .tick_ns = 100};

/* ---- the console ---- */

static char output[65536];
static u64 output_length;

struct region uart_kept;

void uart_init(void)
{
}

void uart_drain(void)
{
    host_write(output, output_length);
    output_length = 0;
}

void uart_put(const char *text, u64 n)
{
    for (u64 i = 0; i < n; i++) {
        if (output_length == sizeof output)
            uart_drain();
        output[output_length++] = text[i];
    }
}

int uart_get(void)
{
    return -1;
}

void uart_listen(bool on)
{
    (void)on;
}

/* ---- the end ---- */

void power_off(int status)
{
    uart_drain();
    host_end(status);
}

bool panicking(void)
{
    return false;
}

void panic(const char *fmt, ...)
{
    const struct cpu *c = mycpu();
    va_list list;
    va_start(list, fmt);
    kprintf("panic: ");
    kvprintf(fmt, list);
    kprintf("\n  process %u (%s)\n", c->pid, c->name ? c->name : "none");
    va_end(list);
    power_off(STATUS_PANIC);
}

/* ---- machine mode ---- */

bool trace_on;
struct trace_ring *trace_ring;

/* Write a record of the trace, and count the costs of its event, which is in
 * bits 32 to 47 of the last word. */
static void append(u64 w0, u64 w1, u64 w2, u64 w3)
{
    u64 *record =
        (u64 *)&trace_ring->record[trace_ring->written++ % trace_ring->records];
    record[0] = w0;
    record[1] = w1;
    record[2] = w2;
    record[3] = w3;
    enum trace_event event = w3 >> 32 & 0xffff;
    costs_traced(event);
    if (event == TRACE_counted)
        costs_show();
}

i64 machine_call(u64 w0, u64 w1, u64 w2, u64 w3, u64 call)
{
    switch (call) {
    case TRACE_BEGIN:
        trace_ring = (struct trace_ring *)w0;
        trace_on = w0;
        return 0;
    case TRACE_APPEND:
        append(w0, w1, w2, w3);
        return 0;
    case DISKS_BEGIN:
        return 0;
    case DISKS_MOVE:
        return host_move((void *)w0, w1 - MEMORY_PHYS, w2, w3);
    default:
        panic("twin: machine mode has no call %lu", call);
    }
}

/* ---- devices: none but RAM disks ---- */

void virtio_blk_probe(void)
{
}

/* The host has filled in `machine`, and there is no tree. */
struct region fdt_init(u64 phys)
{
    return (struct region){phys, phys};
}
