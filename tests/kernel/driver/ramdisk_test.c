/*
 * RAM disks at boot: the kernel takes a table whose parts have memory of their
 * own, and refuses any other, wherever QEMU has put the device tree.
 *
 * lay_out fills in a right table, and a test changes a part. said(tree) boots
 * with the device tree at that address, and returns the message if the boot is
 * refused.
 *
 * link: kernel/driver/ramdisk.c tests/support/native/main.c
 */
#include <setjmp.h>
#include <stdarg.h>

#include "tests/support/native/test.h"
#include "kernel/base/abi.h"
#include "kernel/driver/ramdisk.h"
#include "kernel/machine/args.h"
#include "kernel/machine/clock.h"
#include "kernel/machine/machine.h"
#include "kernel/machine/uart.h"

#define MIB        (1UL << 20)
#define TREE_BYTES 8191UL
#define DISKS      3
#define DISK_BYTES (16 * MIB)
#define TREE_STEP  4096UL

/* As the host writes it (sluice/system/guest.py). */
static struct {
    char magic[8];
    u64 memory_end, log_start, log_end, text_start, text_end, end, n;
    struct {
        u64 start, nsectors;
    } disk[8];
} table;

struct machine machine;
struct region uart_kept;

static jmp_buf refused;
static char message[256];
static u32 calls; /* of machine mode */

/* Keep the message of a boot that is refused, and go back to said(). */
void boot_fail(const char *fmt, ...)
{
    va_list list;
    va_start(list, fmt);
    vsnprintf(message, sizeof message, fmt, list);
    va_end(list);
    longjmp(refused, 1);
}

/* The table is of the host's memory: what is "physical" lies around it. */
static u64 table_phys(void)
{
    return phys_of(&table);
}

/* Return where the table is, for the boot argument ramdisks. */
u64 arg_number(const char *name, u64 def, u64 min, u64 max)
{
    (void)name, (void)def, (void)min, (void)max;
    return table_phys();
}

/* Count the calls that tell machine mode of the disks. */
i64 machine_call(u64 w0, u64 w1, u64 w2, u64 w3, u64 call)
{
    (void)w0, (void)w1, (void)w2, (void)w3;
    calls += call == DISKS_BEGIN;
    return 0;
}

u64 clock_ns(void)
{
    return 1;
}

void clock_was_set(void)
{
}

/* The machine as the host lays it out: memory, table, log, disks, room. */
static void lay_out(void)
{
    u64 at = table_phys();
    machine.memory_phys = at - 64 * MIB;
    machine.memory_bytes = 64 * MIB + 4 * MIB + DISKS * DISK_BYTES + 2 * MIB;
    memcpy(table.magic, "ramdisks", 8);
    table.memory_end = at - 32 * MIB;
    table.text_start = at - 2 * MIB;
    table.text_end = at;
    table.log_start = at + 2 * MIB;
    table.log_end = at + 3 * MIB;
    table.n = DISKS;
    for (u64 i = 0; i < DISKS; i++) {
        table.disk[i].start = at + 4 * MIB + i * DISK_BYTES;
        table.disk[i].nsectors = DISK_BYTES / SECTOR_BYTES;
    }
    table.end = at + 4 * MIB + DISKS * DISK_BYTES;
}

/* Return the message with which a boot fails that has its device tree there;
 * NULL: it boots. */
static const char *said(u64 tree_phys)
{
    struct region tree = {tree_phys, tree_phys + TREE_BYTES};
    u64 memory = machine.memory_bytes;
    calls = 0;
    bool no = setjmp(refused);
    if (!no)
        ramdisk_probe(tree);
    check_eq(calls, !no);
    machine.memory_bytes = memory;
    return no ? message : NULL;
}

/* Check that the table is refused. */
static void check_refused(void)
{
    const char *got = said(table.end + 2 * MIB);
    check(got && strstr(got, "there is no table of RAM disks"));
}

/* The tree is tried at each page, in and behind memory. Where it overlaps the
 * table or the disks, the boot is refused. */
TEST(a_device_tree_at_any_place_is_kept_off)
{
    lay_out();
    u64 start = machine.memory_phys, end = start + machine.memory_bytes;
    u32 boots = 0, refusals = 0;
    for (u64 tree = start; tree < end + 2 * MIB; tree += TREE_STEP) {
        bool no = tree < table.end && tree + TREE_BYTES > table.text_start;
        const char *got = said(tree);
        check(!!got == no);
        check(!no || strstr(got, "the device tree, at 0x"));
        no ? refusals++ : boots++;
    }
    check(boots > 1000 && refusals > DISKS * DISK_BYTES / TREE_STEP);
}

TEST(a_message_names_the_places_of_tree_and_disks)
{
    lay_out();
    char want[200];
    u64 tree = table.disk[2].start + 14 * MIB;
    snprintf(want, sizeof want,
             "the device tree, at 0x%lx, is in the RAM disks, 0x%lx to 0x%lx: "
             "they need another place",
             tree, table_phys(), table.end);
    check(strcmp(said(tree), want) == 0);
}

/* lay_out makes a good table; each time one part is moved onto another, or
 * ends before it begins. */
TEST(parts_of_the_table_that_overlap_are_refused)
{
    lay_out();
    check(!said(table.end));
    check(uart_kept.start == table.text_start);
    check(uart_kept.end == table.text_end);
    table.disk[1].start -= SECTOR_BYTES;
    check_refused();
    lay_out();
    table.disk[2].nsectors++;
    check_refused();
    lay_out();
    table.disk[0].nsectors = 1UL << 55;
    check_refused();
    lay_out();
    table.disk[0].start = table.memory_end - SECTOR_BYTES;
    check_refused();
    lay_out();
    table.log_end = table.disk[0].start + 1;
    check_refused();
    lay_out();
    table.log_end = table.log_start - 1;
    check_refused();
    lay_out();
    table.log_start = table_phys();
    check_refused();
    lay_out();
    table.memory_end = table_phys() + 1;
    check_refused();
    lay_out();
    table.text_start = table.memory_end - 1;
    check_refused();
    lay_out();
    table.text_end = table_phys() + 1;
    check_refused();
    lay_out();
    table.text_end = table.text_start - 1;
    check_refused();
    lay_out();
    table.end += 3 * MIB;
    check_refused();
}
