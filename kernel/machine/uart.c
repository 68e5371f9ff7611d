/*
 * The serial port: an NS16550A (National Semiconductor PC16550D data sheet,
 * section 8), its registers a byte apart.
 *
 * - Output is polled: it works in any context, from the first instruction in
 *   C on, and nothing is lost when the kernel dies. The hart that prints waits
 *   for a slow line.
 * - A call's bytes stay together: print_lock, the innermost of all locks, is
 *   held meanwhile. A panic prints without it, because the hart that holds it
 *   may be stopped, or be this one.
 * - The FIFOs stay off: turning them on would drop what has been received
 *   before, and with it the beginning of a script fed to the machine.
 * - Here, and only here, "\n" becomes "\r\n".
 * - Memory of the host takes the bytes first, if there is any (uart_kept): in
 *   QEMU each byte on the line is a system call of the host.
 */
#include "kernel/machine/uart.h"

#include "kernel/machine/lock.h"

/* The address on QEMU's virt machine, until the device tree is read. */
#define VIRT_UART_PHYS 0x10000000

enum { DATA, INT_ENABLE, FIFO_CONTROL, LINE_CONTROL, MODEM_CONTROL, STATUS };

#define INT_RECEIVED      0x01
#define LINE_8N1          0x03
#define MODEM_DTR_RTS_INT 0x0b
#define STATUS_RECEIVED   0x01
#define STATUS_CAN_SEND   0x20
#define STATUS_ALL_SENT   0x40

struct region uart_kept; /* from the next byte on; print_lock guards it */

static struct spinlock print_lock = SPINLOCK("print", RANK_PRINT);

/* Return a register of the serial port. Before the device tree is read it is
 * where QEMU has it. */
static volatile u8 *reg(u32 i)
{
    u64 phys = machine.uart.phys ? machine.uart.phys : VIRT_UART_PHYS;
    return (volatile u8 *)virt_of(phys) + i;
}

/* Set 8 data bits, no parity, no interrupts. */
void uart_init(void)
{
    *reg(INT_ENABLE) = 0;
    *reg(LINE_CONTROL) = LINE_8N1;
    *reg(MODEM_CONTROL) = MODEM_DTR_RTS_INT;
}

/* Send one byte: to the memory of the host while there is room, else by the
 * line, when it is free. */
static void put_byte(char c)
{
    bool keep = uart_kept.start != uart_kept.end;
    while (!keep && !(*reg(STATUS) & STATUS_CAN_SEND))
        ;
    volatile u8 *to = keep ? virt_of(uart_kept.start++) : reg(DATA);
    *to = c;
}

/* Print n bytes that stay together. */
void uart_put(const char *s, u64 n)
{
    HOLD(spin, panicking() ? NULL : &print_lock);
    for (; n--; s++) {
        if (*s == '\n')
            put_byte('\r');
        put_byte(*s);
    }
}

/* Wait until the last byte has left. */
void uart_drain(void)
{
    while (!(*reg(STATUS) & STATUS_ALL_SENT))
        ;
}

/* Return a byte that was received, or -1. */
int uart_get(void)
{
    return *reg(STATUS) & STATUS_RECEIVED ? *reg(DATA) : -1;
}

void uart_listen(bool on)
{
    *reg(INT_ENABLE) = on ? INT_RECEIVED : 0;
}
