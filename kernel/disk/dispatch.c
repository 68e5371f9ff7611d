/*
 * Dispatch: the scheduler chooses what the drive is given next, and queued
 * neighbours of its choice join it in one command.
 *
 * - The scheduler chooses among what is queued and owns nothing: a swap only
 *   makes each disk adopt the new one before its next question.
 * - After a wrong answer of the scheduler's the disk has the default of the
 *   kind; the other disks change over before their next question, too.
 * - A disk's translation, if it has one, gives commands first (disk.h).
 * - The requests of a command have one direction, and lie in one row on the
 *   platters and by their logical sectors; under a place policy that appends,
 *   writes lie in one row on the platters only.
 * - A command has no more sectors than cluster_kb allows, and no more pieces
 *   than the device takes. A request that is `alone` joins no other.
 */
#include "kernel/disk/internal.h"

COUNTER(commands, "disk.commands", "commands", "dispatched to drives");

/* ---- the scheduler ---- */

/* True if there is nothing to ask the scheduler about. Caller holds d->lock. */
static bool idle(const struct disk *d)
{
    const struct queue *q = &d->queue;
    return queue_empty(q) &&
           !(d->sched->sched.takes_candidates && q->length[SET_CANDIDATES]);
}

/* Make the policy in use this disk's. False: there is nothing to ask it about,
 * for it takes no candidates. Caller holds d->lock. */
static bool adopt(struct disk *d)
{
    d->sched = policy_in_use[POLICY_SCHED];
    timer_cancel(&d->ask_timer); /* the old one set it */
    memset(d->queue.word, 0, sizeof d->queue.word);
    const struct sched_hooks *hooks = &d->sched->sched;
    u32 sets = hooks->takes_candidates ? QUEUE_SETS : QUEUE_SETS - 1;
    for (u32 set = 0; set < sets && hooks->queued; set++) {
        LIST_EACH (n, &d->queue.arrived[set]) {
            struct request *r = LIST_ITEM(n, struct request, by_age);
            r->word[0] = r->word[1] = 0;
            hooks->queued(&d->queue, r, r->queued_ns);
        }
    }
    return !idle(d);
}

/* The scheduler has answered wrongly: this disk changes to the default now, the
 * others before their next question. False: the scheduler stays, and the kernel
 * chooses the request. Caller holds d->lock. */
static bool fault(struct disk *d, const char *what)
{
    if (!policy_take_over(d->sched, d->id, d->queue.head_sector, what))
        return false;
    adopt(d);
    return true;
}

/* Return the scheduler's choice; NULL if it waits. Caller holds d->lock. */
static struct request *choose(struct disk *d)
{
    if (d->sched != policy_in_use[POLICY_SCHED] && !adopt(d))
        return NULL;
    for (;;) {
        struct request *r = d->sched->sched.next(&d->queue, clock_ns());
        policy_check_disk(d->sched, &d->queue);
        if (r && r->queue == &d->queue)
            return r;
        if (!r && (d->in_flight || queue_empty(&d->queue) ||
                   d->sched->sched.again_ns))
            return NULL;
        if (!fault(d, r ? "next returned a request that is not queued"
                        : "next returned none, with nothing in flight"))
            return queue_find_oldest(&d->queue, BOTH);
    }
}

/* ---- merging ---- */

/* Take a request off the queue, to be dispatched to this physical sector.
 * Caller holds d->lock. */
static void take(struct disk *d, struct request *r, u64 physical, u64 now_ns)
{
    assert(!r->candidate);
    io_remove(d, r);
    r->physical = physical;
    if (place_is_asked(d, r))
        place_confirm(d, r, now_ns);
    io_of(r)->issued_ns = now_ns;
    io_of(r)->span.bytes = r->nsectors * SECTOR_BYTES;
    io_set_next(io_of(r), NULL);
}

/* Return the queued request that begins at io's logical end, or NULL. */
static struct io *next_to(struct disk *d, const struct io *io)
{
    enum direction dir = io->request.write ? WRITES : READS;
    struct io *n = io_of(queue_find_from(&d->queue, dir, io_end(io)));
    return n && n->request.sector == io_end(io) ? n : NULL;
}

/* Return the queued request that ends where io begins, or NULL. */
static struct io *next_before(struct disk *d, const struct io *io)
{
    enum direction dir = io->request.write ? WRITES : READS;
    struct io *n = io_of(queue_find_before(&d->queue, dir, io->request.sector));
    return n && io_end(n) == io->request.sector ? n : NULL;
}

/* Return, after a write, the next queued write by sector, and after the last
 * the first. Its sector need not be where io ends. After a read: NULL. */
static struct io *next_write(struct disk *d, const struct io *io)
{
    struct request *r = queue_find_from(&d->queue, WRITES, io_end(io));
    struct io *n = io_of(r ? r : queue_find_from(&d->queue, WRITES, 0));
    return io->request.write ? n : NULL;
}

/* A command in the making: requests that lie one after the other on the
 * platters, and by their logical sectors, unless the place policy appends. */
struct command {
    struct io *first, *last;
    u32 nsectors, segments;
};

/* Take a request (NULL: there is none) off the queue into the command, before
 * its first one or after its last. False: one of them is to be alone, there is
 * no room, or the request's place is not there. Caller holds d->lock. */
