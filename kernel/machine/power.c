/*
 * Power-off through SiFive's test device, as QEMU implements it: a 32-bit
 * write of PASS ends QEMU with status 0, of FAIL with the status in the upper
 * half. Because panic uses it, it takes no lock and needs nothing that boot
 * sets up.
 */
#include "kernel/machine/panic.h"

#include "kernel/machine/uart.h"
#include "kernel/machine/fdt.h"

#define PASS 0x5555U
#define FAIL 0x3333U

#define VIRT_TEST_PHYS 0x100000 /* on QEMU's virt: before the tree is read */

/* Switch the machine off. QEMU ends with this status. Does not return. */
void power_off(int status)
{
    u64 phys = machine.test.phys ? machine.test.phys : VIRT_TEST_PHYS;
    volatile u32 *test = virt_of(phys);
    uart_drain();
    *test = status ? (u32)status << 16 | FAIL : PASS;
    for (;;)
        wait_for_interrupt();
}
