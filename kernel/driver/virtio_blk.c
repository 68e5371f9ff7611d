/*
 * The virtio block driver (virtio_blk.h).
 *
 * - One virtqueue a device. A command takes one ring descriptor, which points
 *   at the command's own table: header, pieces of data, status byte.
 * - dev->lock guards the free slots and the ring. The device writes the used
 *   ring; the interrupt reads it up to used_seen.
 */
#include "kernel/driver/virtio_blk.h"
#include "kernel/base/abi.h"
#include "kernel/driver/virtio.h"
#include "kernel/machine/clock.h"
#include "kernel/machine/fdt.h"
#include "kernel/machine/irq.h"
#include "kernel/machine/lock.h"

/* Feature bits, sections 5.2.3 and 6. */
#define F_SEG_MAX  (1UL << 2)
#define F_RO       (1UL << 5)
#define F_FLUSH    (1UL << 9)
#define F_INDIRECT (1UL << 28)

/* Descriptor flags, section 2.7.5. */
#define DESC_NEXT     1
#define DESC_WRITE    VIRTIO_DESC_WRITE
#define DESC_INDIRECT 4

/* Request types, section 5.2.6. */
#define TYPE_IN    0
#define TYPE_OUT   1
#define TYPE_FLUSH 4

#define SEGMENTS_MAX 64 /* pieces of data in a command */
#define DEVICES_MAX  8  /* devices that are used */
#define BLOCK_DEVICE 2  /* device id */

/* A command: the part that the device reads, and its owner. */
struct slot {
    struct virtio_descriptor table[SEGMENTS_MAX + 2];
    struct {
        u32 type, reserved;
        u64 sector;
    } header;
    u8 status; /* the device sets it; 0: done */
    struct span *first;
};

static struct virtio_blk {
    u64 registers; /* kernel address */
    u32 irq;
    const struct device_client *client; /* NULL: not opened */
    void *arg;                          /* the client's */
    u64 features;
    u32 max_segments;
    u32 ring_size, nfree;
    u16 used_seen;
    struct spinlock lock;
    /* lock */
    u16 free[VIRTIO_RING];
    struct virtio_descriptor *ring;
    struct virtio_available *available;
    volatile struct virtio_used *used;
    struct slot *slots;
} devices[DEVICES_MAX];

static u32 ndevices;

/* ---- commands ---- */

/* Add one piece of memory to a command's table. Return the next index. */
static u32 describe(struct slot *s, u32 n, const void *p, u32 bytes, u16 flags)
{
    s->table[n] = (struct virtio_descriptor){phys_of(p), bytes, flags, n + 1};
    return n + 1;
}

/* Lay out the command in a free slot and publish it. */
bool virtio_blk_start(struct virtio_blk *v, enum command_kind kind, u64 sector,
                      struct span *first)
{
    static const u32 type[] = {TYPE_IN, TYPE_OUT, TYPE_FLUSH};
    HOLD(spin, &v->lock);
    if (!v->nfree)
        return false;
    u16 id = v->free[--v->nfree];
    struct slot *s = &v->slots[id];
    s->first = first;
    s->status = 0xff;
    s->header.type = type[kind];
    s->header.reserved = 0;
    s->header.sector = sector;
    u32 n = describe(s, 0, &s->header, sizeof s->header, DESC_NEXT);
    u16 flags = DESC_NEXT | (kind == COMMAND_READ ? DESC_WRITE : 0);
    for (; first && kind != COMMAND_FLUSH; first = first->next) {
        assert(n <= v->max_segments);
        n = describe(s, n, first->data, first->bytes, flags);
    }
    n = describe(s, n, &s->status, 1, DESC_WRITE);
    v->ring[id] = (struct virtio_descriptor){
        phys_of(s->table), n * sizeof s->table[0], DESC_INDIRECT, 0};
    v->available->ring[v->available->index % v->ring_size] = id;
    /* The device must see the entry before the index that covers it. */
    __atomic_store_n(&v->available->index, v->available->index + 1,
                     __ATOMIC_RELEASE);
    return true;
}

/* Tell the device that there are new commands in the ring. */
void virtio_blk_kick(struct virtio_blk *v)
{
    virtio_notify(v->registers, 0);
}

/* Return the next command that has ended, its slot freed; NULL if there is
 * none. */
