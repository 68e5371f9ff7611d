/* RAM disks (ramdisk.h). */
#include "kernel/driver/ramdisk.h"
#include "kernel/base/abi.h"
#include "kernel/machine/args.h"
#include "kernel/machine/clock.h"
#include "kernel/machine/machine.h"
#include "kernel/machine/uart.h"

#define RAMDISKS 8   /* at most */
#define DEPTH    256 /* commands, and spans in one: any number would do */

/* The table, in memory that the kernel no longer sees once it has been read.
 * Addresses are physical. */
struct table {
    char magic[8];
    u64 memory_end; /* of the kernel's memory */
    u64 log_start, log_end;
    u64 text_start; /* memory for what is printed */
    u64 text_end;
    u64 end; /* of the last disk */
    u64 n;   /* how many disks there are */
    struct {
        u64 start, nsectors;
    } disk[RAMDISKS];
};

static struct ramdisk {
    u64 start, nsectors;
    const struct device_client *client;
    void *arg;
} ramdisks[RAMDISKS];

static u32 nramdisks;

/* Meanwhile no disk but the first can be written, as if the host's disk under
 * it were full. */
static struct {
    u64 from_ns, until_ns;
} full;

/* True if the log and the disks come in this order, each in memory of its
 * own. */
static bool in_order(u64 from, const struct table *t)
{
    bool good = t->log_start >= from && t->log_end >= t->log_start;
    from = t->log_end;
    for (u32 i = 0; good && i < t->n; i++) {
        u64 start = t->disk[i].start;
        u64 nsectors = t->disk[i].nsectors;
        good = start >= from && start <= t->end &&
               nsectors <= (t->end - start) / SECTOR_BYTES;
        from = start + nsectors * SECTOR_BYTES;
    }
    return good;
}

/* At boot: check the host's table of RAM disks (ramdisks=, an address), and
 * take the memory behind the kernel's part off the machine's. */
void ramdisk_probe(struct region tree)
{
    u64 at = arg_number("ramdisks", 0, 0, ((u64)BOOT_MAP_GIB << 30) - 1);
    full.from_ns = arg_number("full_from_s", 0, 0, 1000000) * NS_PER_S;
    full.until_ns =
        full.from_ns + arg_number("full_for_s", 0, 0, 1000000) * NS_PER_S;
    if (!at) {
        machine_call(0, 0, 0, 0, DISKS_BEGIN);
        return;
    }
    u64 memory_end = machine.memory_phys + machine.memory_bytes;
    const struct table *t = virt_of(at);
    /* In memory: the kernel's part, then the text, this table, the log and the
     * disks. */
    if (at < machine.memory_phys || at + sizeof *t > memory_end ||
        memcmp(t->magic, "ramdisks", sizeof t->magic) || t->n > RAMDISKS ||
        t->memory_end > t->text_start || t->text_start > t->text_end ||
        t->text_end > at || !in_order(at + sizeof *t, t) || t->end > memory_end)
        boot_fail("ramdisks=%lu: there is no table of RAM disks", at);
    if (tree.start < t->end && t->text_start < tree.end)
        boot_fail("the device tree, at 0x%lx, is in the RAM disks, 0x%lx to "
                  "0x%lx: they need another place",
                  tree.start, at, t->end);
    machine.memory_bytes = t->memory_end - machine.memory_phys;
    uart_kept = (struct region){t->text_start, t->text_end};
    for (nramdisks = 0; nramdisks < t->n; nramdisks++)
        ramdisks[nramdisks] = (struct ramdisk){
            t->disk[nramdisks].start, t->disk[nramdisks].nsectors, NULL, NULL};
    if (machine_call(at, t->end, t->log_start, t->log_end, DISKS_BEGIN))
        boot_fail("ramdisks=%lu: machine mode refuses the table there", at);
}

/* Return RAM disk i with its facts, or NULL. The client is called from now
 * on. */
struct ramdisk *ramdisk_open(u32 i, const struct device_client *client,
                             void *arg, struct device_facts *facts)
{
    if (i >= nramdisks)
        return NULL;
    struct ramdisk *r = &ramdisks[i];
    r->client = client;
    r->arg = arg;
    *facts = (struct device_facts){.nsectors = r->nsectors,
                                   .can_flush = true,
                                   .depth = DEPTH,
                                   .max_segments = DEPTH};
    return r;
}

/* True if writes to this disk fail now (full_from_s=, full_for_s=). The first
 * disk, the root's, is never full. */
static bool is_full(const struct ramdisk *r)
{
    u64 now_ns = full.until_ns ? clock_ns() : 0;
    return r != ramdisks && now_ns >= full.from_ns && now_ns < full.until_ns;
}

/* Move data between the disk and the spans. True if that failed. */
bool ramdisk_move(struct ramdisk *r, bool write, u64 sector, struct span *first)
{
    u64 at = r->start + sector * SECTOR_BYTES;
    i64 error = 0;
    for (struct span *s = first; s; s = s->next) {
        error |= machine_call((u64)s->data, at, s->bytes, write, DISKS_MOVE);
        at += s->bytes;
    }
    clock_was_set();
    return error;
}

void ramdisk_do(struct ramdisk *r, enum command_kind kind, u64 sector,
                struct span *first)
{
    bool write = kind == COMMAND_WRITE, full_now = write && is_full(r);
    struct span *moved = full_now || kind == COMMAND_FLUSH ? NULL : first;
    bool error = ramdisk_move(r, write, sector, moved) || full_now;
    r->client->begin(r->arg);
    r->client->ended(r->arg, first, error ? -EIO : 0);
    r->client->end(r->arg);
}
