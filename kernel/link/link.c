/*
 * Two or more machines in one virtual time, by conservative synchronisation (K.
 * M. Chandy and J. Misra, 1979; here in rounds, as Nicol's of 1993).
 *
 * - A machine runs freely until its clock reaches bound_ns: no frame that is
 *   not known yet can come earlier. Then it does a round with the others,
 *   within that instant of virtual time: each says when it can do anything
 *   next, and they all have said which frames they have sent. The new bound is
 *   the earliest of these times and of all frames' arrivals, and the least
 *   delay of the link on top. An idle machine's next time is its first timer,
 *   so all jump together.
 * - The machines' words go as frames of a type of their own through the
 *   device: a note, and behind it, in one of NOTE_FRAME, the frame. All
 *   machines see all notes in one order. So nobody sends one of the next round
 *   before everybody has seen the last one of this round.
 * - A machine that waits for frames only has no next time, and the others set
 *   the bound. If no machine has one, and no frame is on its way, the network
 *   is quiet for ever: each machine says so and powers off. Key presses do not
 *   keep the network alive, because their time depends on the host.
 * - The first of more than two machines has the hub of all others in its device
 *   (sluice/network/wiring.py). So when it is off, it stays until they are.
 * - A frame stays in the device's buffer, and a timer takes it in when it
 *   arrives. When the host brings a note makes no difference.
 * - A machine has at most IN_FLIGHT frames on their way, the controller's ring;
 *   further ones find no room.
 * - Only charged time will do: in counted time the interrupts of the device
 *   would cost instructions, at the host's pleasure.
 */
#include "kernel/link/link.h"
#include "kernel/base/stat.h"
#include "kernel/driver/virtio_net.h"
#include "kernel/link/row.h"
#include "kernel/machine/args.h"
#include "kernel/machine/clock.h"
#include "kernel/machine/lock.h"
#include "kernel/machine/gathered.h"
#include "kernel/machine/irq.h"
#include "kernel/machine/mem.h"

#define MACHINES     4
#define IN_FLIGHT    32
#define NOTE_TYPE    0x88b5           /* IEEE 802: for experiments */
#define LATE_NS      (20 * NS_PER_MS) /* how late a frame may be put back */
#define FRAME_MOST   1514
#define HELLO_EVERY  65536 /* polls between two hellos */
#define STATUS_QUIET 102   /* the network is quiet for ever */

_Static_assert(MACHINES *(IN_FLIGHT + 2) < NIC_RING, "buffers for all notes");

enum { NOTE_HELLO, NOTE_FRAME, NOTE_ROUND, NOTE_END };

struct note {
    struct ethernet ethernet;
    u8 machine, kind;
    u32 round, bytes; /* of the frame */
    u64 from_ns;      /* a frame's departure; else when it can act next */
    u64 until_ns;     /* a frame's arrival */
} __attribute__((packed));

static struct {
    bool on;
    const struct link_row *row; /* NULL: none */
    const u8 *mac;
    u32 self, machines;
    u64 least_ns; /* delay */
    u64 bound_ns;
    struct timer timer; /* for the bound */
    u32 round;
    bool here[MACHINES];
    u32 told[MACHINES]; /* the last round of which a machine has told */
    u64 next_ns[MACHINES];
    u32 nsent[MACHINES];
    u64 arrival_ns[MACHINES][IN_FLIGHT]; /* of its latest frames */
    u64 free_ns; /* the wire, of this machine's frames */
    u64 random;
    u32 loss_percent, reorder_percent;
    void (*received)(const void *, u32);
    struct coming {
        struct timer timer;
        struct nic_buffer *buffer;
    } * coming; /* for each buffer */
} link;

COUNTER_WITH(rounds, "link.rounds", "rounds",
             "in which machines agreed on a time", &link.on);
COUNTER_WITH(lost, "link.lost", "frames", "lost on purpose (link_loss_percent)",
             &link.on);
COUNTER_WITH(late, "link.late", "frames",
             "late on purpose (link_reorder_percent)", &link.on);

/* Return how many other machines have not switched off. */
static u32 others_on(void)
{
    u32 n = 0;
    for (u32 i = 0; i < link.machines; i++)
        n += i != link.self && link.told[i] != ~0U;
    return n;
}

/* Send a note to all machines. Where all others are off, nobody takes a note
 * from the device: some hundred would fill the host's socket, and the next one
 * would never be sent. A hub waits for the last NOTE_END. */
