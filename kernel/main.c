/*
 * The order in which the kernel comes up.
 *
 * entry.S enters start() on every hart: on hart 0 at power-on, on the others
 * when hart 0 sends them their first ipi. The kernel thread "boot", which
 * becomes process 1, makes the steps that may sleep.
 */
#include "kernel/machine/args.h"
#include "kernel/cache/bio.h"
#include "kernel/file/console.h"
#include "kernel/file/dev.h"
#include "kernel/vlog/vlog.h"
#include "kernel/net/net.h"
#include "kernel/nfs/nfs.h"
#include "kernel/nvram/nvram.h"
#include "kernel/remote/remote.h"
#include "kernel/file/file.h"
#include "kernel/machine/gathered.h"
#include "kernel/measure/hist.h"
#include "kernel/base/stat.h"
#include "drives/row.h"
#include "kernel/machine/irq.h"
#include "kernel/machine/uart.h"
#include "kernel/cache/prefetch.h"
#include "kernel/proc/proc.h"
#include "kernel/policy/registry.h"
#include "kernel/measure/trace.h"
#include "kernel/syscall/process.h"
#include "kernel/syscall/trap.h"
#include "kernel/proc/vm.h"

extern char kernel_end[];

/* Return the disk that root= names; disk0 without it. */
static struct disk *root_disk(void)
{
    const char *name = arg_text("root") ?: "disk0";
    struct disk *disk = disk_named(name);
    if (!disk)
        boot_fail("there is no disk %s to be the root", name);
    return disk;
}

static const char *drive_name(u32 i, const char **file)
{
    const struct drive_model *row = drive_row(i);
    if (row)
        *file = drive_file(i);
    return row ? row->name : NULL;
}

/* End the boot if two rows of a table have one name. */
static void check_tables(void)
{
    expect_names_differ("counters", stat_name);
    expect_names_differ("histograms", hist_name);
    expect_names_differ("devices", device_name);
    expect_names_differ("drives", drive_name);
}

/* Go on at a whole second of virtual time. How long the boot takes until here
 * depends on how many policies and drives there are, and on the boot arguments.
 * So a run does not depend on what it does not use. */
static void begin_evenly(void)
{
    struct spinlock lock = SPINLOCK("boot", RANK_PIPE);
    HOLD(spin, &lock);
    if (clock_is_virtual())
        sleep_until(&lock, &lock, (clock_ns() / NS_PER_S + 1) * NS_PER_S);
}

/* The boot thread: what may sleep. It becomes process 1. */
static void boot(void *)
{
    trace_init();
    for (u32 hart = 1; hart < machine.nharts; hart++)
        ipi_send(hart); /* it starts; machine mode's regions are settled */
    disk_init();
    vlog_init();
    nvram_init();
    struct disk *root = root_disk();
    int block_bytes = ext2_probe(root);
    if (block_bytes < 0)
        boot_fail("no ext2 on %s: error %d", root->name, -block_bytes);
    bio_init(block_bytes);
    prefetch_init();
    ext2_init();
    updated_init();
    net_init();
    nfs_init();
    remote_init();
    args_check(); /* before anything is written */
    begin_evenly();
    net_start();
    kthread("updated", update_daemon, NULL);
    int error = ext2_mount_root(root);
    if (error)
        boot_fail("cannot mount %s: error %d", root->name, -error);
    dev_make_nodes();
    process_start_init("/bin/init");
}

/* Refuse too small a machine, and use a part of one that is too large. */
static void fit_machine(void)
{
    u64 mib = machine.memory_bytes >> 20;
    if (machine.memory_bytes < MEMORY_LEAST)
        boot_fail("the machine has %lu MiB of memory: Sluice needs %lu (-m)",
                  mib, MEMORY_LEAST >> 20);
    if (machine.memory_bytes > MEMORY_MOST) {
        machine.memory_bytes = MEMORY_MOST;
        kprintf("boot: the machine has %lu MiB of memory: Sluice uses %lu\n",
                mib, MEMORY_MOST >> 20);
    }
    if (machine.spare_harts)
        kprintf("boot: the machine has %u harts: Sluice uses %u\n",
                machine.nharts + machine.spare_harts, machine.nharts);
}

/* Bring the kernel up on hart 0. */
static void start_first(u64 dtb_phys)
{
    uart_init();
    struct region tree = fdt_init(dtb_phys);
    args_init(machine.bootargs);
    ramdisk_probe(tree);
    fit_machine();
    mem_init(phys_of(kernel_end), machine.memory_phys + machine.memory_bytes);
    vm_init();
    proc_init();
    irq_init();
    irq_hart_init();
    virtio_blk_probe();
    net_probe();
    check_tables(); /* before time begins: it takes no time of a run */
    registry_check();
    clock_init();
    cost_init();
    clock_hart_init();
    registry_init();
    policy_boot_args();
    file_init();
    console_init();
    kthread("boot", boot, NULL);
}

/* Bring a further hart up. */
static void start_other(void)
{
    vm_use(NULL);
    irq_hart_init();
    clock_hart_init();
}

/* The first C function of each hart. It ends as the hart's idle loop. */
void start(u32 hart, u64 dtb_phys)
{
    cpu_init(hart); /* locks need it */
    proc_hart_init();
    trap_hart_init(); /* so that a fault is reported */
    if (hart == 0)
        start_first(dtb_phys);
    else
        start_other();
    proc_idle();
}
