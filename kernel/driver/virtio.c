/* Virtio over MMIO (virtio.h). */
#include "kernel/driver/virtio.h"
#include "kernel/machine/mem.h"

enum {
    MAGIC = 0x00,
    VERSION = 0x04,
    DEVICE_ID = 0x08,
    DEVICE_FEATURES = 0x10,
    DEVICE_FEATURES_SEL = 0x14,
    DRIVER_FEATURES = 0x20,
    DRIVER_FEATURES_SEL = 0x24,
    QUEUE_SEL = 0x30,
    QUEUE_NUM_MAX = 0x34,
    QUEUE_NUM = 0x38,
    QUEUE_READY = 0x44,
    STATUS = 0x70,
    QUEUE_DESC = 0x80,
    QUEUE_DRIVER = 0x90,
    QUEUE_DEVICE = 0xa0,
};

#define STATUS_ACKNOWLEDGE 1
#define STATUS_DRIVER      2
#define STATUS_DRIVER_OK   4
#define STATUS_FEATURES_OK 8
#define STATUS_FAILED      128

/* True if a device of this kind is at these registers. */
bool virtio_present(u64 registers, u32 device_id)
{
    return *virtio_register(registers, MAGIC) == 0x74726976 &&
           *virtio_register(registers, VERSION) == 2 &&
           *virtio_register(registers, DEVICE_ID) == device_id;
}

/* Reset the device and agree on its features. Return those taken, or 0 if a
 * required one is not offered or the device refuses. */
u64 virtio_negotiate(u64 registers, u64 required, u64 wanted)
{
    *virtio_register(registers, STATUS) = 0;
    *virtio_register(registers, STATUS) = STATUS_ACKNOWLEDGE | STATUS_DRIVER;
    *virtio_register(registers, DEVICE_FEATURES_SEL) = 1;
    u64 offered = (u64)*virtio_register(registers, DEVICE_FEATURES) << 32;
    *virtio_register(registers, DEVICE_FEATURES_SEL) = 0;
    offered |= *virtio_register(registers, DEVICE_FEATURES);
    if ((offered & required) != required)
        return 0;
    u64 taken = offered & (required | wanted);
    *virtio_register(registers, DRIVER_FEATURES_SEL) = 1;
    *virtio_register(registers, DRIVER_FEATURES) = taken >> 32;
    *virtio_register(registers, DRIVER_FEATURES_SEL) = 0;
    *virtio_register(registers, DRIVER_FEATURES) = taken;
    *virtio_register(registers, STATUS) =
        *virtio_register(registers, STATUS) | STATUS_FEATURES_OK;
    return *virtio_register(registers, STATUS) & STATUS_FEATURES_OK ? taken : 0;
}

/* Choose the queue that is set up next. Return its largest size. */
u32 virtio_select(u64 registers, u32 queue)
{
    *virtio_register(registers, QUEUE_SEL) = queue;
    return *virtio_register(registers, QUEUE_NUM_MAX);
}

/* Write an address to two registers, low half first. */
static void set_address(u64 registers, u32 offset, const void *p)
{
    u64 phys = phys_of(p);
    *virtio_register(registers, offset) = phys;
    *virtio_register(registers, offset + 4) = phys >> 32;
}

/* Tell the device where the chosen queue's three parts are, and enable it. */
void virtio_ready(u64 registers, u32 size, const void *ring,
                  const void *available, const void *used)
{
    *virtio_register(registers, QUEUE_NUM) = size;
    set_address(registers, QUEUE_DESC, ring);
    set_address(registers, QUEUE_DRIVER, available);
    set_address(registers, QUEUE_DEVICE, used);
    *virtio_register(registers, QUEUE_READY) = 1;
}

/* End the set-up: the device works from now on. */
void virtio_start(u64 registers)
{
    *virtio_register(registers, STATUS) =
        *virtio_register(registers, STATUS) | STATUS_DRIVER_OK;
}

/* Tell the device that it will not be used. */
void virtio_fail(u64 registers)
{
    *virtio_register(registers, STATUS) = STATUS_FAILED;
}