static struct span *reap(struct virtio_blk *v, int *error)
{
    HOLD(spin, &v->lock);
    if (v->used_seen == __atomic_load_n(&v->used->index, __ATOMIC_ACQUIRE))
        return NULL;
    u32 id = v->used->ring[v->used_seen++ % v->ring_size].id;
    struct slot *s = &v->slots[id];
    *error = s->status ? -EIO : 0;
    v->free[v->nfree++] = id;
    return s->first;
}

/* Report all commands that the device has ended to its client. */
static void interrupt(u32 irq)
{
    for (u32 i = 0; i < ndevices; i++) {
        struct virtio_blk *v = &devices[i];
        if (v->irq != irq)
            continue;
        virtio_acknowledge(v->registers);
        v->client->begin(v->arg);
        int error;
        for (struct span *first; (first = reap(v, &error));)
            v->client->ended(v->arg, first, error);
        v->client->end(v->arg);
    }
}

/* Wait until all commands have ended, without sleeping. */
void virtio_blk_settle(struct virtio_blk *v)
{
    /* Another hart may take the interrupt, after which none comes here: so
     * only a hart that is alone rests. */
    while (__atomic_load_n(&v->nfree, __ATOMIC_ACQUIRE) < v->ring_size) {
        if (machine.nharts == 1)
            clock_rest();
        else if (!(csr_read(sip) & 1UL << INT_EXTERNAL))
            continue;
        irq_dispatch();
    }
}

/* ---- set-up ---- */

/* Return a word of the device's own configuration. */
static u32 configuration(const struct virtio_blk *v, u32 offset)
{
    return *virtio_register(v->registers, VIRTIO_CONFIG + offset);
}

/* Give the device its queue. False: no memory, or the device has no queue. */
static bool make_ring(struct virtio_blk *v)
{
    u32 most = virtio_select(v->registers, 0);
    v->ring_size = MIN(most, VIRTIO_RING);
    v->ring = page_alloc_zero();
    v->available = page_alloc_zero();
    v->used = page_alloc_zero();
    v->slots = mem_reserve(v->ring_size * sizeof *v->slots);
    if (!v->ring_size || !v->ring || !v->available || !v->used || !v->slots)
        return false;
    for (u32 i = 0; i < v->ring_size; i++)
        v->free[v->nfree++] = i;
    virtio_ready(v->registers, v->ring_size, v->ring, v->available,
                 (void *)v->used);
    return true;
}

/* Make a device that was found ready for commands. False if that fails. */
static bool set_up(struct virtio_blk *v)
{
    v->lock = SPINLOCK("virtio_blk", RANK_VIRTIO);
    v->features = virtio_negotiate(v->registers, VIRTIO_F_VERSION1 | F_INDIRECT,
                                   F_SEG_MAX | F_RO | F_FLUSH);
    if (!v->features || !make_ring(v)) {
        virtio_fail(v->registers);
        return false;
    }
    u32 segments = v->features & F_SEG_MAX ? configuration(v, 12) : 1;
    v->max_segments = MIN(segments, SEGMENTS_MAX);
    irq_register(v->irq, interrupt);
    virtio_start(v->registers);
    return true;
}

/* At boot: find all block devices. */
void virtio_blk_probe(void)
{
    for (u32 i = 0; i < machine.nvirtio && ndevices < DEVICES_MAX; i++) {
        u64 registers = (u64)virt_of(machine.virtio[i].phys);
        if (!virtio_present(registers, BLOCK_DEVICE))
            continue;
        struct virtio_blk *v = &devices[ndevices];
        *v = (struct virtio_blk){.registers = registers,
                                 .irq = machine.virtio[i].irq};
        if (set_up(v))
            ndevices++;
        else
            kprintf("virtio_blk: device at 0x%lx cannot be used\n",
                    machine.virtio[i].phys);
    }
}

/* Return device i with its facts, or NULL. The client is called from now on. */
struct virtio_blk *virtio_blk_open(u32 i, const struct device_client *client,
                                   void *arg, struct device_facts *facts)
{
    if (i >= ndevices)
        return NULL;
    struct virtio_blk *v = &devices[i];
    v->client = client;
    v->arg = arg;
    *facts = (struct device_facts){
        .nsectors = configuration(v, 0) | (u64)configuration(v, 4) << 32,
        .read_only = v->features & F_RO,
        .can_flush = v->features & F_FLUSH,
        .depth = v->ring_size - 1, /* one slot is kept for a flush */
        .max_segments = v->max_segments};
    return v;
}
