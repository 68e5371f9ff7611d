/*
 * Reading the flattened device tree: Devicetree Specification 0.4, chapter 5
 * (format), 2.3 (standard properties), 3 (memory, cpus, chosen).
 *
 * - One walk over the structure block. A node's properties come before its
 *   children (5.4.2), so a node is looked at when they have been passed, before
 *   its children.
 * - Devices are known by `compatible`, wherever they are; their registers are
 *   read with the cell counts of the parent. Buses are taken to map addresses
 *   one to one, as QEMU's do.
 * - Nothing in the tree is trusted: every read is checked against the bounds of
 *   its block, the blocks against the size in the header, and that against
 *   MAX_BYTES. The kernel panics if the tree is wrong, lacks something that the
 *   kernel needs, or has more devices than there is room for. Harts from
 *   MAX_HARTS on are only counted.
 * - Everything needed is copied, so the tree's memory is free afterwards.
 */
#include "kernel/machine/fdt.h"

#include "kernel/base/units.h"
#include "kernel/machine/panic.h"

#define MAGIC     0xd00dfeedU
#define VERSION   17
#define MAX_BYTES (2U << 20) /* QEMU makes trees of up to 1 MiB */
#define MAX_DEPTH 16
#define GIB       (1UL << 30)

enum token { BEGIN_NODE = 1, END_NODE, PROP, NOP, END = 9 };

struct header {
    u32 magic, total_bytes, structs_at, strings_at, reserved_at, version,
        last_compatible, boot_hart, strings_bytes, structs_bytes;
};

/* Some bytes of the tree. */
struct span {
    const u8 *at;
    u32 bytes;
};

struct node {
    const struct node *parent;
    const char *name;
    struct span properties; /* and what follows */
};

static const struct {
    const char *compatible;
    struct device_node *device;
} devices[] = {
    {"ns16550a", &machine.uart},      {"riscv,plic0", &machine.plic},
    {"sifive,test1", &machine.test},  {"google,goldfish-rtc", &machine.rtc},
    {"riscv,clint0", &machine.clint},
};

struct machine machine;

static struct span structs; /* the rest of the structure block */
static struct span strings;
static u32 hart_mask, timebase_hz;

static u32 big_endian(const u8 *p)
{
    return (u32)p[0] << 24 | (u32)p[1] << 16 | (u32)p[2] << 8 | p[3];
}

/* Cut this many bytes off the front of a span, and return them. */
static struct span take(struct span *from, u32 bytes)
{
    if (bytes > from->bytes)
        panic("fdt: the device tree is cut short");
    struct span taken = {from->at, bytes};
    from->at += bytes;
    from->bytes -= bytes;
    return taken;
}

static u32 take_u32(struct span *from)
{
    return big_endian(take(from, 4).at);
}

/* Take a number of 0, 1 or 2 cells. */
static u64 take_cells(struct span *from, u32 cells)
{
    u64 n = 0;
    if (cells > 2)
        panic("fdt: a number has %u cells, not 0 to 2", cells);
    while (cells--)
        n = n << 32 | take_u32(from);
    return n;
}

/* Return the string at the start of the span; it must end within. */
static const char *string_in(struct span s)
{
    for (u32 i = 0; i < s.bytes; i++)
        if (!s.at[i])
            return (const char *)s.at;
    panic("fdt: a string has no end");
}

/* True if text is one of the strings in the span. */
static bool holds(struct span s, const char *text)
{
    while (s.bytes) {
        const char *one = string_in(s);
        if (strcmp(one, text) == 0)
            return true;
        take(&s, strlen(one) + 1);
    }
    return false;
}

/* Take a property, whose token has been taken. */
static struct span take_property(struct span *from, const char **name)
{
    u32 bytes = take_u32(from);
    struct span at_name = strings;
    take(&at_name, take_u32(from));
    *name = string_in(at_name);
    struct span value = take(from, bytes);
    take(from, -bytes % 4);
    return value;
}

/* Return a property of the node; it has no address if it is absent. */
static struct span property(const struct node *node, const char *wanted)
{
    struct span from = node->properties;
    for (u32 token; (token = take_u32(&from)) == PROP || token == NOP;) {
        const char *name = "";
        struct span value = {0};
        if (token == PROP)
            value = take_property(&from, &name);
        if (strcmp(name, wanted) == 0)
            return value;
    }
    return (struct span){0};
}

/* Return a property's number, or the one given if it is absent. */
static u32 number_or(const struct node *node, const char *name, u32 absent)
{
    struct span s = property(node, name);
    return s.at ? take_u32(&s) : absent;
}

/* Return the first address in reg, and in *size the size that goes with it. */
static u64 reg_of(const struct node *node, u64 *size)
{
    struct span reg = property(node, "reg");
    u64 address =
        take_cells(&reg, number_or(node->parent, "#address-cells", 2));
    *size = take_cells(&reg, number_or(node->parent, "#size-cells", 1));
    return address;
}

/* Return where a device's registers are, and its interrupt. */
static struct device_node device_of(const struct node *node)
{
    u64 size;
    return (struct device_node){.phys = reg_of(node, &size),
                                .irq = number_or(node, "interrupts", 0)};
}

