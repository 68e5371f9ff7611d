/*
 * The virtio network driver (virtio_net.h).
 *
 * - Two queues: frames that come and frames that go. The control queue is not
 *   asked for: the device takes all frames until it is told otherwise.
 * - Descriptor i is buffer i for ever. A frame is copied into a free buffer to
 *   be sent, and none comes back by an interrupt: nic_send collects them.
 * - nic.lock guards the rings. One interrupt handler reads received frames, or
 *   in virtual time the one hart.
 */
#include "kernel/driver/virtio_net.h"
#include "kernel/driver/virtio.h"
#include "kernel/machine/lock.h"
#include "kernel/machine/irq.h"

#define NETWORK_DEVICE 1          /* device id */
#define F_MAC          (1UL << 5) /* feature: the device has an address */

enum { RECEIVE, SEND };

_Static_assert(NIC_RING <= VIRTIO_RING, "a queue has a place for each buffer");

struct queue {
    struct virtio_descriptor *ring;
    struct virtio_available *available;
    volatile struct virtio_used *used;
    struct nic_buffer *buffer;
    u16 seen; /* of used */
    u32 size;
};

static struct {
    u64 registers;
    u32 irq;
    void (*arrived)(void);
    struct spinlock lock;
    struct queue queue[2]; /* lock */
    u32 nfree;             /* lock: buffers to send */
    u16 free[NIC_RING];    /* lock */
} nic;

/* Give the device one of its queues, with a buffer for each place. False: no
 * memory, or the device has no such queue. */
static bool made(struct queue *q, u32 number)
{
    u32 most = virtio_select(nic.registers, number);
    q->size = MIN(most, NIC_RING);
    q->ring = page_alloc_zero();
    q->available = page_alloc_zero();
    q->used = page_alloc_zero();
    q->buffer = mem_reserve(NIC_RING * sizeof *q->buffer);
    if (!q->size || !q->ring || !q->available || !q->used || !q->buffer)
        return false;
    for (u32 i = 0; i < q->size; i++)
        q->ring[i].phys = phys_of(&q->buffer[i]);
    virtio_ready(nic.registers, q->size, q->ring, q->available,
                 (void *)q->used);
    return true;
}

/* Give buffer id to the device. It must see the entry before the index that
 * covers the entry. */
static void offer(struct queue *q, u32 id, u32 bytes, u16 flags)
{
    q->ring[id].bytes = bytes;
    q->ring[id].flags = flags;
    q->available->ring[q->available->index % q->size] = id;
    __atomic_store_n(&q->available->index, q->available->index + 1,
                     __ATOMIC_RELEASE);
}

/* Return the next descriptor that the device is done with, or -1. */
static i32 collect(struct queue *q, u32 *bytes)
{
    if (q->seen == __atomic_load_n(&q->used->index, __ATOMIC_ACQUIRE))
        return -1;
    u32 slot = q->seen++ % q->size;
    *bytes = q->used->ring[slot].bytes;
    return q->used->ring[slot].id;
}

/* Frames have come. */
static void interrupt(u32)
{
    virtio_acknowledge(nic.registers);
    if (nic.arrived)
        nic.arrived();
}

/* Make both queues. All buffers of the first are offered to the device. */
static bool set_up(void)
{
    if (!virtio_negotiate(nic.registers, VIRTIO_F_VERSION1 | F_MAC, 0) ||
        !made(&nic.queue[RECEIVE], RECEIVE) || !made(&nic.queue[SEND], SEND)) {
        virtio_fail(nic.registers);
        return false;
    }
    nic.lock = SPINLOCK("virtio_net", RANK_VIRTIO);
    nic.queue[SEND].available->flags = 1; /* no interrupts */
    for (u32 i = 0; i < nic.queue[SEND].size; i++)
        nic.free[nic.nfree++] = i;
    for (u32 i = 0; i < nic.queue[RECEIVE].size; i++)
        offer(&nic.queue[RECEIVE], i, sizeof(struct nic_buffer),
              VIRTIO_DESC_WRITE);
    return true;
}

/* Find the network device and its address. False: there is none. */
bool nic_probe(u8 mac[MAC_BYTES])
{
    for (u32 i = 0; i < machine.nvirtio; i++) {
        nic.registers = (u64)virt_of(machine.virtio[i].phys);
        nic.irq = machine.virtio[i].irq;
        if (!virtio_present(nic.registers, NETWORK_DEVICE))
            continue;
        if (set_up()) {
            memcpy(mac, (u8 *)nic.registers + VIRTIO_CONFIG, MAC_BYTES);
            return true;
        }
        kprintf("virtio_net: device at 0x%lx cannot be used\n",
                machine.virtio[i].phys);
    }
    return false;
}

/* Begin to receive: call arrived() from an interrupt when frames have come. */
void nic_start(void (*arrived)(void))
{
    nic.arrived = arrived;
    irq_register(nic.irq, interrupt);
    virtio_start(nic.registers);
    virtio_notify(nic.registers, RECEIVE);
}

/* Copy a frame of two parts into a free buffer and send it, padded to the
 * shortest length. False if no buffer is free. */
bool nic_send(const void *head, u32 head_bytes, const void *body, u32 bytes)
{
    struct queue *q = &nic.queue[SEND];
    HOLD(spin, &nic.lock);
    u32 ignored;
    for (i32 id; (id = collect(q, &ignored)) >= 0;)
        nic.free[nic.nfree++] = id;
    if (!nic.nfree)
        return false;
    u32 id = nic.free[--nic.nfree];
    struct nic_buffer *b = &q->buffer[id];
    assert(head_bytes + bytes <= sizeof b->data);
    memset(b->header, 0, sizeof b->header);
    memcpy(b->data, head, head_bytes);
    memcpy(b->data + head_bytes, body, bytes);
    u32 all = MAX(head_bytes + bytes, FRAME_LEAST);
    memset(b->data + head_bytes + bytes, 0, all - head_bytes - bytes);
    offer(q, id, sizeof b->header + all, 0);
    virtio_notify(nic.registers, SEND);
    return true;
}

/* Return a frame that has come, and its length in bytes, or NULL. */
struct nic_buffer *nic_take(u32 *bytes)
{
    struct queue *q = &nic.queue[RECEIVE];
    HOLD(spin, &nic.lock);
    i32 id = collect(q, bytes);
    *bytes -= id < 0 ? 0 : sizeof q->buffer->header;
    return id < 0 ? NULL : &q->buffer[id];
}

/* Return the number of a receive buffer. */
u32 nic_number(const struct nic_buffer *b)
{
    return b - nic.queue[RECEIVE].buffer;
}

/* Offer a buffer that nic_take gave to the device again. */
void nic_give(struct nic_buffer *b)
{
    HOLD(spin, &nic.lock);
    offer(&nic.queue[RECEIVE], nic_number(b), sizeof *b, VIRTIO_DESC_WRITE);
    virtio_notify(nic.registers, RECEIVE);
}

/* True if the device has taken all frames that were sent. */
bool nic_is_sent(void)
{
    struct queue *q = &nic.queue[SEND];
    return __atomic_load_n(&q->used->index, __ATOMIC_ACQUIRE) ==
           q->available->index;
}