static void say(u8 kind, u64 from_ns, u64 until_ns, const void *frame,
                u32 bytes)
{
    struct note n = {.ethernet = {.type = net16(NOTE_TYPE)},
                     .machine = link.self,
                     .kind = kind,
                     .round = link.round,
                     .bytes = bytes,
                     .from_ns = from_ns,
                     .until_ns = until_ns};
    memset(n.ethernet.to, 0xff, MAC_BYTES);
    memcpy(n.ethernet.from, link.mac, MAC_BYTES);
    while ((kind == NOTE_END || others_on()) &&
           !nic_send(&n, sizeof n, frame, bytes))
        ; /* the host is slow, and time stands still */
}

/* ---- frames ---- */

/* A frame has arrived: take it in, and give its buffer back. */
static void comes_in(void *arg)
{
    struct coming *c = arg;
    struct note *n = (struct note *)c->buffer->data;
    link.received(n + 1, n->bytes);
    nic_give(c->buffer);
}

/* Note a frame on its way, over the one IN_FLIGHT frames ago. */
static void note_flight(u32 machine, u64 arrival_ns)
{
    link.arrival_ns[machine][link.nsent[machine]++ % IN_FLIGHT] = arrival_ns;
}

/* Return a random number from 0 to 99, the same in each run with this
 * link_seed. */
static u32 percent(void)
{
    link.random = link.random * 6364136223846793005 + 1442695040888963407;
    return (link.random >> 33) % 100; /* Knuth's constants for 64 bits */
}

/* Send a frame of two parts. Return when it arrives, or 0 if there is no room.
 * A frame that the model loses counts as sent. */
u64 link_send(const void *head, u32 head_bytes, const void *body, u32 bytes)
{
    if (!link.row)
        return nic_send(head, head_bytes, body, bytes) ? SENT : 0;
    const struct link_row *row = link.row;
    u8 frame[FRAME_MOST];
    u64 now_ns = clock_ns(), all = head_bytes + bytes;
    u32 oldest = link.nsent[link.self] % IN_FLIGHT;
    if (all > FRAME_MOST || link.arrival_ns[link.self][oldest] > now_ns)
        return 0;
    memcpy(frame, head, head_bytes);
    memcpy(frame + head_bytes, body, bytes);
    u64 begin_ns = MAX(now_ns + row->send_ns, link.free_ns);
    u64 wire = MAX(all, FRAME_LEAST) + row->around_bytes;
    u64 end_ns = begin_ns + wire * row->byte_ns;
    link.free_ns = end_ns + row->gap_ns;
    if (link.loss_percent && percent() < link.loss_percent) {
        count(&lost, 1);
        return SENT;
    }
    u64 arrival_ns = end_ns + row->propagation_ns + row->receive_ns;
    if (link.reorder_percent && percent() < link.reorder_percent) {
        count(&late, 1);
        arrival_ns += LATE_NS * (percent() + 1) / 100;
    }
    note_flight(link.self, arrival_ns);
    say(NOTE_FRAME, begin_ns, arrival_ns, frame, all);
    return arrival_ns;
}

/* ---- the end ---- */

/* True if a machine that ends has to stay. The hub stays until all others are
 * off, because it needs their last notes. The others stay until the host has
 * taken their notes, which it never does if no program is there. */
static bool must_stay(bool hub)
{
    return hub ? others_on()
               : !nic_is_sent() && (others_on() || link.machines > 2);
}

/* Tell the others that this machine goes off. The hub stays until they are
 * off. */
static void leave(void)
{
    u32 bytes;
    bool hub = !link.self && link.machines > 2;
    say(NOTE_END, NEVER_NS, 0, NULL, 0);
    if (hub && others_on())
        kprintf("link: off, and the hub of the machines that are on\n");
    clock_stop();
    while (must_stay(hub)) {
        struct nic_buffer *b = nic_take(&bytes);
        const struct note *n = b ? (struct note *)b->data : NULL;
        if (n && n->kind == NOTE_END)
            link.told[n->machine] = ~0U;
        if (b)
            nic_give(b);
        else if (hub) {
            clock_rest();
            irq_dispatch();
        }
    }
    clock_go();
}

/* ---- rounds ---- */

/* Keep a frame in its buffer until it arrives. */
static void keep(struct nic_buffer *b, const struct note *n)
{
    note_flight(n->machine, n->until_ns);
    struct coming *c = &link.coming[nic_number(b)];
    c->buffer = b;
    timer_set(&c->timer, n->until_ns, comes_in, c);
}

/* Read the notes that have arrived, until each other machine has sent its note
 * of this round (in round 0: any note). True if all have: the round can end. */