/* Add a virtio device. They are kept in the order of their addresses. */
static void add_virtio(struct device_node device)
{
    u32 i = machine.nvirtio++;
    if (i == MAX_VIRTIO)
        panic("fdt: more than %d virtio devices", MAX_VIRTIO);
    for (; i && machine.virtio[i - 1].phys > device.phys; i--)
        machine.virtio[i] = machine.virtio[i - 1];
    machine.virtio[i] = device;
}

/* Count a hart, as one to use or one to spare. */
static void add_hart(const struct node *node)
{
    u64 size, hart = reg_of(node, &size);
    if (hart >= MAX_HARTS) {
        machine.spare_harts++;
        return;
    }
    hart_mask |= 1U << hart;
    machine.nharts++;
}

/* Take over what the kernel needs of this node. */
static void look_at(const struct node *node)
{
    if (!node->parent)
        return;
    struct span compatible = property(node, "compatible");
    struct span type = property(node, "device_type");
    struct span bootargs = property(node, "bootargs");
    for (u32 i = 0; i < NELEM(devices); i++)
        if (holds(compatible, devices[i].compatible))
            *devices[i].device = device_of(node);
    if (holds(compatible, "virtio,mmio"))
        add_virtio(device_of(node));
    if (holds(type, "cpu"))
        add_hart(node);
    if (holds(type, "memory"))
        machine.memory_phys = reg_of(node, &machine.memory_bytes);
    if (strcmp(node->name, "cpus") == 0)
        timebase_hz = number_or(node, "timebase-frequency", 0);
    if (strcmp(node->name, "chosen") == 0 && bootargs.at &&
        strlcpy(machine.bootargs, string_in(bootargs),
                sizeof(machine.bootargs)) >= sizeof(machine.bootargs))
        panic("fdt: more than %zu bytes of boot arguments",
              sizeof(machine.bootargs) - 1);
}

/* Take the next token but NOP. */
static u32 next_token(void)
{
    u32 token;
    while ((token = take_u32(&structs)) == NOP)
        ;
    return token;
}

/* Read a node whose BEGIN_NODE is passed, and all below it. */
static void read_node(const struct node *parent, u32 depth)
{
    struct node node = {.parent = parent, .name = string_in(structs)};
    if (depth == MAX_DEPTH)
        panic("fdt: nodes are nested more than %d deep", MAX_DEPTH);
    take(&structs, ROUND_UP(strlen(node.name) + 1, 4));
    node.properties = structs;
    u32 token;
    while ((token = next_token()) == PROP)
        take_property(&structs, &(const char *){NULL});
    look_at(&node);
    for (; token != END_NODE; token = next_token()) {
        if (token != BEGIN_NODE)
            panic("fdt: token %u in a node", token);
        read_node(&node, depth + 1);
    }
}

/* Return the span of the tree that the header places there. */
static struct span block(struct span tree, u32 at, u32 bytes)
{
    take(&tree, at);
    return take(&tree, bytes);
}

/* Return the header, in this machine's byte order. Panics if it makes no
 * sense. */
static struct header read_header(const void *dtb)
{
    struct span s = {dtb, sizeof(struct header)};
    struct header h;
    u32 *word = &h.magic;
    for (u32 i = 0; i < sizeof(h) / sizeof(*word); i++)
        word[i] = take_u32(&s);
    if (h.magic != MAGIC)
        panic("fdt: there is no device tree at %p", dtb);
    if (h.version < VERSION || h.last_compatible > VERSION)
        panic("fdt: the device tree has version %u, not %d", h.version,
              VERSION);
    if (h.total_bytes > MAX_BYTES)
        panic("fdt: the device tree has %u bytes", h.total_bytes);
    return h;
}

/* Panic if the tree lacks something that the kernel needs. */
static void check_machine(void)
{
    if (!machine.memory_bytes)
        panic("fdt: the device tree has no memory");
    if (!timebase_hz || NS_PER_S % timebase_hz)
        panic("fdt: a tick of timebase-frequency is no whole number of ns");
    machine.tick_ns = NS_PER_S / timebase_hz;
    if (!machine.plic.phys || !machine.uart.phys || !machine.test.phys)
        panic("fdt: the interrupt controller, serial port or test device is "
              "missing");
    if (!machine.nharts || hart_mask != (1U << machine.nharts) - 1)
        panic("fdt: the %u harts are not numbered from 0 on", machine.nharts);
}

/* Read the tree at this physical address into `machine`. Return where it
 * lies. */
struct region fdt_init(u64 phys)
{
    if (phys > BOOT_MAP_GIB * GIB - MAX_BYTES) /* as far as it may reach */
        panic("fdt: the device tree is at %lu GiB, and the kernel reads memory "
              "up to %d GiB: give the machine less memory (-m)",
              phys / GIB, BOOT_MAP_GIB);
    const void *dtb = virt_of(phys);
    struct header h = read_header(dtb);
    struct span tree = {dtb, h.total_bytes};
    strings = block(tree, h.strings_at, h.strings_bytes);
    structs = block(tree, h.structs_at, h.structs_bytes);
    u32 token = next_token();
    if (token != BEGIN_NODE)
        panic("fdt: token %u before the root", token);
    read_node(NULL, 0);
    check_machine();
    return (struct region){phys, phys + h.total_bytes};
}