static bool join(struct disk *d, struct command *c, struct io *io, bool before,
                 u64 now_ns)
{
    if (!io || io->alone || c->first->alone || c->segments == d->max_segments ||
        c->nsectors + io->request.nsectors > d->cluster_sectors)
        return false;
    struct request *r = &io->request;
    u64 beside = before ? c->first->request.physical - r->nsectors
                        : io_physical_end(c->last);
    if (!place_may_be(d, r, beside, now_ns))
        return false;
    take(d, r, beside, now_ns);
    if (before) {
        io_set_next(io, c->first);
        c->first = io;
    } else {
        io_set_next(c->last, io);
        c->last = io;
    }
    c->nsectors += r->nsectors;
    c->segments++;
    return true;
}

/* Take r, which goes to this physical sector, and the neighbours after it and
 * before it, off the queue as one command, whose first request is returned. */
static struct io *gather(struct disk *d, struct request *r, u64 physical,
                         u64 now_ns)
{
    struct command c = {io_of(r), io_of(r), r->nsectors, 1};
    take(d, r, physical, now_ns);
    while (join(d, &c, next_to(d, c.last), false, now_ns))
        ;
    while (join(d, &c, next_before(d, c.first), true, now_ns))
        ;
    while (d->place->place.appends &&
           join(d, &c, next_write(d, c.last), false, now_ns))
        ;
    if (physical != NO_SECTOR)
        d->queue.head_sector = io_physical_end(c.last);
    queue_dispatched(&d->queue, r, now_ns);
    trace_io(now_ns, TRACE_issued, d, c.first, c.nsectors);
    return c.first;
}

/* ---- commands to the drive or the device ---- */

static void ask_again(void *arg);

/* Set a timer for when the scheduler, which lets requests wait, wants to be
 * asked again. Caller holds d->lock. */
static void ask_later(struct disk *d)
{
    if (!d->sched->sched.again_ns)
        return;
    u64 when_ns = d->sched->sched.again_ns(&d->queue, clock_ns());
    timer_cancel(&d->ask_timer);
    if (when_ns != NEVER_NS)
        timer_set(&d->ask_timer, when_ns, ask_again, d);
}

/* Set timers for what waits, as no command was dispatched and none is under
 * way. Caller holds d->lock. */
static void rest(struct disk *d)
{
    if (!idle(d))
        ask_later(d);
    if (d->translation)
        d->translation->idle(d, ask_again);
}

/* Dispatch a command that the translation wants done before all others, if
 * there is one. Return what model_start returns. Caller holds d->lock. */
static bool serve_translation(struct disk *d)
{
    u64 now_ns = clock_ns();
    bool may = !d->plugged && d->in_flight < d->depth;
    struct io *command = may ? d->translation->next(d, now_ns) : NULL;
    if (!command)
        return false;
    const struct io *last = command;
    while (io_next(last))
        last = io_next(last);
    d->queue.head_sector = io_physical_end(last);
    trace_io(now_ns, TRACE_issued, d, command,
             io_physical_end(last) - command->request.physical);
    d->in_flight++;
    return model_start(d, command, now_ns);
}

/* Return how many commands the drive may have. Caller holds d->lock. */
static u32 depth_of(const struct disk *d)
{
    return d->translation ? d->translation->depth(d) : d->depth;
}

void disk_dispatch(struct disk *d)
{
    bool started = d->translation && serve_translation(d);
    struct request *r;
    while (!d->plugged && d->in_flight < depth_of(d) && !idle(d) &&
           (r = choose(d))) {
        if (r->candidate && !candidate_take_up(d, io_of(r)))
            continue;
        u64 now_ns = clock_ns(), physical = place_of(d, r, now_ns);
        if (physical == NO_SECTOR && r->write && d->in_flight)
            break; /* until a place is free */
        struct io *command = gather(d, r, physical, now_ns);
        d->in_flight++;
        count(&commands, 1);
        started |= model_start(d, command, now_ns);
    }
    if (started)
        virtio_blk_kick(d->device);
    if (!d->plugged && !d->in_flight)
        rest(d);
}

/* A timer's callback, set by ask_later or by the translation: query both again.
 * arg: the disk. */
static void ask_again(void *arg)
{
    struct disk *d = arg;
    HOLD(spin, &d->lock);
    disk_dispatch(d);
}

/* After a fault on one disk the others may still have the policy at fault. Now
 * they change over too, so that it can start anew: no disk uses its records. */
static void leave_faulty(void)
{
    for (u32 i = 0; i < disk_count(); i++) {
        struct disk *d = disk_get(i);
        HOLD(spin, &d->lock);
        if (d->sched != policy_in_use[POLICY_SCHED])
            adopt(d);
        if (d->place != policy_in_use[POLICY_PLACE])
            place_adopt_default(d);
    }
}

/* A new scheduler or place policy starts before the first disk changes over to
 * it. The old policy stops after the last disk. The new scheduler is asked at
 * once, because the old one may have let queued requests wait. */
static void swap(const struct policy *to)
{
    leave_faulty();
    const struct policy *from = policy_begin(to);
    for (u32 i = 0; i < disk_count(); i++) {
        struct disk *d = disk_get(i);
        HOLD(spin, &d->lock);
        if (to->kind == POLICY_PLACE)
            d->place = to;
        else if (d->sched != to)
            adopt(d);
        disk_dispatch(d);
    }
    if (from && from != to && from->stop)
        from->stop();
}

/* Ask a scheduler that takes candidates anew: there may be one now. */
void disk_poke(struct disk *d)
{
    if (!d->sched->sched.takes_candidates || timer_is_set(&d->ask_timer))
        return;
    HOLD(spin, &d->lock);
    disk_dispatch(d);
}

void dispatch_init(void)
{
    policy_own(POLICY_SCHED, (struct policy_owner){.swap = swap});
    place_init(swap);
}