static bool read_notes(void)
{
    u32 bytes, waited = 0;
    for (u32 i = 0; i < link.machines; i++)
        waited += i != link.self &&
                  (link.round ? link.told[i] < link.round : !link.here[i]);
    for (struct nic_buffer *b; waited && (b = nic_take(&bytes));) {
        struct note *n = (struct note *)b->data;
        if (bytes < sizeof *n || n->ethernet.type != net16(NOTE_TYPE) ||
            n->machine >= link.machines || n->machine == link.self ||
            n->bytes > bytes - sizeof *n)
            panic("link: a machine that is not of this network");
        waited -= !link.round && !link.here[n->machine];
        link.here[n->machine] = true;
        if (n->kind == NOTE_FRAME) {
            keep(b, n);
            continue;
        }
        if (n->kind != NOTE_HELLO) {
            link.told[n->machine] = n->kind == NOTE_END ? ~0U : n->round;
            link.next_ns[n->machine] = n->from_ns;
            waited -= link.round != 0;
        }
        nic_give(b);
    }
    return !waited;
}

/* Return the earliest time at which any machine can act or a frame arrives. */
static u64 earliest(void)
{
    u64 first_ns = NEVER_NS;
    for (u32 m = 0; m < link.machines; m++) {
        first_ns = MIN(first_ns, link.next_ns[m]);
        for (u32 i = 0; i < IN_FLIGHT; i++)
            if (link.arrival_ns[m][i] >= link.bound_ns)
                first_ns = MIN(first_ns, link.arrival_ns[m][i]);
    }
    return first_ns;
}

/* Do a round with the others, at the bound, and set the next bound. */
static void do_round(void *)
{
    u64 next_ns = mycpu()->idle ? clock_next_ns() : clock_ns();
    link.round++;
    count(&rounds, 1);
    say(NOTE_ROUND, next_ns, 0, NULL, 0);
    link.next_ns[link.self] = next_ns;
    clock_stop();
    while (!read_notes()) {
        clock_rest();
        irq_dispatch();
    }
    clock_go();
    u64 first_ns = earliest();
    if (first_ns == NEVER_NS) { /* so it is in each machine */
        kprintf("link: all machines wait for frames, and none can send one\n");
        leave();
        power_off(STATUS_QUIET);
    }
    link.bound_ns = first_ns + link.least_ns;
    timer_set(&link.timer, link.bound_ns, do_round, NULL);
}

/* Do nothing: a frame that arrives outside a round waits for the next round. */
static void arrived(void)
{
}

/* The machine goes off: leave the link. */
void link_end(void)
{
    if (!link.row)
        return;
    irq_off();
    link.round++;
    leave();
}

/* ---- set-up ---- */

extern const struct link_row *const __start_links[], *const __stop_links[];

/* Return the row of the link with this name; end the boot if there is none. */
static const struct link_row *find(const char *name)
{
    for (const struct link_row *const *r = __start_links; r < __stop_links; r++)
        if (strcmp((*r)->name, name) == 0)
            return *r;
    boot_fail("link=%s: there is no such link", name);
}

/* At boot: take the arguments of the link. In virtual time a network needs
 * one. */
void link_init(const u8 *mac)
{
    const char *name = arg_text("link");
    if (clock_is_virtual() && mac && (!name || !clock_charged))
        boot_fail("a network in virtual time needs a link= and charged_ns=");
    if (!name)
        return;
    if (!mac)
        boot_fail("link=%s: there is no network device", name);
    if (!clock_charged)
        boot_fail("link=%s: a link is for charged time (charged_ns=)", name);
    link.row = find(name);
    link.on = true;
    link.mac = mac;
    link.machines = arg_number("link_machines", 2, 2, MACHINES);
    link.self = arg_number("link_machine", 0, 0, link.machines - 1);
    link.loss_percent = arg_number("link_loss_percent", 0, 0, 100);
    link.reorder_percent = arg_number("link_reorder_percent", 0, 0, 100);
    link.random = arg_number("link_seed", 0, 0, ~0UL) * MACHINES + link.self;
    percent();
    const struct link_row *r = link.row;
    link.least_ns = r->send_ns + r->propagation_ns + r->receive_ns +
                    (u64)(FRAME_LEAST + r->around_bytes) * r->byte_ns;
    link.timer.free = true;
    link.coming = mem_reserve(NIC_RING * sizeof *link.coming);
    if (!link.coming)
        boot_fail("link=%s: no memory for frames", name);
    memset(link.coming, 0, NIC_RING * sizeof *link.coming);
}

/* Connect to the other machines. A hello is lost if another machine has not
 * started yet: so it is repeated until all machines have been heard. A machine
 * that hears another one's hello is connected to it. */
bool link_start(void (*received)(const void *, u32))
{
    if (!link.row)
        return false;
    link.received = received;
    nic_start(arrived);
    irq_push_off();
    for (u32 i = 0; !read_notes(); i++)
        if (i % HELLO_EVERY == 0)
            say(NOTE_HELLO, 0, 0, NULL, 0);
    say(NOTE_HELLO, 0, 0, NULL, 0);
    do_round(NULL);
    irq_pop_off();
    return true;
}
