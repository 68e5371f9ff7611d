/* Turning the machine off, through its test device (sifive,test1). */
#pragma once

/* Exit statuses of the kernel's own. */
#define STATUS_BOOT_FAIL 100
#define STATUS_PANIC     101

/* Power off; status 0 to 255 becomes QEMU's exit status. Syncs nothing. */
void power_off(int status) __attribute__((noreturn));
